"""Forms choose inputs for a schema, and marked words become values of them."""

from __future__ import annotations

from typing import Any

import pytest

from cinnabar.extraction.documents.content.document import Span
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.review.forms import form_of, place_at
from cinnabar.extraction.review.picking import picked_values

SCHEMA: dict[str, Any] = {
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}}}},
    "type": "object",
    "properties": {
        "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        "total": {"type": "number"},
        "kind": {"enum": ["a", "b", None]},
        "a/b": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    },
    "required": ["total"],
}


@pytest.mark.parametrize(
    ("pointer", "kind", "types", "nullable"),
    [
        ("/day", "value", ["string"], True),
        ("/total", "value", ["number"], False),
        ("/kind", "value", ["string"], True),
        ("/a~1b/3/name", "value", ["string"], False),
        ("/unknown", "any", None, True),
    ],
)
def test_a_place_has_the_input_of_its_type(pointer: str, kind: str, types: list[str] | None, nullable: bool) -> None:
    place = place_at(form_of(SCHEMA), pointer)
    assert (place["kind"], place.get("types"), place["nullable"]) == (kind, types, nullable)


def test_a_recursive_schema_ends_as_json() -> None:
    assert place_at(form_of(SCHEMA), "/a~1b/0" + "/next" * 20)["kind"] == "any"


@pytest.mark.parametrize(
    ("pointer", "words", "first"),
    [
        ("/day", "17 March 2026", '"2026-03-17"'),
        ("/total", "1,234.50 EUR", "1234.5"),
        ("/kind", "B", '"b"'),
        ("/total", "no number", None),
    ],
)
def test_marked_words_become_a_value_of_the_place(pointer: str, words: str, first: str | None) -> None:
    document = parse(f"It says {words} here".encode(), "a.txt")
    found = picked_values(place_at(form_of(SCHEMA), pointer), document, [Span(8, 8 + len(words))])
    assert (found[0] if found else None) == first


def test_both_orders_of_day_and_month_are_offered_and_that_of_the_schema_is_first() -> None:
    document = parse(b"Acme Inc, 1 Main St, Austin, TX 78701\nDue date: 05/06/2026\n", "a.txt")
    place, span = place_at(form_of(SCHEMA), "/day"), document.text.index("05/06")
    found = [picked_values(place | {"day_first": order}, document, [Span(span, span + 10)]) for order in (None, True)]
    assert found == [['"2026-05-06"', '"2026-06-05"'], ['"2026-06-05"', '"2026-05-06"']]
