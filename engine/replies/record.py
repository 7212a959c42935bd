"""Turns a model's answer into a whole, valid record of the form, or into a list of its problems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from cinnabar.engine.asking.provider_schema import ROOT, Wire
from cinnabar.engine.evidence.places import ABSENT, AlignedValue, Aligner
from cinnabar.engine.fill.layout import State, lay_out
from cinnabar.engine.fill.repair import repair_record
from cinnabar.engine.fill.writing import Writer, WrittenValue, known_value
from cinnabar.engine.model import Row
from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.engine.replies.reading import AnswerReader, Taken, shorten_answer
from cinnabar.engine.request import Filled, Leaf, Origin, Request
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.form import Form, ObjectNode, Slot, json_length
from cinnabar.schemas.judging.judge import Violation
from cinnabar.schemas.pointers import above, lies_within

#: Characters that a text may have in any case; a longer one than its document is stated nowhere in that.
WRITTEN_LENGTH = 1000
#: An answer within one code fence: models that no schema constrains write JSON so.
_FENCED = re.compile(r"```(?:\w*\s)?(.*)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answered value, or its absence (`text` is None), and its place in the document.

    `key` is (slot, row) as in `Taken`. `default`: the schema's description names this value for absence, and the
    document does not print it. `demanded`: the schema allows no absence here.
    """

    key: tuple[int, int]
    slot: Slot
    text: str | None
    place: AlignedValue | None
    default: bool
    demanded: bool

    @property
    def origin(self) -> Origin:
        """Says how the model came to the value."""
        if self.default:
            return "default"
        return "chosen" if self.slot.options else "copied" if self.place and self.place.span else "generated"


def read_answer(request: Request, wire: Wire, text: str) -> Filled | list[str]:
    """Returns the record of the answer and the known values, else the problems, each with its JSON pointer."""
    taken = Taken()
    if wire.schema is not None:
        try:
            fenced = _FENCED.fullmatch(text.strip())
            answer = parse(fenced[1] if fenced else text)
        except ValueError as error:
            return [f"the whole answer: expected one JSON object, got other text ({error})"]
        root = wire.form.root
        if not isinstance(answer, dict) and not (answer is None and root.nullable):
            return [f"/: expected an object, got {shorten_answer(answer)}"]
        if not isinstance(root, ObjectNode):
            if not isinstance(answer, dict) or answer.keys() != {ROOT}:
                return [f"/: expected an object with {ROOT!r} alone, got {shorten_answer(answer)}"]
            answer = answer[ROOT]
        AnswerReader(wire, taken).read(root, answer, "", -1)
    return taken.problems or find_unstated(request, taken.texts.values()) or record_of(request, taken, _value)


def find_unstated(request: Request, texts: Iterable[tuple[Slot, str | None]]) -> list[str]:
    """Returns a problem for each text that is longer than the whole document, so that nothing there states it."""
    most = max(WRITTEN_LENGTH, len(request.passage.text))
    return [
        f"{slot.path}: expected a text that the document states, got {length:,} characters, more than that has"
        for slot, text in texts
        if text is not None and len(text) > most and not slot.options and text[0] == '"'
        if (length := json_length(text.encode())) > most
    ]


def record_of(
    request: Request, taken: Taken, value_of: Callable[[Answered], WrittenValue]
) -> Filled | list[str]:
    """Returns the record of the values taken from an answer and of the known ones, with the evidence of each.

    `value_of` weighs an answered value. If the values break a rule of the schema, the function returns a record with
    the same values written otherwise, else the rule.
    """
    form, offset = request.form, request.passage.offset
    # The index in `taken.rows` serves as anchor, so that a row can be told after others were left out.
    rows = [Row(array, parent, at, 1.0) for at, (array, parent) in enumerate(taken.rows)]
    layout = lay_out(form, rows, request.known)
    selectors = {choice.selector.index for choice in form.choices}
    sought = {
        key: (slot, text)
        for key, (slot, text) in taken.texts.items()
        if text is not None and slot.index not in selectors
    }
    places = Aligner(request.passage.text, request.passage.locale).place(sought)
    asked = form_questions(form).slots
    values: list[WrittenValue] = []
    for at, slot in enumerate(layout.slots):
        row, known = layout.row_of[at], layout.known[at]
        if known is not None:
            values.append(known_value(slot, known))
            continue
        key = (slot.index, layout.rows[row].anchor if row >= 0 else -1)
        _, text = taken.texts.get(key, (slot, layout.told.get(at)))
        if text is not None and slot.index in selectors:
            values.append(WrittenValue(text.encode(), False, ABSENT, origin="chosen"))
            continue
        place = places.get(key)
        # The schema's description names this value and the document does not print it: it stands for absence.
        default = place is not None and not place.span and any(n.text == text for n in asked[slot.index].named)
        values.append(value_of(Answered(key, slot, text, place, default, not layout.excusable[at])))
    writer = Writer(layout, values, offset)
    violation = _violation(form, writer)
    if violation is not None:
        other = _otherwise(form, writer)
        if other is None:
            return [str(violation)]
        writer = other
    return Filled(
        id=request.id,
        value=writer.value,
        leaves=writer.leaves,
        rows=_anchor_rows(writer, offset),
        steps=0,
        reopened=0,
    )


def _violation(form: Form, writer: Writer) -> Violation | None:
    return None if form.judge is None else form.judge.violation(writer.value)


def _otherwise(form: Form, writer: Writer) -> Writer | None:
    """Returns another record of the same values that the schema allows; None if there is none.

    The search may write an absent value as null, as empty or not at all; it changes no answered value. If a demanded
    value is missing, any record is accepted, because the record goes to quarantine as `missing`.
    """
    assert form.judge is not None
    answered = _values(writer)
    out: dict[int, State | int] = {
        id(place): "out"
        for pointer, states in writer.states.items()
        if not any(lies_within(at, pointer) for at in answered)
        for place, _ in states
        if place.optional
    }
    sparse = writer.changed({}, out)
    if _violation(form, sparse) is None:
        return sparse
    other = repair_record(writer, form.judge, lambda at: _others(writer.given[at]))
    missing = any(leaf.missing for leaf in writer.leaves.values())
    return other if other is not None and (missing or _values(other) == answered) else None


def _value(answered: Answered) -> WrittenValue:
    """Returns an answered value of a server, with the confidence that its evidence gives it."""
    slot, text, place = answered.slot, answered.text, answered.place
    if text is None or place is None:
        return WrittenValue(slot.minimal.encode(), True, absent_confidence=ABSENT)
    if answered.default:
        return WrittenValue(text.encode(), False, ABSENT, round(1.0 - ABSENT, 4), origin="default")
    sure = round(place.confidence, 4)
    spans = (place.span,) if place.span else ()
    return WrittenValue(text.encode(), False, sure, round(1.0 - place.confidence, 4), spans, answered.origin)


def _values(writer: Writer) -> dict[str, str | None]:
    """Returns the texts of the record's leaves that were answered or known."""
    return {at: leaf.text for at, leaf in writer.leaves.items() if not _is_absent(leaf)}


def _others(value: WrittenValue) -> list[tuple[float, WrittenValue]]:
    """Returns the only alternative to an answered value: absence."""
    return [(value.absent_confidence, replace(value, absent=True))]


def _anchor_rows(writer: Writer, offset: int) -> dict[str, tuple[int, float]]:
    """Returns (anchor, confidence) of each row: it begins at its first value, else where the row before began."""
    starts: dict[str, tuple[int, float]] = {}
    begins: dict[str, list[tuple[int, float]]] = {}
    for pointer, leaf in writer.leaves.items():
        for row in (at for at in above(pointer) if at in writer.rows):
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
