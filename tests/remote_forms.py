"""A form that tests ask a server about, requests for it, and answers as a server gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cinnabar.engine.answers.wire import MORE, ROOT, Wire, open_names
from cinnabar.engine.request import Passage, Request
from cinnabar.schemas import compile_schema
from cinnabar.schemas.canonical import json_text
from cinnabar.schemas.form.fitting import branch_of, group_of
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot

EMPTY = np.zeros(0, np.int32)
NOTE: dict[str, Any] = {
    "type": "object",
    "title": "note",
    "properties": {
        "name": {"type": "string", "title": "Author", "description": "Who wrote it."},
        "day": {"type": ["string", "null"], "format": "date"},
        "kind": {"enum": ["a", "b"], "description": "a: short; b: long"},
        "paid": {"type": "boolean"},
        "seller": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "lines": {
            "type": "array",
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {"what": {"type": "string"}, "price": {"type": "number"}},
                "required": ["what", "price"],
            },
        },
    },
    "required": ["name", "day", "lines"],
}


def form_of(schema: dict[str, Any]) -> Form:
    return compile_schema(schema).form


def request(form: Form, text: str, known: dict[str, str | None] | None = None) -> Request:
    passage = Passage("d", text, 0, EMPTY, EMPTY, np.zeros((0, 4), np.float32))
    return Request("r", form, passage, known or {})


def answer_of(form: Form, record: Any) -> str:
    """The answer that says this record, to a form without known values."""
    root = _said(Wire(form, {}), form.root, record)
    return json_text(root if isinstance(form.root, ObjectNode) else {ROOT: root})


def _said(wire: Wire, node: Node, value: Any) -> Any:
    if isinstance(node, Slot) or value is None:
        return value
    if isinstance(node, ChoiceNode):
        branch = branch_of(node, value)
        assert branch is not None
        return _said(wire, node.branches[branch], value)
    if isinstance(node, ArrayNode):
        items = [_said(wire, node.item, item) for item in value[len(node.prefix) :]] if node.item else []
        if not node.prefix:
            return items
        first = [_said(wire, part, one) for part, one in zip(node.prefix, value, strict=False)]
        first += [None] * (len(node.prefix) - len(first))
        return {str(at): one for at, one in enumerate(first)} | ({MORE: items} if node.item else {})
    found = {place.name: _said(wire, place.node, value.get(place.name)) for place in node.properties}
    for place in node.properties:
        if found[place.name] is None and isinstance(place.node, ArrayNode) and not place.node.prefix:
            found[place.name] = []
    declared = set(found)
    for opened, rest in zip(open_names(node), node.rest, strict=True):
        mine = [name for name in value if name not in declared and group_of(node, name, value[name]) is rest]
        assert rest.item is not None
        found[opened] = [{"name": name, "value": _said(wire, rest.item, value[name])} for name in mine]
    return found
