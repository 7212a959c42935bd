"""Carries a place that a person fixed under one version of a schema into another version.

The person's values count wherever the new version has a place for them. In a list or an object each value is carried by
itself: a column that is gone takes no other column with it, and a new column has what the run made of the same row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cinnabar.errors import UsageError
from cinnabar.extraction.corrections.changes import counting_units, in_force, renamed_correction, renames_since
from cinnabar.extraction.corrections.stored import correction_rows
from cinnabar.extraction.corrections.units import HUMAN, CorrectedPlace, property_of, scalars
from cinnabar.extraction.store.records import LeafRow
from cinnabar.extraction.store.store import Store
from cinnabar.schemas.automata.strings import json_text, parse, scalar_text
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.loading import SchemaSource
from cinnabar.schemas.form.fitting import branch_of, group_of
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.parsing.schema_object import WAS
from cinnabar.schemas.pointers import MISSING, escape, lies_within, unescape, value_at

#: A value that more rows share than this does not tell a row from the others.
SHARED_VALUE = 50
#: Stands for a value that the new version cannot hold.
_REFUSED = object()


@dataclass(frozen=True, slots=True)
class Carried:
    """A place in another version of the schema, and the pointers of a person's values that the version cannot hold."""

    unit: CorrectedPlace
    lost: tuple[str, ...] = ()


def carry_over(unit: CorrectedPlace, there: CorrectedPlace, form: Form, older: Form | None) -> Carried:
    """Returns a place as the version of this form can hold it; `there` is what a run made of the place.

    `older` is the version that the person saw, None if it is lost: then all that the person did not say counts as new.
    A place that the version has no value for stays as it is, and the schema refuses it.
    """
    node = node_at(form, unit.pointer)
    if node is None or unit.text is None:
        return Carried(unit)
    value, made = parse(unit.text), MISSING if there.text is None else parse(there.text)
    carrier = _Carrier(unit, there)
    moved = carrier.carry(node, value, made, node_at(older, unit.pointer), (unit.pointer, unit.pointer, unit.pointer))
    if moved is _REFUSED or moved is MISSING or not isinstance(moved, (dict, list)):
        return Carried(unit)
    if json_text(moved) == json_text(value):
        return Carried(unit, tuple(carrier.lost))
    places = {pointer for pointer, _ in scalars(moved, unit.pointer)}
    kept = [leaf for leaf in unit.leaves if leaf.pointer in places or _is_absence(leaf, moved, unit.pointer)]
    leaves = {leaf.pointer: leaf for leaf in (*kept, *carrier.leaves)}
    # Nobody knows a value that neither the person nor the run gave.
    leaves = {place: LeafRow(place, "null", 0.0, "known") for place in carrier.empty} | leaves
    rows, lists = ({**fixed, **own} for fixed, own in ((unit.rows, carrier.rows), (unit.lists, carrier.lists)))
    here = replace(
        unit,
        text=json_text(moved),
        leaves=tuple(leaves.values()),
        rows={one: sure for one, sure in rows.items() if _has(moved, one, unit.pointer)},
        lists={one: sure for one, sure in lists.items() if _has(moved, one, unit.pointer)},
    )
    return Carried(here, tuple(carrier.lost))


def lost_places(unit: CorrectedPlace, form: Form) -> tuple[str, ...]:
    """Returns the pointers of a person's values that the version of this form cannot hold.

    That a value is not in the document is lost with its whole place only.
    """
    node, value = node_at(form, unit.pointer), MISSING if unit.text is None else parse(unit.text)
    if value is MISSING or value is None:
        return (unit.pointer,) if node is None else ()
    carrier = _Carrier(unit, unit)
    kept = _REFUSED if node is None else carrier.carry(node, value, MISSING, None, (unit.pointer,) * 3)
    return (unit.pointer,) if kept is _REFUSED else tuple(carrier.lost)


def node_at(form: Form | None, pointer: str) -> Node | None:
    """Returns the node of a place outside of lists, None if the form has none."""
    node: Node | None = None if form is None else form.root
    for step in pointer.split("/")[1:]:
        node = property_of(node, unescape(step))
    return node


def _has(value: Any, place: str, pointer: str) -> bool:
    return value_at(value, place.removeprefix(pointer)) is not MISSING


def _is_absence(leaf: LeafRow, value: Any, pointer: str) -> bool:
    # A leaf of a property that is left out belongs to the object around it.
    around = leaf.pointer.rpartition("/")[0]
    return leaf.value is None and isinstance(value_at(value, around.removeprefix(pointer)), dict)


#: Pointers of one value: in the carried place, in the place as the person fixed it, and in what the run made.
_Pointers = tuple[str, str, str]


@dataclass(slots=True)
class _Carrier:
    """One walk; `leaves` are those of values that the run gave, `empty` the places that have no value from anybody."""

    unit: CorrectedPlace
    there: CorrectedPlace
    leaves: list[LeafRow] = field(default_factory=list)
    rows: dict[str, float] = field(default_factory=dict)
    lists: dict[str, float] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def carry(self, node: Node, value: Any, made: Any, old: Node | None, places: _Pointers) -> Any:
        """Returns the value as this node holds it, _REFUSED if it cannot."""
        if isinstance(node, ChoiceNode):
            if branch_of(node, value) is not None:
                return value
            kind = ObjectNode if isinstance(value, dict) else ArrayNode if isinstance(value, list) else Slot
            node = next((one for one in node.branches if isinstance(one, kind)), node)
        if isinstance(node, ObjectNode) and isinstance(value, dict):
            return self._object(node, value, made, old, places)
        if isinstance(node, ArrayNode) and isinstance(value, list):
            return self._array(node, value, made, old, places)
        if isinstance(node, Slot) and not isinstance(value, (dict, list)):
            return value if node.accepts(scalar_text(value).encode()) else _REFUSED
        return value if value is None and node.nullable else _REFUSED

    def _object(
        self, node: ObjectNode, value: Mapping[str, Any], made: Any, old: Node | None, places: _Pointers
    ) -> Any:
        parts: dict[str, Any] = {}
        for place in node.properties:
            name, own = place.name, _below(places, place.name)
            part = made.get(name, MISSING) if isinstance(made, dict) else MISSING
            known = property_of(old, name)
            if name in value:
                held = self.carry(place.node, value[name], part, known, own)
                if held is not _REFUSED:
                    parts[name] = held
                    continue
                self._lose(value[name], own)
            elif known is not None and not place.required:
                continue  # the person's record leaves it out
            self._give(parts, name, place.node, part, place.required, own)
        declared = {place.name for place in node.properties}
        for name, part in value.items():
            if name not in declared and group_of(node, name, part) is not None:
                parts[name] = part
            elif name not in declared:
                self._lose(part, _below(places, name))
        return parts

    def _give(
        self, parts: dict[str, Any], name: str, node: Node, part: Any, required: bool, places: _Pointers
    ) -> None:
        """Puts in what the run made of a property that the person said nothing of, else null where one must be."""
        if part is not MISSING:
            parts[name] = part
            own, _, from_run = places

            def move(pointer: str) -> str:
                return own + pointer.removeprefix(from_run)

            there = self.there
            mine = (leaf for leaf in there.leaves if lies_within(leaf.pointer, from_run))
            self.leaves += [replace(leaf, pointer=move(leaf.pointer)) for leaf in mine]
            self.rows |= {move(one): sure for one, sure in there.rows.items() if lies_within(one, from_run)}
            self.lists |= {move(one): sure for one, sure in there.lists.items() if lies_within(one, from_run)}
        elif required and node.nullable:
            parts[name] = None
            self.empty.append(places[0])

    def _array(self, node: ArrayNode, value: list[Any], made: Any, old: Node | None, places: _Pointers) -> Any:
        rows = made if isinstance(made, list) else []
        own = old if isinstance(old, ArrayNode) else None
        same, first = match_items(value, rows), len(node.prefix)
        moved = []
        for number, item in enumerate(value):
            part = node.prefix[number] if number < first else node.item
            if part is None:
                return _REFUSED
            of = None if own is None else own.prefix[number] if number < len(own.prefix) else own.item
            other = same.get(number)
            inner = tuple(f"{place}/{step}" for place, step in zip(places, (number, number, other), strict=True))
            row = self.carry(part, item, MISSING if other is None else rows[other], of, (inner[0], inner[1], inner[2]))
            if row is _REFUSED:
                return _REFUSED
            moved.append(row)
        return moved

    def _lose(self, value: Any, places: _Pointers) -> None:
        # Nothing that a person said is lost with a value that is not there, or that nobody looked at.
        human = {leaf.pointer for leaf in self.unit.leaves if leaf.origin == HUMAN}
        self.lost += [pointer for pointer, text in scalars(value, places[1]) if text != "null" and pointer in human]


def _below(places: _Pointers, name: str) -> _Pointers:
    own, fixed, made = (f"{place}/{escape(name)}" for place in places)
    return own, fixed, made


def match_items(items: Sequence[Any], others: Sequence[Any]) -> dict[int, int]:
    """Returns the items of one list that are those of another, by index, each at most once.

    Two items belong together by the values that they share, rare ones most; among equals the nearest ones do.
    """
    having: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, item in enumerate(others):
        for cell in _cells(item):
            having[cell].append(number)
    score: dict[tuple[int, int], float] = defaultdict(float)
    for number, item in enumerate(items):
        for cell in _cells(item):
            rows = having.get(cell, ())
            for other in rows if len(rows) <= SHARED_VALUE else ():
                score[number, other] += 1 / len(rows)
    partners: dict[int, int] = {}
    taken: set[int] = set()
    for one, other in sorted(score, key=lambda pair: (-score[pair], abs(pair[0] - pair[1]), pair)):
        if one not in partners and other not in taken:
            partners[one] = other
            taken.add(other)
    return partners


def _cells(item: Any) -> Iterator[tuple[str, str]]:
    return ((pointer, text) for pointer, text in scalars(item, "") if text != "null")


def check_corrections_kept(store: Store, source: SchemaSource, compiled: CompiledSchema) -> None:
    """Raises UsageError, with the places, if corrections in force have values that this schema cannot hold.

    A version that has records in the folder was let in before.
    """
    if any(entry.schema_fingerprint == source.fingerprint and entry.records for entry in store.commits()):
        return
    rows, lost = correction_rows(store.out, store.commits()), Counter[str]()
    made = [in_force(rows.of(pair)) for pair in rows.pairs if pair[1] == source.name]
    versions = {one.schema_fingerprint for own in made for one in own}
    renames = {older: renames_since(store.out, source.name, older, compiled) for older in versions}
    for own in made:
        for unit in counting_units([renamed_correction(one, renames[one.schema_fingerprint]) for one in own]):
            lost.update({_template(pointer) for pointer in lost_places(unit, compiled.form)})
    if lost:
        places = ", ".join(f"{place or '/'} ({count})" for place, count in lost.most_common(8))
        raise UsageError(
            f"{source.name}: this version of the schema has no place for values that people corrected: {places};"
            f' name the old property with "{WAS}" in the one that takes its place, keep the type, or give up these'
            " corrections with --drop-corrections"
        )


def _template(pointer: str) -> str:
    return "/".join("*" if step.isdecimal() else step for step in pointer.split("/"))
