"""A record taken apart: what was found in it and in each of its rows, by the slots and arrays of its form."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cinnabar.engine.models.reader.calibration import NONE
from cinnabar.engine.request import Filled, Leaf
from cinnabar.schemas.canonical import parse, scalar_text
from cinnabar.schemas.form.fitting import branch_of, group_of
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import escape

Spans = dict[int, list[tuple[int, int]]]


@dataclass(slots=True)
class RecordPart:
    """What was found in the record, or in one row but for rows within it: leaves by slot, rows by array."""

    leaves: dict[int, Leaf] = field(default_factory=dict)
    rows: dict[int, list[FoundRow]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class FoundRow:
    """A row: its anchor in characters of the document, and what was found in it."""

    anchor: int
    probability: float
    part: RecordPart


def part_of(form: Form, filled: Filled) -> RecordPart:
    """A record taken apart; fillers, which have no anchor, are not among its rows."""
    pointers = sorted(filled.leaves)

    def within(pointer: str) -> list[Leaf]:
        # What begins with "/item/" stands between that and "/item0", "0" being the next character. A look at
        # all leaves for each choice took 3.8 seconds for 5,000 rows with one each, this takes 0.2.
        inner = pointers[bisect_left(pointers, f"{pointer}/") : bisect_left(pointers, f"{pointer}0")]
        return [filled.leaves[at] for at in (pointer, *inner) if at in filled.leaves]

    def visit(node: Node, value: Any, pointer: str, part: RecordPart) -> None:
        if isinstance(node, Slot):
            if pointer in filled.leaves:
                part.leaves[node.index] = filled.leaves[pointer]
        elif isinstance(node, ObjectNode):
            known = value if isinstance(value, Mapping) else {}
            for member in node.properties:
                visit(member.node, known.get(member.name), f"{pointer}/{escape(member.name)}", part)
            declared = {member.name for member in node.properties}
            for name in known.keys() - declared:
                rest = group_of(node, name, known[name])
                if rest is not None:
                    row(rest, known[name], f"{pointer}/{escape(name)}", part, name)
        elif isinstance(node, ChoiceNode):
            branch = None if value is None else branch_of(node, value)
            if branch is not None:
                sure = max((x.confidence for x in within(pointer) if rank(x) == 2), default=0.0)
                part.leaves[node.selector.index] = Leaf(node.selector.options[branch], sure, origin="chosen")
                visit(node.branches[branch], value, pointer, part)
        else:
            items = value if isinstance(value, list) else []
            for at, (place, item) in enumerate(zip(node.prefix, items, strict=False)):
                visit(place, item, f"{pointer}/{at}", part)
            for at, item in enumerate(items[len(node.prefix) :], len(node.prefix)):
                row(node, item, f"{pointer}/{at}", part, None)

    def row(node: ArrayNode, value: Any, pointer: str, part: RecordPart, name: str | None) -> None:
        place = filled.rows.get(pointer)
        if place is None or node.item is None:
            return
        found = FoundRow(*place, RecordPart())
        part.rows[node.index].append(found)
        if node.key is not None and name is not None:
            found.part.leaves[node.key.index] = Leaf(scalar_text(name), place[1])
        visit(node.item, value, pointer, found.part)

    whole = RecordPart()
    visit(form.root, parse(filled.record), "", whole)
    return whole


def joined_leaves(one: RecordPart, other: RecordPart) -> dict[int, Leaf]:
    """The leaves of two parts that are about the same thing: of each slot the one that counts."""
    leaves = dict(one.leaves)
    for slot, leaf in other.leaves.items():
        leaves[slot] = surer(leaves[slot], leaf) if slot in leaves else leaf
    return leaves


def surer(one: Leaf, other: Leaf) -> Leaf:
    """Of two leaves of one place the one that counts; the earlier one where they are equal."""
    mine, theirs = rank(one), rank(other)
    if mine != theirs:
        return one if mine > theirs else other
    if mine == 2 and {one.text, other.text} <= {"true", "false"}:
        return one if _yes(one) >= _yes(other) else other
    if mine:
        return one if _odds(one) >= _odds(other) else other
    return one if one.confidence <= other.confidence else other


def _yes(leaf: Leaf) -> float:
    """How sure an answer is of a yes: a no counts against it."""
    return leaf.confidence if leaf.text == "true" else -leaf.confidence


def _odds(leaf: Leaf) -> float:
    """How much likelier the value is than there being none; probabilities are known to four places."""
    return leaf.confidence / (leaf.absence + 1e-4)


def rank(leaf: Leaf) -> int:
    """2 for a value, 1 for a guess where one is demanded, 0 for none, or for what is given for none."""
    return 1 if leaf.missing else 0 if leaf.origin in NONE else 2


def spans_of(part: RecordPart) -> Spans:
    """Where the values of a row, and of rows within it, were read, by slot."""
    found: Spans = defaultdict(list)
    for slot, leaf in part.leaves.items():
        found[slot] += leaf.spans if rank(leaf) == 2 else ()
    for row in (row for rows in part.rows.values() for row in rows):
        for slot, spans in spans_of(row.part).items():
            found[slot] += spans
    return found


def shared(one: Spans, other: Spans) -> float:
    """The share of values read at the same places, of the row that has fewer."""
    least = min(sum(map(len, one.values())), sum(map(len, other.values())))
    hits = sum(
        any(a < d and c < b for c, d in other.get(slot, ())) for slot, own in one.items() for a, b in own
    )
    return hits / least if least else 0.0
