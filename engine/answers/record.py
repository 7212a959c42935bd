"""Turns a model's answer into a whole, valid record of the form, or into a list of its problems."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cinnabar.engine.answers.alignment import ABSENT, Aligner, Found
from cinnabar.engine.answers.reading import AnswerReader, Taken, shown
from cinnabar.engine.answers.wire import ROOT, Wire
from cinnabar.engine.layout import Layout, State, lay_out
from cinnabar.engine.models.base import Row
from cinnabar.engine.models.reader.inputs.questions import Question, form_questions
from cinnabar.engine.repair import repaired
from cinnabar.engine.request import Filled, Leaf, Origin, Request
from cinnabar.engine.writing import Value, Writer, known_value
from cinnabar.schemas.canonical import parse
from cinnabar.schemas.form.form import Form, ObjectNode
from cinnabar.schemas.judging.judge import Violation

#: An answer within one code fence: models that no schema constrains write JSON so.
_FENCED = re.compile(r"```(?:\w*\s)?(.*)```", re.DOTALL)


def read_answer(request: Request, wire: Wire, text: str) -> Filled | list[str]:
    """Returns the record of the answer and the known values, else the problems, each with its JSON pointer."""
    taken = Taken()
    if wire.schema is not None:
        try:
            answer = parse(_unfenced(text))
        except ValueError as error:
            return [f"the whole answer: expected one JSON object, got other text ({error})"]
        root = wire.form.root
        if not isinstance(answer, dict) and not (answer is None and root.nullable):
            return [f"/: expected an object, got {shown(answer)}"]
        if not isinstance(root, ObjectNode):
            if not isinstance(answer, dict) or answer.keys() != {ROOT}:
                return [f"/: expected an object with {ROOT!r} alone, got {shown(answer)}"]
            answer = answer[ROOT]
        AnswerReader(wire, taken).read(root, answer, "", -1)
    else:
        AnswerReader(wire, taken).closed(wire.form.root, "", -1)
    return taken.problems or _record(request, wire, taken)


def _unfenced(text: str) -> str:
    """Returns the answer without the code fence around it, if there is one."""
    fenced = _FENCED.fullmatch(text.strip())
    return fenced[1] if fenced else text


def _record(request: Request, wire: Wire, taken: Taken) -> Filled | list[str]:
    """Returns the record with the evidence of every value, or the rule of the schema that it breaks."""
    form, offset = request.form, request.passage.offset
    # The index in `taken.rows` serves as anchor, so that a row can be told after others were left out.
    rows = [Row(array, parent, at, 1.0) for at, (array, parent) in enumerate(taken.rows)]
    layout = lay_out(form, rows, wire.known)
    selectors = {choice.selector.index for choice in form.choices}
    sought = {
        key: (slot, text)
        for key, (slot, text) in taken.texts.items()
        if text is not None and slot.index not in selectors
    }
    places = Aligner(request.passage.text).place(sought)
    asked = form_questions(form).slots
    values = [_value(layout, at, taken, places, selectors, asked) for at in range(len(layout.slots))]
    writer = Writer(layout, values, offset)
    violation = _violation(form, writer)
    if violation is not None:
        other = _otherwise(form, layout, values, offset, writer)
        if other is None:
            return [f"{violation.pointer or '/'}: expected {violation.expected}, got {violation.got}"]
        writer = other
    return Filled(
        id=request.id,
        record=writer.record,
        leaves=writer.leaves,
        rows=_anchored(writer, offset),
        steps=0,
        reopened=0,
    )


def _violation(form: Form, writer: Writer) -> Violation | None:
    return None if form.judge is None else form.judge.violation(parse(writer.record))


def _otherwise(
    form: Form, layout: Layout, values: Sequence[Value], offset: int, writer: Writer
) -> Writer | None:
    """Returns another record of the same values that the schema allows; None if there is none.

    The search may write an absent value as null, as empty or not at all; it changes no answered value. If a demanded
    value is missing, any record is accepted, because the record goes to quarantine as `missing`.
    """
    assert form.judge is not None
    answered = _values(writer)
    out: dict[int, State | int] = {
        id(place): "out"
        for pointer, states in writer.states.items()
        if not any(at == pointer or at.startswith(f"{pointer}/") for at in answered)
        for place, _ in states
        if place.optional
    }
    sparse = Writer(layout, values, offset, out)
    if _violation(form, sparse) is None:
        return sparse
    other = repaired(layout, values, offset, form.judge, lambda at: _others(values[at]))
    missing = any(leaf.missing for leaf in writer.leaves.values())
    return other if other is not None and (missing or _values(other) == answered) else None


def _value(
    layout: Layout,
    at: int,
    taken: Taken,
    places: Mapping[tuple[int, int], Found],
    selectors: set[int],
    asked: Sequence[Question],
) -> Value:
    slot, row = layout.slots[at], layout.row_of[at]
    known = layout.known[at]
    if known is not None:
        return known_value(slot, known)
    key = (slot.index, layout.rows[row].anchor if row >= 0 else -1)
    _, text = taken.texts.get(key, (slot, None))
    absent = Value(slot.minimal.encode(), True, absent_confidence=ABSENT)
    if text is None:
        return absent
    if slot.index in selectors:
        return Value(text.encode(), False, ABSENT, origin="chosen")
    found = places[key]
    if not found.span and any(named.text == text for named in asked[slot.index].named):
        # The schema's description names this value and the document does not print it: it stands for absence.
        return Value(text.encode(), False, ABSENT, round(1.0 - ABSENT, 4), origin="default")
    origin: Origin = "chosen" if slot.options else "copied" if found.span else "generated"
    return Value(
        text.encode(),
        False,
        round(found.confidence, 4),
        round(1.0 - found.confidence, 4),
        (found.span,) if found.span else (),
        origin,
    )


def _values(writer: Writer) -> dict[str, str | None]:
    """Returns the texts of the record's leaves that were answered or known."""
    return {at: leaf.text for at, leaf in writer.leaves.items() if not _is_absent(leaf)}


def _others(value: Value) -> list[tuple[float, Value]]:
    """Returns the only alternative to an answered value: absence."""
    return [(value.absent_confidence, replace(value, absent=True))]


def _anchored(writer: Writer, offset: int) -> dict[str, tuple[int, float]]:
    """Returns (anchor, confidence) of each row: it begins at its first value, else where the row before began."""
    starts: dict[str, tuple[int, float]] = {}
    begins: dict[str, list[tuple[int, float]]] = {}
    for pointer, leaf in writer.leaves.items():
        for row in _rows_above(pointer, writer.rows):
            if leaf.spans:
                begins.setdefault(row, []).append((leaf.spans[0][0], leaf.confidence))
            elif not _is_absent(leaf):
                begins.setdefault(row, []).append((-1, leaf.confidence))
    last = offset
    for pointer in writer.rows:
        own = begins.get(pointer, [])
        places = [start for start, _ in own if start >= 0]
        last = min(places) if places else last
        starts[pointer] = (last, round(max((sure for _, sure in own), default=ABSENT), 4))
    return starts


def _is_absent(leaf: Leaf) -> bool:
    return leaf.origin == "absent" or leaf.missing


def _rows_above(pointer: str, rows: Mapping[str, object]) -> list[str]:
    cuts = [at for at, letter in enumerate(pointer) if letter == "/" and at] + [len(pointer)]
    return [pointer[:cut] for cut in cuts if pointer[:cut] in rows]
