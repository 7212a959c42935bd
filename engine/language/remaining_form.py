"""The rest of a form without its frozen places, and the frozen values put back into its record.

A language model writes a record from left to right, and every value costs it passes. So it is asked for the record of a
smaller form without the frozen places. Documents with the same open fields share one graph, whatever their frozen
values are. Afterwards the frozen values join the answer, byte for byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cinnabar.engine.fill.layout import known_branch
from cinnabar.engine.fill.writing import minimal
from cinnabar.engine.request import Request
from cinnabar.schemas.automata.strings import scalar_value
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Property, Slot, walk
from cinnabar.schemas.pointers import MISSING, above, escape, items_named


class Remaining:
    """The rest of a request's form, which is left to fill.

    `form` is the form without the frozen places, the request's own one if nothing is frozen, None if nothing is left.
    Its slots and arrays keep their numbers, and its places their pointers, except that an item with nothing to ask is
    an empty object. A list with frozen items has as many items as are frozen.
    """

    def __init__(self, request: Request) -> None:
        self._whole, self._known, self._counted = request.form, request.known, request.counted
        # How many known values, and places that are asked elsewhere, lie at or below each place.
        self._above = Counter(place for pointer in request.known for place in above(pointer))
        self._elsewhere = request.elsewhere - self._above.keys()
        self._above.update(place for pointer in self._elsewhere for place in above(pointer))
        there = (pointer for pointer, text in request.known.items() if text is not None)
        self._there = {place for pointer in there for place in above(pointer)}
        self.form: Form | None = request.form
        if request.known or request.counted or self._elsewhere:
            root = self._node(request.form.root, "")
            self.form = None if root is None else replace(request.form, root=root, judge=None, instance="")

    def add_frozen(self, value: Any) -> Any:
        """Returns the record of this value of the remaining form, parsed, with the frozen values.

        A demanded place that nobody asks for, such as a list with no frozen item, has its smallest value.
        """
        if self.form is self._whole:
            return value
        root = self._whole.root
        # If nothing is asked, there is no value, and the record is an object all the same.
        there = value is not None or root.nullable or not isinstance(root, ObjectNode)
        joined = self._join(root, value if there else {}, "")
        return None if joined is MISSING else joined

    def _node(self, node: Node, pointer: str) -> Node | None:
        """Returns the part of a node that is left to fill, None if there is none."""
        if pointer in self._elsewhere:
            return None
        if isinstance(node, Slot):
            return None if pointer in self._known else node
        frozen = pointer in self._above
        if not frozen and not self._counts(node):
            return node
        if isinstance(node, ObjectNode):
            return self._object(node, pointer)
        if isinstance(node, ChoiceNode):
            return None  # either all of a choice's values are frozen, or it holds lists that nobody asks for
        return self._array(node, pointer) if frozen else None

    def _counts(self, node: Node) -> bool:
        """Returns whether a list within this node has counted rows."""
        return bool(self._counted) and any(
            isinstance(part, ArrayNode) and part.index in self._counted for part in walk(node)
        )

    def _object(self, node: ObjectNode, pointer: str) -> ObjectNode | None:
        properties = []
        for place in node.properties:
            below = f"{pointer}/{escape(place.name)}"
            part = self._node(place.node, below)
            if part is not None:
                properties.append(Property(place.name, part, place.required or below in self._there))
        rest = tuple(part for part in node.rest if part.index not in self._counted)
        if not properties and not rest:
            return None
        nullable = node.nullable and pointer not in self._there
        # What is asked of its members counts those that are frozen, too; the judge sees the whole record.
        return replace(node, properties=tuple(properties), rest=rest, nullable=nullable, least=0, most=None, demands=())

    def _array(self, node: ArrayNode, pointer: str) -> ArrayNode | None:
        parts = [self._node(part, f"{pointer}/{at}") for at, part in enumerate(self._items(node, pointer))]
        if not any(part is not None for part in parts):
            return None
        empty = ObjectNode(-1, f"{node.path}/*", ())
        items = [empty if part is None else part for part in parts]
        fixed = replace(
            node, nullable=False, unique=False, contained=None, min_contained=0, prefix=(),
            min_items=len(items), max_items=len(items),
        )  # fmt: skip
        if all(item == items[0] for item in items):
            return replace(fixed, item=items[0])
        return replace(fixed, item=None, prefix=tuple(items))

    def _items(self, node: ArrayNode, pointer: str) -> list[Node]:
        """Returns the nodes of the items that are frozen, at least in part."""
        size = items_named(pointer, self._above)
        parts = [node.prefix[at] if at < len(node.prefix) else node.item for at in range(size)]
        return [part for part in parts if part is not None]

    def _join(self, node: Node, value: Any, pointer: str) -> Any:
        if pointer in self._elsewhere:
            return MISSING
        frozen = pointer in self._above
        if not frozen and not self._counts(node):
            return value
        if isinstance(node, Slot):
            text = self._known[pointer]
            return MISSING if text is None else scalar_value(text)
        if isinstance(node, ChoiceNode):
            branch = known_branch(node, pointer, self._known, self._above)
            return MISSING if branch is None else self._join(node.branches[branch], MISSING, pointer)
        if isinstance(node, ArrayNode):
            if not frozen:
                return MISSING
            asked = value if isinstance(value, list) else []
            parts = enumerate(self._items(node, pointer))
            items = (
                self._join(part, asked[at] if at < len(asked) else MISSING, f"{pointer}/{at}") for at, part in parts
            )
            return [{} if item is MISSING else item for item in items]
        if not isinstance(value, Mapping) and pointer not in self._there:
            return value
        members = value if isinstance(value, Mapping) else {}
        members_filled: dict[str, Any] = {}
        for place in node.properties:
            part = self._join(place.node, members.get(place.name, MISSING), f"{pointer}/{escape(place.name)}")
            if part is not MISSING or place.required:
                members_filled[place.name] = minimal(place.node) if part is MISSING else part
        return members_filled | {name: part for name, part in members.items() if name not in members_filled}
