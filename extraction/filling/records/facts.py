"""Puts the facts of a document into the fact fields of its record (`x-cinnabar-from`); no model is asked for them.

A fact is written in the first of its spellings that the field's schema accepts: a moment as a date and time, a date or
a time, a number as a number or a text. A fact that the document lacks is null, left out or the schema's default. If the
schema demands it, it is missing, like a value that a model did not find. A fact that the schema refuses is treated in
the same way, and flagged; where a value is demanded the document goes to quarantine as `refused_fact`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from cinnabar.engine.readings.codes import codes_of
from cinnabar.engine.request import Filled, Leaf, Passage, Request
from cinnabar.extraction.documents.content.document import Document, Fact, moment
from cinnabar.schemas.automata.numbers import canonical_number
from cinnabar.schemas.automata.strings import parse, scalar_text
from cinnabar.schemas.compiling.fact_fields import FactField
from cinnabar.schemas.facts import FACTS, LANGUAGE
from cinnabar.schemas.form.fitting import fit, walk_lists
from cinnabar.schemas.form.form import ArrayNode, Form, Slot
from cinnabar.schemas.pointers import MISSING, lies_within, put_value

if TYPE_CHECKING:
    from cinnabar.extraction.filling.records.freezing import Frozen

#: The reason code of a document with a fact that the schema refuses where it demands a value.
REFUSED = "refused_fact"
# Characters of a value that an error shows.
_SHOWN = 80
_State = Literal["given", "absent", "missing"]


@dataclass(frozen=True, slots=True)
class FieldFact:
    """The value of one fact field: `texts` are canonical JSON texts, one for a scalar and one an item for a list.

    `state` says whether the document has the fact in a form that the schema accepts (`given`), the schema allows its
    absence (`absent`), or it demands a value (`missing`). `refusal` tells why a fact that is there was not written.
    """

    place: FactField
    state: _State
    texts: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    refusal: str = ""


@dataclass(frozen=True)
class FactValues:
    """The values of all fact fields in one document, and what else no model is asked for, as in a request."""

    values: tuple[FieldFact, ...] = ()
    given: Mapping[str, str | None] = field(default_factory=dict)
    given_lists: frozenset[int] = frozenset()
    given_rows: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, document: Document, fields: Sequence[FactField]) -> FactValues:
        """Returns the values of these fields in this document."""
        return cls(tuple(_value(place, document.facts.get(place.fact)) for place in fields))

    @cached_property
    def known(self) -> dict[str, str | None]:
        """Returns the frozen values of a request."""
        frozen = {**self.given}
        for value in self.values:
            at, node = value.place.pointer, value.place.node
            if isinstance(node, ArrayNode):
                frozen |= {f"{at}/{number}": text for number, text in enumerate(_items(value, node))}
            elif value.texts:
                frozen[at] = value.texts[0]
            elif value.state == "missing":
                frozen[at] = node.minimal
            else:
                frozen[at] = None if value.place.excusable else "null"
        return frozen

    @cached_property
    def counted_lists(self) -> frozenset[int]:
        """Returns the lists whose rows are known."""
        own = (v.place.node.index for v in self.values if isinstance(v.place.node, ArrayNode))
        return self.given_lists.union(own)

    @cached_property
    def rows(self) -> tuple[tuple[int, int], ...]:
        """Returns the known rows with the characters at which they begin."""
        own = (
            (value.place.node.index, _anchor(value, number))
            for value in self.values
            if isinstance(value.place.node, ArrayNode)
            for number, _ in enumerate(_items(value, value.place.node))
        )
        return (*self.given_rows, *own)

    def beside(self, frozen: Frozen) -> FactValues:
        """Returns what is frozen, and the values of the other fields."""
        held = (
            v.place.node.index in frozen.counted
            if isinstance(v.place.node, ArrayNode)
            else v.place.pointer in frozen.known
            for v in self.values
        )
        left = tuple(v for v, is_held in zip(self.values, held, strict=True) if not is_held)
        return FactValues(left, frozen.known, frozenset(frozen.counted), tuple(frozen.rows))

    def holds(self, pointer: str) -> bool:
        """Returns True if this place is a fact field or an item of one."""
        return any(lies_within(pointer, at) for at in self._pointers)

    @cached_property
    def _pointers(self) -> tuple[str, ...]:
        return tuple(value.place.pointer for value in self.values)

    def request(self, name: str, form: Form, passage: Passage) -> Request:
        """Returns the request that asks for all other fields."""
        return Request(name, form, passage, self.known, self.counted_lists, self.rows)

    @cached_property
    def refusals(self) -> Mapping[str, str]:
        """Returns the reasons of facts that were not written, by the pointers of their fields."""
        return {value.place.pointer: value.refusal for value in self.values if value.refusal}

    @cached_property
    def demanded_reasons(self) -> Mapping[str, str]:
        """Returns those reasons where the schema demands a value."""
        return {v.place.pointer: v.refusal for v in self.values if v.refusal and v.state == "missing"}


NO_FACTS = FactValues()


def with_facts(form: Form, filled: Filled, facts: FactValues) -> Filled:
    """Returns a filled form with the leaves, rows and lists of its fact fields as facts: origin, evidence, certainty.

    A list of facts is surely whole, also without items; one whose fact was refused is surely not.
    """
    if not facts.values:
        return filled
    leaves = {at: leaf for at, leaf in filled.leaves.items() if not facts.holds(at)}
    rows = {at: row for at, row in filled.rows.items() if not facts.holds(at)}
    record = parse(filled.record)
    changed = False
    for value in facts.values:
        at, node = value.place.pointer, value.place.node
        if isinstance(node, Slot):
            own = filled.leaves.get(at)
            if own is not None:
                leaves[at] = _leaf(value, own)
            continue
        texts = _items(value, node)
        changed |= put_value(record, at, _list(value, node, texts))
        assert isinstance(node.item, Slot)
        for number, text in enumerate(texts):
            leaf = Leaf(text, 1.0, value.spans[number : number + 1], "fact", slot=node.item.index)
            leaves[f"{at}/{number}"] = leaf if value.state == "given" else _made_up(text, node.item)
            rows[f"{at}/{number}"] = _anchor(value, number), 1.0
    text = fit(form, record) if changed else filled.record
    lists = {at: sure for at, sure in filled.lists.items() if not facts.holds(at)}
    lists |= _whole_lists(form, text, facts)
    return replace(filled, record=text, leaves=leaves, rows=rows, lists=lists)


def _whole_lists(form: Form, text: str, facts: FactValues) -> dict[str, float]:
    """Returns the probability that each list of facts in a record is complete; one that is only demanded has none."""
    sure = {
        value.place.pointer: 0.0 if value.refusal else 1.0
        for value in facts.values
        if isinstance(value.place.node, ArrayNode) and value.state != "missing"
    }
    lists = walk_lists(form, parse(text)) if sure else ()
    return {one.pointer: sure[one.pointer] for one in lists if one.pointer in sure}


def _leaf(value: FieldFact, own: Leaf) -> Leaf:
    """Returns the leaf of a scalar fact in place of the engine's own."""
    assert isinstance(value.place.node, Slot)
    if value.state == "given":
        return Leaf(value.texts[0], 1.0, value.spans[:1], "fact", slot=value.place.node.index, demanded=own.demanded)
    if value.texts:
        return Leaf(value.texts[0], 1.0, (), "default", slot=value.place.node.index)
    if own.text in (None, "null"):
        return Leaf(own.text, 1.0, (), "fact", absence=1.0, slot=value.place.node.index)
    return _made_up(own.text, value.place.node)


def _made_up(text: str | None, slot: Slot) -> Leaf:
    """Returns the leaf of a demanded value that the document does not have."""
    return Leaf(text, 0.0, (), "minimal", missing=True, slot=slot.index, demanded=True)


def _items(value: FieldFact, node: ArrayNode) -> tuple[str, ...]:
    """Returns the texts of a list's items; a demanded list without a fact has its least items."""
    if value.state != "missing":
        return value.texts
    assert isinstance(node.item, Slot)
    return (node.item.minimal,) * node.min_items


def _list(value: FieldFact, node: ArrayNode, texts: Sequence[str]) -> Any:
    """Returns the list to write; MISSING if its property is left out."""
    if value.state == "absent":
        if node.nullable:
            return None
        if node.min_items:
            return MISSING
    return [parse(text) for text in texts]


def _anchor(value: FieldFact, number: int) -> int:
    return value.spans[number][0] if number < len(value.spans) else 0


def _value(place: FactField, fact: Fact | None) -> FieldFact:
    if fact is None:
        return _without(place)
    if isinstance(place.node, ArrayNode):
        return _list_value(place, place.node, fact)
    values = fact.value if isinstance(fact.value, tuple) else (fact.value,)
    if not values:
        return _without(place)
    if len(values) > 1:
        return _without(place, f"{place.fact} has {len(values)} values, and the field takes one")
    text = _accept(place.node, place.fact, values[0])
    if text is None:
        return _without(place, _refusal(place, place.node, values[0]))
    return FieldFact(place, "given", (text,), fact.spans[:1])


def _list_value(place: FactField, node: ArrayNode, fact: Fact) -> FieldFact:
    assert isinstance(node.item, Slot)
    values = fact.value if isinstance(fact.value, tuple) else (fact.value,)
    texts: list[str] = []
    spans: list[tuple[int, int]] = []
    for number, one in enumerate(values):
        text = _accept(node.item, place.fact, one)
        if text is None:
            return _without(place, _refusal(place, node.item, one))
        if not (node.unique and text in texts):
            texts.append(text)
            spans += fact.spans[number : number + 1]
    if len(texts) < node.min_items or (node.max_items is not None and len(texts) > node.max_items):
        most = "more" if node.max_items is None else str(node.max_items)
        reason = f"{place.fact} has {len(texts)} values, and the field takes {node.min_items} to {most}"
        return _without(place, reason if texts else "")
    return FieldFact(place, "given", tuple(texts), tuple(spans))


def _refusal(place: FactField, slot: Slot, value: str | int) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]} …"
    return f"{place.fact} is {shown}, and the field takes a {slot.format or slot.kind} that its schema allows"


def _without(place: FactField, refusal: str = "") -> FieldFact:
    """Returns the value of a field without a fact: the schema's default, an absence, or a missing value."""
    node = place.node
    if isinstance(node, Slot):
        allowed = place.excusable or node.nullable
        if node.default and not refusal:
            return FieldFact(place, "absent", (node.default,))
    else:
        allowed = place.optional or node.nullable or not node.min_items
    return FieldFact(place, "absent" if allowed else "missing", refusal=refusal)


def _accept(slot: Slot, fact: str, value: str | int) -> str | None:
    """Returns the first spelling of a value, as canonical JSON text, that a slot accepts; None if it accepts none."""
    return next((text for text in _spellings(slot, fact, value) if slot.accepts(text.encode())), None)


def _spellings(slot: Slot, fact: str, value: str | int) -> Iterator[str]:
    if isinstance(value, int):
        yield scalar_text(value)
        yield scalar_text(str(value))
        return
    if FACTS[fact].kind == "moment":
        time = datetime.fromisoformat(value)
        whole = (value, moment(time.astimezone(UTC))) if 1 < time.year < 9999 else (value,)
        yield from map(scalar_text, (*whole, value[:10], value[11:], value[11:19]))
        return
    yield scalar_text(value)
    # Of closed options the one in other letters, or the name of the language.
    for option in slot.options:
        named = json.loads(option)
        if isinstance(named, str) and (
            named.casefold() == value.casefold() or (fact == LANGUAGE and value in codes_of(named))
        ):
            yield option
    if value.isascii() and value.isdecimal():
        yield canonical_number(Decimal(value))
