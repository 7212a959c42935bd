"""Fitting of a record into a form: its value in the form's order, and its canonical text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cinnabar.errors import NotAccepted
from cinnabar.schemas.automata.strings import json_text, scalar_text, scalar_value
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import MISSING, escape


def arrange(form: Form, value: Any) -> Any:
    """A value, parsed JSON, as its canonical text is parsed: properties in the form's order, one of equal numbers.

    If several branches of a choice hold a value, the first of them takes it. Raises NotAccepted with the place of a
    value if the form has no place for it.
    """
    return _arranged(form.root, value, "")


def fit(form: Form, value: Any) -> str:
    """The canonical text of a value as `arrange` has it."""
    return json_text(arrange(form, value))


def accept(form: Form, value: Any) -> Any:
    """A value, parsed JSON in any spelling, as `arrange` has it; MISSING if form or schema do not allow it."""
    try:
        arranged = arrange(form, value)
    except (NotAccepted, ValueError):
        return MISSING
    return arranged if form.judge is None or form.judge.accepts(arranged) else MISSING


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
        _arranged(node, value, "")
    except NotAccepted:
        return False
    return True


def _arranged(node: Node, value: Any, pointer: str) -> Any:
    """The value in the place of this node."""
    if value is None and node.nullable and not isinstance(node, Slot):
        return None
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
    return value if value is None or isinstance(value, (str, bool)) else scalar_value(text)


def _choice(node: ChoiceNode, value: Any, pointer: str) -> Any:
    nearest: NotAccepted | None = None
    for branch in node.branches:
        try:
            return _arranged(branch, value, pointer)
        except NotAccepted as problem:
            # The branch in which the value gets furthest is the one that was meant.
            if nearest is None or problem.pointer.count("/") > nearest.pointer.count("/"):
                nearest = problem
    assert nearest is not None, "a choice has branches"
    raise nearest


def _array(node: ArrayNode, value: Any, pointer: str) -> list[Any]:
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
        parts.append(_arranged(part, one, f"{pointer}/{at}"))
    return parts


def _object(node: ObjectNode, value: Any, pointer: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _misfit(pointer, "an object", repr(value))
    parts, declared = dict[str, Any](), set()
    for place in node.properties:
        declared.add(place.name)
        below = f"{pointer}/{escape(place.name)}"
        if place.name in value:
            parts[place.name] = _arranged(place.node, value[place.name], below)
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
            parts[_arranged(rest.key, name, below)] = _arranged(rest.item, value[name], below)
    return parts


def _one(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
