"""Values that are given beside what a model reads: their order, and their way into a request and into a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, NamedTuple

from cinnabar.engine.request import Filled, Leaf
from cinnabar.schemas.automata.strings import copied, scalar_value
from cinnabar.schemas.form.fitting import accept, arrange
from cinnabar.schemas.form.form import ArrayNode, Form, Node, Slot, walk
from cinnabar.schemas.pointers import MISSING, above, outside, put_value, value_at

Giver = Literal["beside", "sure", "box", "constant", "fact", "stored"]
#: Who gives values. Of two for one place that of the later giver here counts, and of one giver's the later value.
GIVERS: tuple[Giver, ...] = ("beside", "sure", "box", "constant", "fact", "stored")
#: Those of whose values a request tells; the record of its answer has them.
TOLD: frozenset[Giver] = frozenset(("sure", "fact", "stored"))
#: Those whose values give way where the schema refuses them.
YIELDING: frozenset[Giver] = frozenset(("beside", "box"))
_NOTHING = (None, "null")


@dataclass(frozen=True, slots=True)
class Given:
    """A value for one place of a record: a scalar, or a whole list.

    `node` is the place of the form. `value` is parsed JSON, MISSING if the record leaves it out. `leaves` has the
    scalar or the cells of the list, each with its own text, spans and origin. `rows` and `lists` are those of a list,
    or those around a scalar in one, as in a filled form.
    """

    pointer: str
    node: Node
    giver: Giver
    value: Any
    leaves: Mapping[str, Leaf]
    rows: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    lists: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def scalar(cls, pointer: str, slot: Slot, giver: Giver, leaf: Leaf) -> Given:
        """Returns a scalar with this leaf."""
        return cls(pointer, slot, giver, _value_of(leaf), {pointer: leaf})

    @property
    def rank(self) -> int:
        """Returns the place of its giver among all."""
        return GIVERS.index(self.giver)


class KnownToModel(NamedTuple):
    """What a request tells of given values: its `known`, `counted` and `rows`."""

    known: dict[str, str | None]
    counted: frozenset[int]
    rows: tuple[tuple[int, int], ...]


def gather(*given: Iterable[Given]) -> tuple[Given, ...]:
    """Returns values in their order, without those of places for which a later giver has one."""
    every = [*chain(*given)]
    highest: dict[str, int] = {}
    for one in every:
        highest[one.pointer] = max(one.rank, highest.get(one.pointer, -1))
    return tuple(one for one in every if all(highest.get(at, -1) <= one.rank for at in above(one.pointer)))


def given_by(giver: Giver, given: Iterable[Given]) -> tuple[Given, ...]:
    """Returns the values of one giver."""
    return tuple(one for one in given if one.giver == giver)


def known_to_model(given: Iterable[Given]) -> KnownToModel:
    """Returns what a request tells of these values, so that a model reads what is left beside them."""
    known, counted = dict[str, str | None](), set[int]()
    rows: list[tuple[int, int]] = []
    for one in (one for one in given if one.giver in TOLD):
        known |= {at: leaf.text for at, leaf in one.leaves.items()}
        counted |= {part.index for part in walk(one.node) if isinstance(part, ArrayNode)}
        if isinstance(one.node, ArrayNode):
            rows += [(one.node.index, begin) for begin, _ in one.rows.values()]
    return KnownToModel(known, frozenset(counted), tuple(rows))


def put(form: Form, filled: Filled, given: Sequence[Given]) -> Filled:
    """Returns a filled form with these values; facts and lists stand behind what was read.

    A scalar is put where the form has a leaf, and a value that yields where the schema allows it. Raises NotAccepted if
    the form has no place for another value.
    """
    yielding = [one for one in given if one.giver in YIELDING]
    filled = _put(form, filled, [one for one in given if one.giver not in YIELDING], arrange) or filled
    whole = _put(form, filled, yielding, accept)
    if whole is not None:
        return whole
    # What is given for one place may be against the schema; the others keep theirs.
    for one in yielding:
        filled = _put(form, filled, [one], accept) or filled
    return filled


def _put(form: Form, filled: Filled, given: Sequence[Given], place: Callable[[Form, Any], Any]) -> Filled | None:
    """Returns a filled form with these values; None if there is no `place` for its changed record."""
    if not given:
        return filled
    whole = {one.pointer for one in given if one.giver == "fact" or not isinstance(one.node, Slot)}
    leaves, rows = outside(filled.leaves, whole), outside(filled.rows, whole)
    lists = outside(filled.lists, whole)
    value, changed = copied(filled.value), False
    for one in given:
        part = copied(one.value)
        if isinstance(one.node, Slot):
            if one.pointer not in filled.leaves:
                continue
            own, leaf = filled.leaves[one.pointer], one.leaves[one.pointer]
            leaf = _as_told(leaf, own) if one.giver in TOLD else leaf
            leaves[one.pointer] = leaf = replace(leaf, demanded=leaf.demanded or own.demanded)
            part = _value_of(leaf)
            rows |= {at: row for at, row in one.rows.items() if at in rows}
            lists |= one.lists
        changed |= put_value(value, one.pointer, part)
        if not isinstance(one.node, Slot):
            leaves |= one.leaves
            rows |= one.rows
            lists |= one.lists if isinstance(value_at(value, one.pointer), list) else {}
    value = place(form, value) if changed else filled.value
    return None if value is MISSING else replace(filled, value=value, leaves=leaves, rows=rows, lists=lists)


def _value_of(leaf: Leaf) -> Any:
    return MISSING if leaf.text is None else scalar_value(leaf.text)


def _as_told(given: Leaf, own: Leaf) -> Leaf:
    """Returns a told leaf as the record has it: an absence is null or left out.

    The schema may demand a value all the same, in an object that has others: then that is made up.
    """
    if given.text in _NOTHING and own.text not in _NOTHING:
        return made_up(own.text, own.slot)
    return replace(given, text=own.text) if given.text in _NOTHING else given


def made_up(text: str | None, slot: int) -> Leaf:
    """Returns the leaf of a demanded value that the document does not have."""
    return Leaf(text, 0.0, (), "minimal", missing=True, slot=slot, demanded=True)


def constants_of(form: Form, filled: Filled) -> list[Given]:
    """Returns the constants of a record that are no facts: certain, never missing, and without evidence."""
    return [
        Given.scalar(
            pointer, form.slots[leaf.slot], "constant",
            replace(leaf, confidence=1.0, spans=(), origin="known", missing=False),
        )
        for pointer, leaf in filled.leaves.items()
        if leaf.slot in form.constants and leaf.text == form.slots[leaf.slot].options[0] and leaf.origin != "fact"
    ]  # fmt: skip
