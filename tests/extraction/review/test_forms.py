"""Forms choose inputs for a schema, and marked words become values of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cases import each

from cinnabar.extraction.documents.content.document import Span
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.passages import locale_of
from cinnabar.extraction.review.forms import form_of, place_at, title_at
from cinnabar.extraction.review.picking import picked_answer, picked_values, text_to_read, typed_values

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


GERMAN = b"Rechnung vom 28.02.2026\nSumme 2.340,75 EUR zahlbar bis 31.03.2026\n"
AMERICAN = b"Acme Inc, 1 Main St, Austin, TX 78701\nInvoice date 02/28/2026, total $2,340.75\n"
BARE = b"17 39\n"
SILENT = b"Nothing here tells of any order.\n"
TYPED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "day": {"type": ["string", "null"], "format": "date"},
        "sent": {"type": "string", "format": "date", "x-cinnabar-day-first": True},
        "at": {"type": "string", "format": "date-time"},
        "lasts": {"type": "string", "format": "duration"},
        "total": {"type": "number"},
        "count": {"type": ["integer", "null"]},
        "paid": {"type": "boolean"},
        "state": {"enum": ["open", "settled", None]},
        "code": {"type": ["string", "number"]},
        "note": {"type": "string"},
        "rows": {
            "type": "array",
            "title": "Items",
            "items": {"type": "object", "properties": {"price": {"type": "number", "title": "Unit price"}}},
        },
    },
}


@each(
    "document, pointer, said, values, words",
    [
        (GERMAN, "/day", "7.3.2026", ['"2026-03-07"'], "7 March 2026"),
        (AMERICAN, "/day", "7.3.2026", ['"2026-03-07"'], "7 March 2026"),
        (GERMAN, "/day", "07/03/2026", ['"2026-03-07"'], "7 March 2026"),
        (AMERICAN, "/day", "07/03/2026", ['"2026-07-03"'], "3 July 2026"),
        (AMERICAN, "/sent", "07/03/2026", ['"2026-03-07"'], "7 March 2026"),
        (SILENT, "/day", "07/03/2026", ['"2026-03-07"', '"2026-07-03"'], "7 March 2026"),
        (SILENT, "/day", "17/03/2026", ['"2026-03-17"'], "17 March 2026"),
        (SILENT, "/day", "7 mars 2026", ['"2026-03-07"'], "7 March 2026"),
        (SILENT, "/day", "2026-03-07", ['"2026-03-07"'], "7 March 2026"),
        (GERMAN, "/day", "7.3.", ['"2026-03-07"'], "7 March 2026"),
        (SILENT, "/day", "2026-02-30", [], ""),
        (SILENT, "/day", "soon", [], ""),
        (SILENT, "/at", "7 March 2026 18:05", ['"2026-03-07T18:05:00Z"'], "7 March 2026, 18:05:00Z"),
        (SILENT, "/lasts", "3 weeks", ['"P3W"'], "P3W"),
        (SILENT, "/lasts", "P3W", ['"P3W"'], "P3W"),
        (GERMAN, "/total", "1.234,50", ["1234.5"], "1234.5"),
        (AMERICAN, "/total", "1,234.50", ["1234.5"], "1234.5"),
        (GERMAN, "/total", "1.234", ["1234"], "1234"),
        (AMERICAN, "/total", "1.234", ["1.234"], "1.234"),
        (BARE, "/total", "1.234", ["1234", "1.234"], "1234"),
        (BARE, "/total", "1.23", ["1.23"], "1.23"),
        (GERMAN, "/total", "-12,5", ["-12.5"], "-12.5"),
        (SILENT, "/total", "plenty", [], ""),
        (SILENT, "/count", "1,234", ["1234"], "1234"),
        (SILENT, "/count", "1.5", [], ""),
        (SILENT, "/paid", "nein", ["false"], "no"),
        (SILENT, "/state", "Settled", ['"settled"'], "settled"),
        (SILENT, "/state", "lost", [], ""),
        (GERMAN, "/code", "7,5", ["7.5"], "7.5"),
        (GERMAN, "/code", "7a", ['"7a"'], "7a"),
        (GERMAN, "/note", "07/03/2026  twice", ['"07/03/2026  twice"'], "07/03/2026  twice"),
    ],
)
def test_what_is_typed_is_read_as_its_document_is(
    document: bytes, pointer: str, said: str, values: list[str], words: str
) -> None:
    place = place_at(form_of(TYPED), pointer)
    found = typed_values(place, locale_of(parse(document, "a.txt")), said)
    answer = picked_answer(place, found)
    assert found == values and (answer["words"] or [""])[0] == words and answer["expected"]


@each(
    "pointer, text, said",
    [
        ("/day", '"7.3.2026"', "7.3.2026"),
        ("/day", "7.3.2026", "7.3.2026"),
        ("/day", "null", None),
        ("/total", "1.234", None),
        ("/total", "1.234,50", "1.234,50"),
        ("/total", '"1.234,50"', "1.234,50"),
        ("/note", '"7.3.2026"', None),
        ("/note", " N 17", "N 17"),
        ("/note", "4401", "4401"),
        ("/note", '{"a": 1}', '{"a": 1}'),
        ("/note", "null", "null"),
        ("/code", "4401", None),
        ("/state", '"open"', None),
        ("/state", '"Open"', "Open"),
        ("/paid", "true", None),
        ("/paid", "ja", "ja"),
        ("/rows", '[{"price": 1}]', None),
        ("/rows", "much", None),
        ("/rows/0/price", "1,5", "1,5"),
    ],
)
def test_only_what_is_not_the_json_of_its_field_is_read(pointer: str, text: str, said: str | None) -> None:
    assert text_to_read(place_at(form_of(TYPED), pointer), text) == said


@each(
    "pointer, title",
    [("/rows", "Items"), ("/rows/2/price", "Unit price in row 3"), ("/total", "/total"), ("/rows/0", "/rows/0")],
)
def test_a_place_is_called_by_its_title_if_the_schema_has_one(pointer: str, title: str) -> None:
    assert title_at(form_of(TYPED), pointer) == title
