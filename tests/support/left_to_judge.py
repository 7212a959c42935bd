"""Which bounds the automaton of a form's records leaves to the judge."""

from __future__ import annotations

from collections.abc import Iterator

from cinnabar.schemas.form.form import ArrayNode, Form, ObjectNode, Slot, walk
from cinnabar.schemas.form.record_language import Group, _compose, _StatePlan


def left_to_judge(form: Form) -> tuple[str, ...]:
    """The bounds that the automaton of this form leaves out, each as a pointer and words."""
    return tuple(_left_out(form, _StatePlan(_compose(form)[1])))


def _left_out(form: Form, plan: _StatePlan) -> Iterator[str]:
    for node in walk(form.root):
        if isinstance(node, ArrayNode) and node.unique:
            yield f"{node.path or '/'}: no item twice"
        if isinstance(node, ArrayNode) and node.min_contained:
            yield f"{node.path or '/'}: at least {node.min_contained} items of one kind"
        if isinstance(node, ArrayNode) and _items_left(node, plan.group(node)):
            most = "" if node.max_items is None else f" to {node.max_items}"
            yield f"{node.path or '/'}: {node.min_items}{most} items"
        elif isinstance(node, ObjectNode) and _members_left(node):
            yield f"{node.path or '/'}: which properties are there"
        elif isinstance(node, Slot) and (node.max_length is not None or plan.canonical(node) is not node.automaton):
            yield f"{node.path or '/'}: {node.bounds or 'the length'}"


def _members_left(node: ObjectNode) -> bool:
    """Whether the schema bounds the number of members, or asks for some of them beside others."""
    demanded = sum(place.required for place in node.properties)
    return bool(node.demands) or node.least > demanded or node.most is not None


def _items_left(node: ArrayNode, group: Group) -> bool:
    """Whether the judge decides on how many items are there: any number may follow, or fewer than the least."""
    return group.loops and (node.max_items is not None or group.least < node.min_items)
