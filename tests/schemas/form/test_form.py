"""The fingerprint of a form covers all of its content."""

from __future__ import annotations

import copy
from typing import Any

from tests.support.cases import each

from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form

SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "Bill",
    "required": ["total", "kind", "lines"],
    "properties": {
        "total": {"type": "number", "description": "To be paid", "examples": [1.5], "minimum": 0},
        "kind": {"enum": ["bill", "note"], "title": "Kind"},
        "lines": {
            "type": "array",
            "description": "What was sold",
            "items": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 40}}},
        },
    },
}


def form_of(*path: str, value: Any = None) -> Form:
    """The form of the schema, with another value at this path."""
    schema = copy.deepcopy(SCHEMA)
    part = schema
    for name in path[:-1]:
        part = part[name]
    if path:
        part[path[-1]] = value
    return compile_schema(schema).form


def test_forms_of_equal_content_have_one_fingerprint_and_hash() -> None:
    first, second = form_of(), form_of()
    assert first is not second
    assert first.fingerprint == second.fingerprint and hash(first) == hash(second)


@each(
    "path, value",
    [
        (("title",), "Invoice"),
        (("description",), "A bill"),
        (("properties", "total", "description"), "What was paid"),
        (("properties", "total", "title"), "Sum"),
        (("properties", "total", "examples"), [2.5]),
        (("properties", "total", "default"), 0),
        (("properties", "total", "minimum"), 1),
        (("properties", "total", "type"), ["number", "null"]),
        (("properties", "kind", "enum"), ["bill", "letter"]),
        (("properties", "kind", "title"), "Sort"),
        (("properties", "lines", "description"), "Goods"),
        (("properties", "lines", "minItems"), 1),
        (("properties", "lines", "items", "properties", "name", "pattern"), "^[a-z]+$"),
        (("properties", "lines", "items", "properties", "name", "maxLength"), 41),
        (("properties", "lines", "items", "properties", "price"), {"type": "number"}),
        (("required",), ["total", "kind"]),
    ]
)
def test_any_change_of_a_form_changes_its_fingerprint(path: tuple[str, ...], value: Any) -> None:
    assert form_of(*path, value=value).fingerprint != form_of().fingerprint


def test_alternatives_and_their_order_change_the_fingerprint() -> None:
    def of(*names: str) -> Form:
        text = {"type": "string"}
        kinds = [{"type": "object", "title": n, "properties": {n: text}, "required": [n]} for n in names]
        return form_of("properties", "total", value={"anyOf": kinds})

    fingerprints = {of(*names).fingerprint for names in (("a", "b"), ("b", "a"), ("a", "c"))}
    assert len(fingerprints) == 3
