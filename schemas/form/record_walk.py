"""A walk over a record along its form: the slots with their values, and the rows of arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from cinnabar.schemas.form.fitting import branch_of, group_of
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import escape


@dataclass(frozen=True, slots=True)
class RecordLeaf:
    """A slot's place in a record; `value` is None if the record has no value there.

    `row` is the number of the row around it, -1 outside of any. For the selector of a choice the value is the name of
    the branch, for the key of an open property the name; both have the pointer of their value.
    """

    slot: Slot
    value: Any
    pointer: str
    row: int


@dataclass(frozen=True, slots=True)
class RecordRow:
    """An item of an array, or an open property of an object; rows are numbered as they come.

    `parent` is the number of the row around it, -1 outside of any.
    """

    array: ArrayNode
    number: int
    parent: int
    pointer: str


@dataclass(frozen=True, slots=True)
class RecordList:
    """A list of a record, or the open properties of an object: its array, its pointer, and the pointers of its rows.

    `parent` is the pointer of the row around it, None outside of any. Items with places of their own (`prefix`) are no
    rows. A list below the last level of a recursive schema has an array without items.
    """

    array: ArrayNode
    pointer: str
    rows: tuple[str, ...]
    parent: str | None


def walk_lists(form: Form, value: Any) -> Iterator[RecordList]:
    """The lists of a record, parsed JSON, empty ones too, in the order of the form; a list before those in its rows.

    A place that holds null, or nothing, instead of a list is none.
    """
    return (part for part in _walk(form, value) if isinstance(part, RecordList))


def walk_record(form: Form, value: Any) -> Iterator[RecordLeaf | RecordRow]:
    """The rows and leaves of a record, parsed JSON, in the order of the form; a row comes before its contents.

    A slot comes even if the record has no value for it, except in branches of a choice that are not taken.
    """
    return (part for part in _walk(form, value) if not isinstance(part, RecordList))


def _walk(form: Form, value: Any) -> Iterator[RecordLeaf | RecordRow | RecordList]:
    numbers = count()

    def visit(
        node: Node, value: Any, pointer: str, row: RecordRow | None
    ) -> Iterator[RecordLeaf | RecordRow | RecordList]:
        around = -1 if row is None else row.number
        if isinstance(node, Slot):
            yield RecordLeaf(node, value, pointer, around)
        for token, part, below in record_parts(node, value):
            yield from visit(part, below, pointer if token is None else f"{pointer}/{escape(token)}", row)
        if not isinstance(node, ArrayNode):
            return
        rows = [(f"{pointer}/{escape(token)}", parts) for token, parts in record_rows(node, value)]
        if isinstance(value, list | Mapping) and (node.item is not None or not node.prefix):
            yield RecordList(node, pointer, tuple(at for at, _ in rows), None if row is None else row.pointer)
        for at, parts in rows:
            yield (one := RecordRow(node, next(numbers), around, at))
            for part, below in parts:
                yield from visit(part, below, at, one)

    return visit(form.root, value, "", None)


def record_parts(node: Node, value: Any) -> Iterator[tuple[str | None, Node, Any]]:
    """The nodes below this one that are not in rows, each with its pointer token and its value.

    For a choice these are the selector and the branch that holds the value, both with None as token.
    """
    if isinstance(node, ObjectNode):
        known = value if isinstance(value, Mapping) else {}
        yield from ((place.name, place.node, known.get(place.name)) for place in node.properties)
        declared = {place.name for place in node.properties}
        held = {name: group_of(node, name, part) for name, part in known.items() if name not in declared}
        for rest in node.rest:
            named = {name: known[name] for name, group in held.items() if group is rest}
            yield None, rest, named if isinstance(value, Mapping) else None
    elif isinstance(node, ArrayNode):
        items = value if isinstance(value, list) else []
        for at, part in enumerate(node.prefix):
            yield str(at), part, items[at] if at < len(items) else None
    elif isinstance(node, ChoiceNode):
        branch = None if value is None else branch_of(node, value)
        yield None, node.selector, None if branch is None else json.loads(node.selector.options[branch])
        if branch is not None:
            yield None, node.branches[branch], value


def record_rows(node: ArrayNode, value: Any) -> Iterator[tuple[str, list[tuple[Node, Any]]]]:
    """For each row of an array its pointer token and its item, preceded by the name of an open property."""
    if node.item is None:
        return
    if node.key is not None:
        for name, item in value.items() if isinstance(value, Mapping) else ():
            yield name, [(node.key, name), (node.item, item)]
    elif isinstance(value, list):
        for at, item in enumerate(value[len(node.prefix) :], len(node.prefix)):
            yield str(at), [(node.item, item)]
