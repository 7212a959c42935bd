"""The surer of two readings of a document, place by place: values one by one, lists and alternatives as a whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from cinnabar.engine.request import Filled, Leaf
from cinnabar.schemas.automata.canonical import parse
from cinnabar.schemas.form.fitting import accept
from cinnabar.schemas.form.form import ArrayNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import escape, lies_within

_T = TypeVar("_T")
#: The most confidence that comes of two readings that agree.
AGREED = 0.98
#: The origins of values that no model read.
_TOLD = {"known", "fact", "default", "minimal"}
#: Marks a property that is left out.
_OUT = object()


def prefer_confident_record(
    form: Form,
    one: Filled,
    other: Filled,
    kept: Collection[str] = (),
    preferred: Mapping[str, bool] | None = None,
    weight: float = 1.0,
) -> Filled:
    """Returns the record of the surer values and lists of two readings of a document; those of the first if equal.

    weight: of the first one's confidences in single values, where the two differ.

    What lies at the places that are `kept`, and what is taken as a whole with them, is the first one's. Where both have
    found a value of a `preferred` place, that of the second one counts (True) or of the first one, however sure it is.

    Their confidences must mean the same: the share of right values. A value that the schema demands and nobody found
    counts less than any that was found. If the schema does not allow the values together, the record is that of the
    reading that is surer on the whole.
    """
    chosen = _Chosen(one, other, kept, preferred or {}, weight)
    record = accept(form, chosen.place(form.root, parse(one.record), parse(other.record), ""))
    if record is None and kept:
        return one
    if record is None:
        return max(one, other, key=lambda filled: _mean(list(filled.leaves.values())))
    return replace(other, record=record, leaves=chosen.leaves, rows=chosen.rows, lists=chosen.lists)


@dataclass(slots=True)
class _Chosen:
    """What was chosen so far of two readings."""

    one: Filled
    other: Filled
    kept: Collection[str] = ()
    preferred: Mapping[str, bool] = field(default_factory=dict)
    weight: float = 1.0
    leaves: dict[str, Leaf] = field(default_factory=dict)
    rows: dict[str, tuple[int, float]] = field(default_factory=dict)
    lists: dict[str, float] = field(default_factory=dict)

    def place(self, node: Node, mine: Any, theirs: Any, pointer: str) -> Any:
        """Returns the value of a place, and takes what its reading says of it."""
        both = isinstance(mine, Mapping) and isinstance(theirs, Mapping)
        if both and isinstance(node, ObjectNode) and not node.rest:
            made: dict[str, Any] = {}
            for part in node.properties:
                below = f"{pointer}/{escape(part.name)}"
                value = self.place(part.node, mine.get(part.name, _OUT), theirs.get(part.name, _OUT), below)
                if value is not _OUT:
                    made[part.name] = value
            return made
        holds = any(lies_within(at, pointer) for at in self.kept)
        first = holds or self._first_is_surer(node, pointer)
        self._take(self.one if first else self.other, pointer)
        if not holds and isinstance(node, Slot):
            self._agree(pointer)
        return mine if first else theirs

    def _agree(self, pointer: str) -> None:
        """Makes a value surer that both readings have: each of them alone may be wrong."""
        mine, theirs = self.one.leaves.get(pointer), self.other.leaves.get(pointer)
        if mine is None or theirs is None or mine.text != theirs.text or {mine.origin, theirs.origin} & _TOLD:
            return
        doubt = (1 - mine.confidence) * (1 - theirs.confidence)
        sure = round(min(1 - doubt, max(AGREED, mine.confidence, theirs.confidence)), 4)
        self.leaves[pointer] = replace(self.leaves[pointer], confidence=sure)

    def _first_is_surer(self, node: Node, pointer: str) -> bool:
        if isinstance(node, Slot) and pointer in self.one.leaves and pointer in self.other.leaves:
            mine, theirs = self.one.leaves[pointer], self.other.leaves[pointer]
            if pointer in self.preferred and not (mine.missing or theirs.missing):
                return not self.preferred[pointer]
            weight = 1.0 if mine.text == theirs.text else self.weight
            return (not mine.missing, weight * mine.confidence) >= (not theirs.missing, theirs.confidence)
        if isinstance(node, ArrayNode) and pointer in self.one.lists and pointer in self.other.lists:
            return self.one.lists[pointer] >= self.other.lists[pointer]
        of_mine, of_theirs = ([*_below(filled.leaves, pointer).values()] for filled in (self.one, self.other))
        return not of_theirs or (bool(of_mine) and _mean(of_mine) >= _mean(of_theirs))

    def _take(self, filled: Filled, pointer: str) -> None:
        self.leaves |= _below(filled.leaves, pointer)
        self.rows |= _below(filled.rows, pointer)
        self.lists |= _below(filled.lists, pointer)


def _below(places: Mapping[str, _T], pointer: str) -> dict[str, _T]:
    """Returns what lies at a place or below it."""
    return {at: own for at, own in places.items() if lies_within(at, pointer)}


def _mean(leaves: list[Leaf]) -> float:
    return sum(leaf.confidence for leaf in leaves) / len(leaves) if leaves else 0.0
