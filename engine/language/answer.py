"""Turns the record that a language model wrote into a filled form: evidence and confidence for every value.

The evidence comes from the aligner that the answers of servers have too. The confidence comes from the model: each
token was committed with a posterior, the share of the allowed texts that have it there. The probability of a value is
the product over the tokens that carry it, because the value is right only if all of them are; tokens that follow from
the others have a posterior near one, so a long value loses little. Tokens that the schema forces say nothing and do
not count. A place that is left out was decided by the tokens that stand there instead: those of the next name, or of
the closing brace.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any

from cinnabar.engine.evidence.places import ABSENT, Aligner
from cinnabar.engine.fill.writing import WrittenValue
from cinnabar.engine.language.decoded import Decoded
from cinnabar.engine.language.remaining_form import Remaining
from cinnabar.engine.replies.reading import Taken
from cinnabar.engine.replies.record import Answered, find_unstated, record_of
from cinnabar.engine.request import Filled, Leaf, Origin, Request
from cinnabar.errors import EngineFailure
from cinnabar.schemas.automata.strings import parse, scalar_text
from cinnabar.schemas.form.fitting import accept, branch_of
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Node, ObjectNode, Slot
from cinnabar.schemas.form.record_walk import RecordRow, walk_record
from cinnabar.schemas.pointers import MISSING, escape, lies_within, parts_of

#: So many equal items at the end of a list are a loop, into which small models fall, if they have a text of so many
#: characters that the document has less often.
LOOP, LOOPED_TEXT = 3, 8
#: The least posterior that counts in a product.
_LEAST = 1e-12


@dataclass(frozen=True, slots=True)
class Sureness:
    """The posteriors of the chosen tokens that carry a value: the product, the least, and that of the first."""

    product: float
    least: float
    first: float


class Certainty:
    """Tells how sure a model was of any stretch of the text that it wrote."""

    def __init__(self, written: Decoded) -> None:
        self._text, self._written = written.text, written
        self.log_mass = round(written.log_mass, 4)
        self._ends = list(accumulate(written.lengths))

    def of(self, span: ByteSpan, number: bool = False) -> Sureness | None:
        """Returns the sureness of the bytes [start, end), None if all were forced.

        With `number` the token behind it counts too, because that token says that the number has no more digits.
        """
        start, end = span
        first = bisect_right(self._ends, start)
        last = bisect_left(self._ends, end + (number and end < len(self._text)))
        posteriors = [
            self._written.posteriors[at]
            for at in range(first, min(last + 1, len(self._ends)))
            if self._written.chosen[at]
        ]
        if not posteriors:
            return None
        product = math.exp(math.fsum(math.log(max(one, _LEAST)) for one in posteriors))
        return Sureness(min(product, 1.0), min(posteriors), posteriors[0])


def read_written(request: Request, remaining: Remaining, written: Decoded | None) -> Filled:
    """Returns the record that the model wrote (None if there was nothing to ask) joined with the frozen values.

    Empty texts, and rows without any value, count as absent, as in the records of other models. If the schema demands
    them, the record stays as it was written. Raises EngineFailure if the schema refuses that, too.
    """
    value: Any = None
    decided: dict[str, ByteSpan] = {}
    certainty = None
    if written is not None and remaining.form is not None:
        value, places = parse(written.text.decode()), places_of(written.text)
        if not request.known and not request.rows:
            ended = _without_loops(value, request.passage.text)
            value = value if ended == value or accept(request.form, remaining.add_frozen(ended)) is MISSING else ended
        _decisions(remaining.form.root, value, "", places, decided)
        certainty = Certainty(written)
    record = remaining.add_frozen(value)
    taken, pointers = _taken(request, record)
    asked = (pair for key, pair in taken.texts.items() if pointers[key] not in request.known)
    if problems := find_unstated(request, asked):
        raise EngineFailure("invalid_answer", "; ".join(problems))
    weigh = partial(_value, certainty=certainty, decided=decided, pointers=pointers)
    filled = record_of(request, taken, weigh)
    if not isinstance(filled, Filled):
        record = accept(request.form, record)
        if record is MISSING:
            raise EngineFailure("invalid_answer", f"the record breaks a rule of the schema: {'; '.join(filled)}")
        filled = _as_written(request, record, taken, weigh)
    return filled if written is None else replace(filled, steps=written.passes, reopened=written.reopened)


def _taken(request: Request, record: Any) -> tuple[Taken, dict[tuple[int, int], str]]:
    """Returns the rows and the texts of a whole record, and the pointer of each text."""
    taken = Taken()
    pointers: dict[tuple[int, int], str] = {}
    for part in walk_record(request.form, record):
        if isinstance(part, RecordRow):
            taken.rows.append((part.array.index, part.parent))
            continue
        slot, key = part.slot, (part.slot.index, part.row)
        taken.texts[key] = slot, _text(slot, part.value)
        pointers[key] = part.pointer
    return taken, pointers


def _as_written(request: Request, record: Any, taken: Taken, weigh: Callable[[Answered], WrittenValue]) -> Filled:
    """Returns a record that the schema allows as it is."""
    form, offset = request.form, request.passage.offset
    # Selectors and names of open properties have the pointer of their value.
    unwritten = {choice.selector.index for choice in form.choices}
    unwritten |= {array.key.index for array in form.arrays if array.key is not None}
    written = {key: pair for key, pair in taken.texts.items() if key[0] not in unwritten}
    aligner = Aligner(request.passage.text, request.passage.locale)
    places = aligner.place({k: (slot, text) for k, (slot, text) in written.items() if text})
    leaves: dict[str, Leaf] = {}
    rows: dict[str, tuple[int, float]] = {}
    for part in walk_record(form, record):
        if isinstance(part, RecordRow):
            rows[part.pointer] = offset, ABSENT
        elif part.slot.index not in unwritten:
            key, slot = (part.slot.index, part.row), part.slot
            value = weigh(Answered(key, slot, written[key][1], places.get(key), False, False))
            text = None if part.value is None and not slot.nullable else scalar_text(part.value)
            spans = tuple((start + offset, end + offset) for start, end in value.spans)
            sure = value.absent_confidence if value.absent else value.confidence
            origin: Origin = "absent" if part.value is None else value.origin
            leaf = Leaf(text, sure, spans, origin, posterior=value.confidence, rival=value.rival, slot=slot.index)
            leaves[part.pointer] = replace(leaf, absence=value.absent_confidence)
    for pointer, text in request.known.items():
        if text is not None:
            leaves[pointer] = replace(leaves[pointer], text=text, confidence=1.0, spans=(), origin="known")
    return Filled(request.id, record, leaves, rows, 0, 0)


def _without_loops(value: Any, text: str) -> Any:
    """Returns a value without the items with which lists end in a loop: one over and over, oftener than the text has
    its long texts. A short text may mean the same of many things."""
    if isinstance(value, dict):
        return {name: _without_loops(own, text) for name, own in value.items()}
    if not isinstance(value, list):
        return value
    size = next((count for count, one in enumerate(reversed(value)) if one != value[-1]), len(value))
    own_texts = (part for _, part in parts_of(value[-1]) if isinstance(part, str)) if size >= LOOP else ()
    counts = [text.count(one) for one in own_texts if len(one) >= LOOPED_TEXT]
    most = min(filter(None, counts), default=size)
    return [_without_loops(own, text) for own in value[: len(value) - max(size - most, 0)]]


def _text(slot: Slot, value: Any) -> str | None:
    """Returns the canonical text of a slot's value; None for no value, an empty text or "null", and one not allowed."""
    if value is None or isinstance(value, (dict, list)):
        return None
    try:
        text = scalar_text(value)
    except ValueError:  # a number of too many digits
        return None
    empty = text in ('""', '"null"') and text not in slot.options
    return None if empty or not slot.accepts(text.encode()) else text


def _value(
    answered: Answered,
    certainty: Certainty | None,
    decided: Mapping[str, ByteSpan],
    pointers: Mapping[tuple[int, int], str],
) -> WrittenValue:
    """Returns an answered value with the probability that the model gave it.

    A value is none of the model's if its tokens complete a record that was given up (they have the posterior 0), or if
    all are forced although the schema allows other texts: only a lack of room does that. It counts as absent, and that
    absence has no confidence either.
    """
    slot, text, place = answered.slot, answered.text, answered.place
    span = decided.get(pointers.get(answered.key, ""))
    number = text is not None and text[0] not in '"tfn'
    sure = None if certainty is None or span is None else certainty.of(span, number)
    mass = 0.0 if certainty is None else certainty.log_mass
    alone = span is not None and len(slot.automaton.shortest_texts(2)) == 1
    if span is not None and (sure is None or (alone and sure.least)):
        sure = Sureness(*3 * (float(alone),))
    if text is None or sure is None or not sure.least:
        absent = ABSENT if sure is None else round(sure.product, 4)
        return WrittenValue(slot.minimal.encode(), True, 0.0, absent, demanded=answered.demanded, allowed_mass=mass)
    return WrittenValue(
        text.encode(),
        False,
        round(sure.product, 4),
        0.0 if answered.demanded and not slot.nullable else round(1.0 - sure.first, 4),
        (place.span,) if place is not None and place.span else (),
        answered.origin,
        demanded=answered.demanded,
        allowed_mass=mass,
        rival=round(1.0 - sure.least, 4),
    )


def _decisions(node: Node, value: Any, pointer: str, places: ValuePlaces, decided: dict[str, ByteSpan]) -> None:
    """Notes for each slot the bytes that decide it: its text, or the text in place of one that is left out."""
    own = places.values.get(pointer)
    if isinstance(node, Slot):
        if own is not None:
            decided[pointer] = own
    elif value is None:
        _note_closed(node, pointer, own, decided)
    elif isinstance(node, ObjectNode):
        names = [place.name for place in node.properties]
        for at, place in enumerate(node.properties):
            below = f"{pointer}/{escape(place.name)}"
            if place.name in value:
                _decisions(place.node, value[place.name], below, places, decided)
            else:
                _note_closed(place.node, below, places.gap(pointer, names[at + 1 :]), decided)
        for name in value.keys() - set(names):
            below = f"{pointer}/{escape(name)}"
            decided |= {at: span for at, span in places.values.items() if lies_within(at, below)}
    elif isinstance(node, ChoiceNode):
        branch = branch_of(node, value)
        if branch is not None:
            _decisions(node.branches[branch], value, pointer, places, decided)
    elif isinstance(node, ArrayNode) and isinstance(value, list):
        for at, item in enumerate(value):
            part = node.prefix[at] if at < len(node.prefix) else node.item
            if part is not None:
                _decisions(part, item, f"{pointer}/{at}", places, decided)


def _note_closed(node: Node, pointer: str, span: ByteSpan | None, decided: dict[str, ByteSpan]) -> None:
    """Notes for the slots of a place that is null or left out, outside of lists, the bytes that decided so."""
    if span is None:
        return
    if isinstance(node, Slot):
        decided[pointer] = span
    elif isinstance(node, ObjectNode):
        for place in node.properties:
            _note_closed(place.node, f"{pointer}/{escape(place.name)}", span, decided)
    elif isinstance(node, ChoiceNode):
        for branch in node.branches:
            _note_closed(branch, pointer, span, decided)


ByteSpan = tuple[int, int]
_PARTS = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


@dataclass(slots=True)
class ValuePlaces:
    """The places of a record's values in its text, as [start, end) in bytes.

    `values` has every value by its pointer. `gaps` has for each object its names as written, each with the bytes from
    the end of the value before it to the end of the name, and at last ("", …) with those up to the closing brace: a
    property that is left out was decided against there.
    """

    values: dict[str, ByteSpan] = field(default_factory=dict)
    gaps: dict[str, list[tuple[str, ByteSpan]]] = field(default_factory=dict)

    def gap(self, pointer: str, later: Collection[str]) -> ByteSpan | None:
        """Returns the place where an object lacks a property; `later` are the names that would follow it."""
        gaps = self.gaps.get(pointer, [])
        return next((span for name, span in gaps[:-1] if name in later), gaps[-1][1] if gaps else None)


def places_of(text: bytes) -> ValuePlaces:
    """Returns the places of all values of a record's text, which is valid JSON."""
    found = ValuePlaces()
    parts = _PARTS.finditer(text)
    _read(next(parts), parts, "", found)
    return found


def _read(part: re.Match[bytes], parts: Iterator[re.Match[bytes]], pointer: str, places: ValuePlaces) -> int:
    """Notes the value that begins with this part, and all values below it; returns its end."""
    start, end = part.span()
    places.values[pointer] = start, end
    if part[0] == b"[":
        last, at = next(parts), 0
        while last[0] != b"]":
            _read(last if last[0] != b"," else next(parts), parts, f"{pointer}/{at}", places)
            last, at = next(parts), at + 1
        end = last.end()
    elif part[0] == b"{":
        gaps = places.gaps[pointer] = []
        last, before = next(parts), end
        while last[0] != b"}":
            key = last if last[0] != b"," else next(parts)
            name = parse(key[0].decode())
            gaps.append((name, (before, key.end())))
            next(parts)  # the colon
            before = _read(next(parts), parts, f"{pointer}/{escape(name)}", places)
            last = next(parts)
        end = last.end()
        gaps.append(("", (before, end)))
    places.values[pointer] = start, end
    return end
