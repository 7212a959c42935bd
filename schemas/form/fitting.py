"""Fitting of a record into a form: its canonical text.

A walk over a record along its form: the slots with their values, and the rows of arrays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from cinnabar.errors import NotAccepted
from cinnabar.schemas.automata.strings import parse, scalar_text
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import escape


def fit(form: Form, value: Any) -> str:
    """The canonical text of `value`, parsed JSON, in this form: properties in its order, one spelling of each value.

    If several branches of a choice hold a value, the first of them takes it. Raises NotAccepted with the place of a
    value if the form has no place for it.
    """
    return _text(form.root, value, "")


def accept(form: Form, value: Any) -> str | None:
    """The canonical record of a value, parsed JSON in any spelling; None if form or schema do not allow it."""
    try:
        text = fit(form, value)
    except (NotAccepted, ValueError):
        return None
    return text if form.judge is None or form.judge.accepts(parse(text)) else None


def branch_of(choice: ChoiceNode, value: Any) -> int | None:
    """The first branch of a choice that holds this value; None if no branch does."""
    return next((at for at, branch in enumerate(choice.branches) if _holds(branch, value)), None)


def group_of(node: ObjectNode, name: str, value: Any) -> ArrayNode | None:
    """The group of open properties of an object that this property belongs to: the first one that holds it.

    If none holds the value, the first group that allows the name; None if no group allows it.
    """
    named = [rest for rest in node.rest if rest.key is not None and _accepts(rest.key, name)]
    return next((rest for rest in named if rest.item is not None and _holds(rest.item, value)), None) or next(
        iter(named), None
    )


def _accepts(key: Slot, name: str) -> bool:
    try:
        return key.accepts(scalar_text(name).encode())
    except ValueError:
        return False


def _misfit(pointer: str, expected: str, got: str) -> NotAccepted:
    return NotAccepted(pointer, f"expected {expected}, got {got[:80]}")


def _holds(node: Node, value: Any) -> bool:
    try:
        _text(node, value, "")
    except NotAccepted:
        return False
    return True


def _text(node: Node, value: Any, pointer: str) -> str:
    """The canonical text of the value in the place of this node."""
    if value is None and node.nullable and not isinstance(node, Slot):
        return "null"
    if isinstance(node, ObjectNode):
        return _object(node, value, pointer)
    if isinstance(node, ArrayNode):
        return _array(node, value, pointer)
    if isinstance(node, ChoiceNode):
        return _choice(node, value, pointer)
    if isinstance(value, (dict, list, tuple)):
        raise _misfit(pointer, _one(node.kind), repr(value))
    try:
        text = scalar_text(value)
    except ValueError as problem:
        raise _misfit(pointer, str(problem), repr(value)) from None
    if not node.accepts(text.encode()):
        raise _misfit(pointer, f"{_one(node.format or node.kind)} that the schema allows", text)
    return text


def _choice(node: ChoiceNode, value: Any, pointer: str) -> str:
    nearest: NotAccepted | None = None
    for branch in node.branches:
        try:
            return _text(branch, value, pointer)
        except NotAccepted as problem:
            # The branch in which the value gets furthest is the one that was meant.
            if nearest is None or problem.pointer.count("/") > nearest.pointer.count("/"):
                nearest = problem
    assert nearest is not None, "a choice has branches"
    raise nearest


def _array(node: ArrayNode, value: Any, pointer: str) -> str:
    if not isinstance(value, (list, tuple)):
        raise _misfit(pointer, "an array", repr(value))
    fixed = len(node.prefix)
    most = node.max_items
    if node.item is None:
        most = fixed if most is None else min(most, fixed)
    if len(value) < node.min_items or (most is not None and len(value) > most):
        wanted = f"{node.min_items} to {'more' if most is None else most} items"
        raise _misfit(pointer, wanted, f"{len(value)} items")
    parts = []
    for at, one in enumerate(value):
        part = node.prefix[at] if at < fixed else node.item
        assert part is not None
        parts.append(_text(part, one, f"{pointer}/{at}"))
    return "[" + ",".join(parts) + "]"


def _object(node: ObjectNode, value: Any, pointer: str) -> str:
    if not isinstance(value, Mapping):
        raise _misfit(pointer, "an object", repr(value))
    parts, declared = [], set()
    for place in node.properties:
        declared.add(place.name)
        below = f"{pointer}/{escape(place.name)}"
        if place.name in value:
            parts.append(f"{scalar_text(place.name)}:{_text(place.node, value[place.name], below)}")
        elif place.required:
            raise _misfit(below, "a value, because it is required", "none")
    groups: dict[int, list[str]] = {rest.index: [] for rest in node.rest}
    for name in value:
        if name in declared:
            continue
        held = group_of(node, name, value[name])
        if held is None:
            raise _misfit(f"{pointer}/{escape(name)}", "no undeclared property", repr(value[name]))
        groups[held.index].append(name)
    for rest in node.rest:
        assert rest.key is not None and rest.item is not None
        names = groups[rest.index]
        if len(names) < rest.min_items or (rest.max_items is not None and len(names) > rest.max_items):
            wanted = "as many properties as the schema allows"
            raise _misfit(pointer, wanted, f"{len(value)} properties")
        for name in names:
            below = f"{pointer}/{escape(name)}"
            parts.append(f"{_text(rest.key, name, below)}:{_text(rest.item, value[name], below)}")
    return "{" + ",".join(parts) + "}"


def _one(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


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
