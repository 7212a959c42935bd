"""Places of a record that a correction fixes, and records with such places put in.

A place is a value outside of lists, or a whole list: one correction within a list fixes the list as it then was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from cinnabar.extraction.documents.content.document import Box, Evidence, Span
from cinnabar.extraction.filling.surroundings.flags import FLAGS
from cinnabar.extraction.store.records import LeafRow, ListNote, Record
from cinnabar.schemas.automata.strings import json_text, parse
from cinnabar.schemas.form.form import Form, Node, ObjectNode
from cinnabar.schemas.pointers import MISSING, escape, lies_within, parts_of, unescape, value_at

#: The origin of values that a person corrected or accepted.
HUMAN: Final = "human"
#: The flag of a record without a correction that its schema cannot hold.
LEFT_OUT = "correction_left_out"
# Flags of a model's doubt, which a person's word ends.
_DOUBTS = frozenset({
    *("ambiguous_date", "ambiguous_number", "default", "generated", "guessed", "no_evidence", "ocr"), *FLAGS,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class CorrectedPlace:
    """A place with its value: `text` is JSON, None if the record leaves it out.

    `leaves`, `rows` and `lists` are those of the record at and below the place.
    """

    pointer: str
    text: str | None
    leaves: tuple[LeafRow, ...] = ()
    rows: Mapping[str, float] = field(default_factory=dict)
    lists: Mapping[str, float] = field(default_factory=dict)


def text_at(value: Any, pointer: str) -> str | None:
    """Returns the canonical text of this part of a record, None if it is left out."""
    part = value_at(value, pointer)
    return None if part is MISSING else json_text(part)


def place_of(value: Any, pointer: str) -> str:
    """Returns the place that a correction at this pointer fixes: the outermost list around it, else the pointer."""
    here = ""
    for step in pointer.split("/")[1:]:
        if isinstance(value, list):
            return here
        here = f"{here}/{step}"
        value = value.get(unescape(step), MISSING) if isinstance(value, dict) else MISSING
    return pointer


def places_in(value: Any, pointer: str, leaves: Iterable[LeafRow]) -> list[str]:
    """Returns the places at and below this pointer one by one: values outside of lists, lists, and omitted leaves."""
    places = dict.fromkeys(_places(value_at(value, pointer), pointer))
    places |= dict.fromkeys(place_of(value, leaf.pointer) for leaf in leaves if lies_within(leaf.pointer, pointer))
    return list(places)


def _places(value: Any, pointer: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _places(part, f"{pointer}/{escape(name)}")
    elif value is not MISSING:
        yield pointer


def scalars(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Returns the scalars of a parsed value with their pointers, as JSON texts."""
    return ((at, json_text(part)) for at, part in parts_of(value, pointer) if not isinstance(part, (dict, list)))


def accepted_leaf(leaf: LeafRow) -> LeafRow:
    """Returns the leaf as a person accepts it: certain, with its evidence, without flags of doubt."""
    flags = tuple(flag for flag in leaf.flags if flag not in _DOUBTS)
    return replace(leaf, confidence=1.0, origin=HUMAN, missing=False, flags=flags)


class RecordDraft:
    """A record that is being changed: its parsed `value`, and its leaves, rows and lists by pointer."""

    def __init__(self, record: Record) -> None:
        self.value = parse(record.text)
        self.leaves = {leaf.pointer: leaf for leaf in record.leaves}
        self.rows = dict(record.rows)
        self.lists = dict(record.lists)
        of_leaves = {flag for leaf in record.leaves for flag in leaf.flags}
        self._flags = set(record.flags) - of_leaves
        self._record = record

    def put(self, pointer: str, value: Any, form: Form) -> None:
        """Writes a value, MISSING to leave the place out, and drops what was known of the one before.

        Objects around it that are null or missing are made, with null for the other properties they require.
        """
        self._forget(pointer)
        if not pointer:
            self.value = value
            return
        *around, last = pointer.split("/")[1:]
        node: Node | None = form.root
        here, holder, name = self.value, None, ""
        for step in around:
            if not isinstance(here, (dict, list)):
                if value is MISSING:
                    return
                here = self._made(holder, name, node)
            holder, name = here, step
            here, node = value_at(here, f"/{step}"), property_of(node, unescape(step))
        if not isinstance(here, (dict, list)):
            if value is MISSING:
                return
            here = self._made(holder, name, node)
        _set(here, last, value)

    def _made(self, holder: Any, name: str, node: Node | None) -> dict[str, Any]:
        """Puts an object of this node's required properties, all null, in the place of a null or missing one."""
        places = node.properties if isinstance(node, ObjectNode) else ()
        made: dict[str, Any] = {place.name: None for place in places if place.required}
        if holder is None:
            self.value = made
        else:
            _set(holder, name, made)
        return made

    def _forget(self, pointer: str) -> None:
        for own in (self.leaves, self.rows, self.lists):
            for gone in [one for one in own if lies_within(one, pointer)]:
                del own[gone]

    def know(self, leaves: Iterable[LeafRow], rows: Mapping[str, float], lists: Mapping[str, float]) -> None:
        """Adds leaves, rows and lists of places that the record has."""
        self.leaves |= {leaf.pointer: leaf for leaf in leaves}
        self.rows |= rows
        self.lists |= lists

    def put_unit(self, unit: CorrectedPlace, form: Form) -> None:
        """Writes a place with its value, its leaves, rows and lists."""
        self.put(unit.pointer, MISSING if unit.text is None else parse(unit.text), form)
        self.know(unit.leaves, unit.rows, unit.lists)

    def unit(self, pointer: str) -> CorrectedPlace:
        """Returns a place of the record as it is now."""
        return CorrectedPlace(
            pointer,
            text_at(self.value, pointer),
            tuple(leaf for one, leaf in self.leaves.items() if lies_within(one, pointer)),
            {one: chance for one, chance in self.rows.items() if lies_within(one, pointer)},
            {one: chance for one, chance in self.lists.items() if lies_within(one, pointer)},
        )

    def record(self, text: str, flags: Iterable[str] = ()) -> Record:
        """Returns the record with this text, which spells `value`."""
        # A leaf below an object that is null now tells of a place that is not there.
        there = (
            leaf.value is None or value_at(self.value, leaf.pointer) is not MISSING for leaf in self.leaves.values()
        )
        leaves = [leaf for leaf, held in zip(self.leaves.values(), there, strict=True) if held]
        all_flags = self._flags | {*flags} | {flag for leaf in leaves for flag in leaf.flags}
        # What a person settled needs no count.
        asked = {at: note for at, note in self._record.lengths.items() if self.lists.get(at, 0.0) < 1.0}
        made = Record.of(text, leaves, all_flags, self.rows, self.lists, asked)
        return replace(made, checks=self._record.checks)


def property_of(node: Node | None, name: str) -> Node | None:
    """Returns the node of a declared property of an object, None if there is none."""
    places = node.properties if isinstance(node, ObjectNode) else ()
    return next((place.node for place in places if place.name == name), None)


def _set(holder: Any, step: str, value: Any) -> None:
    if isinstance(holder, list):
        if value is MISSING:
            del holder[int(step)]
        elif int(step) == len(holder):
            holder.append(value)
        else:
            holder[int(step)] = value
    elif value is MISSING:
        holder.pop(unescape(step), None)
    else:
        holder[unescape(step)] = value


def record_from(values: Mapping[str, Any]) -> Record:
    """Returns the record of these JSON values, as version 0.3 stored what models made."""
    leaves = tuple(map(_leaf_from, values["leaves"]))
    lengths = {at: ListNote(*note) for at, note in values.get("lengths", {}).items()}
    # Earlier versions wrote what a language model thought, too.
    own = {name: value for name, value in values.items() if name != "thoughts"}
    return Record(**{**own, "leaves": leaves, "flags": tuple(values["flags"]), "lengths": lengths})


def units_text(units: Iterable[CorrectedPlace]) -> str:
    """Returns places as JSON."""
    return orjson.dumps([*units]).decode()


def units_from(text: str) -> tuple[CorrectedPlace, ...]:
    """Returns the places of this JSON; the inverse of `units_text`."""
    rows = orjson.loads(text)
    return tuple(CorrectedPlace(**one | {"leaves": tuple(map(_leaf_from, one["leaves"]))}) for one in rows)


def evidence_from(values: dict[str, Any] | None) -> Evidence | None:
    """Returns the evidence of these JSON values."""
    if values is None:
        return None
    spans, boxes = (Span(**one) for one in values["spans"]), (Box(**one) for one in values["boxes"])
    return Evidence(tuple(spans), values["text"], tuple(boxes), values["place"])


def _leaf_from(values: dict[str, Any]) -> LeafRow:
    return LeafRow(**values | {"evidence": evidence_from(values["evidence"]), "flags": tuple(values["flags"])})
