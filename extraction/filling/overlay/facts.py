"""Gives the facts of a document to the fact fields of its record (`x-cinnabar-from`); no model is asked for them.

A fact is written in the first of its spellings that the field's schema accepts: a moment as a date and time, a date or
a time, a number as a number or a text. A fact that the document lacks is null, left out or the schema's default. If the
schema demands it, it is missing, like a value that a model did not find. A fact that the schema refuses is treated in
the same way, and flagged; where a value is demanded the document goes to quarantine as `refused_fact`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from cinnabar.engine.readings.codes import codes_of
from cinnabar.engine.request import Leaf
from cinnabar.extraction.documents.content.document import Document, Fact, moment
from cinnabar.extraction.filling.overlay.given import Given, made_up
from cinnabar.schemas.automata.numbers import canonical_number
from cinnabar.schemas.automata.strings import scalar_text, scalar_value
from cinnabar.schemas.compiling.fact_fields import FactField, fact_fields
from cinnabar.schemas.facts import FACTS, LANGUAGE
from cinnabar.schemas.form.form import ArrayNode, Form, Slot
from cinnabar.schemas.pointers import MISSING, lies_within

#: The reason code of a document with a fact that the schema refuses where it demands a value.
REFUSED = "refused_fact"
# Characters of a value that an error shows.
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Facts:
    """The values of all fact fields in one document; `refusals` tell by pointer why a fact was not written."""

    given: tuple[Given, ...] = ()
    refusals: Mapping[str, str] = field(default_factory=dict)

    def holds(self, pointer: str) -> bool:
        """Returns True if this place is a fact field or an item of one."""
        return any(lies_within(pointer, one.pointer) for one in self.given)


NO_FACTS = Facts()


def facts_of(document: Document, form: Form) -> Facts:
    """Returns the facts of a document for the fact fields of a form.

    A list of facts is surely whole, also without items; one whose fact was refused is surely not.
    """
    found = [_value(place, document.facts.get(place.fact)) for place in fact_fields(form)]
    return Facts(tuple(one for one, _ in found), {one.pointer: refusal for one, refusal in found if refusal})


def demanded_refusals(given: Iterable[Given], facts: Facts) -> dict[str, str]:
    """Returns the refusals of those given facts of which the schema demands a value."""
    missing = (one.pointer for one in given if any(leaf.missing for leaf in one.leaves.values()))
    return {at: facts.refusals[at] for at in missing if at in facts.refusals}


_Value = tuple[Given, str]


def _value(place: FactField, fact: Fact | None) -> _Value:
    """Returns the value of a fact field, and why its fact was not written; empty if it was, or if there is none."""
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
    leaf = Leaf(text, 1.0, fact.spans[:1], "fact", slot=place.node.index)
    return Given.scalar(place.pointer, place.node, "fact", leaf), ""


def _list_value(place: FactField, node: ArrayNode, fact: Fact) -> _Value:
    assert isinstance(node.item, Slot)
    values = fact.value if isinstance(fact.value, tuple) else (fact.value,)
    leaves: list[Leaf] = []
    for number, one in enumerate(values):
        text = _accept(node.item, place.fact, one)
        if text is None:
            return _without(place, _refusal(place, node.item, one))
        if not (node.unique and any(text == leaf.text for leaf in leaves)):
            leaves.append(Leaf(text, 1.0, fact.spans[number : number + 1], "fact", slot=node.item.index))
    if len(leaves) < node.min_items or (node.max_items is not None and len(leaves) > node.max_items):
        most = "more" if node.max_items is None else str(node.max_items)
        reason = f"{place.fact} has {len(leaves)} values, and the field takes {node.min_items} to {most}"
        return _without(place, reason if leaves else "")
    return _list(place, node, leaves, {place.pointer: 1.0}), ""


def _list(place: FactField, node: ArrayNode, leaves: Sequence[Leaf], sure: Mapping[str, float]) -> Given:
    cells = {f"{place.pointer}/{number}": leaf for number, leaf in enumerate(leaves)}
    rows = {at: (leaf.spans[0][0] if leaf.spans else 0, 1.0) for at, leaf in cells.items()}
    items = [scalar_value(leaf.text) for leaf in leaves if leaf.text is not None]
    return Given(place.pointer, node, "fact", items, cells, rows, sure)


def _refusal(place: FactField, slot: Slot, value: str | int) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]} …"
    return f"{place.fact} is {shown}, and the field takes a {slot.format or slot.kind} that its schema allows"


def _without(place: FactField, refusal: str = "") -> _Value:
    """Returns the value of a field without a fact: the schema's default, an absence, or a missing value."""
    node = place.node
    if isinstance(node, Slot):
        leaf = made_up(node.minimal, node.index)
        if node.default and not refusal:
            leaf = Leaf(node.default, 1.0, (), "default", slot=node.index)
        elif place.excusable or node.nullable:
            leaf = Leaf(None if place.excusable else "null", 1.0, (), "fact", absence=1.0, slot=node.index)
        return Given.scalar(place.pointer, node, "fact", leaf), refusal
    sure = {place.pointer: 0.0 if refusal else 1.0}
    if node.nullable:
        return Given(place.pointer, node, "fact", None, {}), refusal
    if not node.min_items:
        return Given(place.pointer, node, "fact", [], {}, lists=sure), refusal
    if place.optional:
        return Given(place.pointer, node, "fact", MISSING, {}), refusal
    assert isinstance(node.item, Slot)
    return _list(place, node, (made_up(node.item.minimal, node.item.index),) * node.min_items, {}), refusal


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
