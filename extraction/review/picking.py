"""Reads the value of words that a person picked or typed for a place of a form, or of another column for all rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import ReadValue, is_amount, readings, surroundings
from cinnabar.errors import UsageError
from cinnabar.extraction.corrections.changes import Action, Change
from cinnabar.extraction.documents.content.document import Document, Span
from cinnabar.extraction.filling.passages import locale_of
from cinnabar.extraction.filling.table_columns import TableColumns
from cinnabar.extraction.store.records import Record
from cinnabar.schemas.automata.strings import json_text, parse
from cinnabar.schemas.pointers import escape

_MOST = 8
_EXPECTED = {
    "date": "a date such as 4 May 2026 or 2026-05-04", "number": "a number such as 1234.5",
    "integer": "a whole number such as 12", "boolean": "yes or no",
}  # fmt: skip
_KINDS = {"date": ("date",), "date-time": ("datetime",), "time": ("time",), "duration": ("duration",)}


def picked_values(place: Mapping[str, Any], document: Document, spans: Sequence[Span]) -> list[str]:
    """Returns the values that these spans of a document may stand for at a place, the likeliest first.

    Values are JSON texts; a date is read with both orders of day and month. The list is empty if no value of the
    place's types stands there.
    """
    text = document.text
    picked = " ".join(" ".join(text[span.start : span.end].split()) for span in spans).strip()
    if not picked:
        return []
    if place["kind"] != "value":
        return [json_text(picked)]
    locale = locale_of(document, spans[0].start, spans[-1].end).in_order(place["day_first"])
    orders = (locale, locale.in_order(not locale.day_first))
    beside = surroundings(text, spans[0].start, spans[-1].end)
    read = [one for order in orders for one in readings(picked, order, *beside)]
    return _values_of(place, picked, read)[:_MOST]


def typed_values(place: Mapping[str, Any], locale: Locale, said: str) -> list[str]:
    """Returns the values, as JSON texts, that a typed text means at a place in a document of these conventions.

    They are several where the document does not tell its convention, and the text would be another value under another.
    The list is empty if the text is no value of the place's types.
    """
    if place["kind"] != "value" or (place["types"] == ["string"] and not (place["format"] or place.get("options"))):
        return [json_text(said)]
    locale, found = locale.in_order(place["day_first"]), dict[str, None]()
    amount = "string" not in place["types"] or (is_amount(said) and not any(map(str.isalpha, said)))
    iso = '"P' if place["format"] == "duration" else '"'

    def rank(one: str) -> tuple[bool, bool, bool]:
        # 7,5 is a number and 7a a text where both may stand; and a text is first as it was typed, or as ISO 8601.
        return (one[0] == '"') is amount, not one.startswith(iso), one != json_text(said)

    for order in (True, False) if locale.day_first is None else (locale.day_first,):
        for comma in (True, False) if locale.decimal_comma is None else (locale.decimal_comma,):
            read = readings(said, replace(locale, day_first=order, decimal_comma=comma))
            texts = _values_of(place, said, read)
            found |= dict.fromkeys(sorted(texts, key=rank)[:1])
    # What no reading has may be right all the same, as P3D, and the schema judges it.
    free = "string" in place["types"] and place["format"] != "date" and not place.get("options")
    return list(found) or ([json_text(said)] if free else [])


def text_to_read(place: Mapping[str, Any], text: str) -> str | None:
    """Returns what a given text says if it is not the JSON of a value of this place already, None if it is.

    At a place of texts alone 4401 is a text.
    """
    try:
        value = parse(text)
    except (ValueError, RecursionError):
        return text.strip() if place["kind"] == "value" else None
    if place["types" if place["kind"] == "value" else "kind"] == ["string"] and not isinstance(value, str):
        return None if value is None and place["nullable"] else text.strip()
    plain = place["kind"] != "value" or ("string" in place["types"] and place["format"] not in _KINDS)
    stands = text in place["options"] if "options" in place else plain
    return value if isinstance(value, str) and not stands else None


def _in_words(place: Mapping[str, Any], text: str) -> str:
    """Returns a JSON text as people write it: 4 May 2026."""
    value = parse(text)
    if isinstance(value, str) and place["kind"] == "value" and place["format"] in ("date", "date-time"):
        with suppress(ValueError):
            at = datetime.fromisoformat(value)
            return f"{at.day} {at:%B} {at.year}" + (value[10:] and f", {value[11:]}")
    return ("no", "yes")[value] if isinstance(value, bool) else value if isinstance(value, str) else text


def picked_answer(place: Mapping[str, Any], values: Sequence[str]) -> dict[str, Any]:
    """Returns values as JSON texts and in words, and what can be typed at their place."""
    options = ", ".join(place.get("options", ()))
    kinds = [place["format"], *place["types"]] if place["kind"] == "value" else []
    expected = f"one of {options}" if options else next((_EXPECTED[one] for one in kinds if one in _EXPECTED), "a text")
    return {"values": values, "words": [_in_words(place, one) for one in values], "expected": expected}


def _values_of(place: Mapping[str, Any], picked: str, read: Sequence[ReadValue]) -> list[str]:
    """Returns those of the readings of a text that are values of a place, as JSON texts."""
    types, texts = place["types"], dict[str, None]()
    if options := place.get("options"):
        meant = {picked.casefold(), *(str(one.value).casefold() for one in read)}
        return [one for one in options if str(json.loads(one)).casefold() in meant]
    wanted = _KINDS.get(place["format"])
    for one in read:
        if one.kind == "number" and {"number", "integer"} & set(types):
            if (number := _number(str(one.value), "number" in types)) is not None:
                texts[number] = None
        elif one.kind == "boolean" and "boolean" in types:
            texts[json_text(one.value)] = None
        elif "string" in types and (one.kind in wanted if wanted else one.kind in ("text", "code")):
            texts[json_text(str(one.value))] = None
    return list(texts)


def _number(text: str, fraction: bool) -> str | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite():
        return None
    whole = value == value.to_integral_value()
    return json_text(value) if fraction or whole else None


def rows_in_tables(document: Document, record: Record, pointer: str) -> dict[str, Mapping[str, tuple[Span, ...]]]:
    """Returns for each row of a list that stands in a table the cells there, by the names of their columns."""
    columns, found = TableColumns(document), dict[str, Mapping[str, tuple[Span, ...]]]()
    for leaf in record.leaves:
        row, _, _ = leaf.pointer.rpartition("/")
        if row.rpartition("/")[0] == pointer and leaf.evidence is not None and not found.get(row):
            found[row] = columns.row_at(leaf.evidence.spans[0].start)
    return {row: cells for row, cells in found.items() if cells}


def column_change(document: Document, record: Record, place: Mapping[str, Any], asked: Change) -> Change:
    """Returns the change that gives a field of a list the cells of another column in all rows that stand in a table.

    place: the form of the list; asked: its `after` names the field and the column, as a JSON array. An empty cell is
    null. Raises UsageError for a field or a column that it has not.
    """
    fields = dict(place["items"].get("properties", ())) if place["kind"] == "list" else {}
    rows = rows_in_tables(document, record, asked.pointer)
    heads = dict.fromkeys(head for cells in rows.values() for head in cells)
    wanted = json.loads(asked.after or "null")
    field, head = wanted if isinstance(wanted, list) and len(wanted) == 2 else (wanted, None)
    if field not in [name for name, form in fields.items() if form["kind"] == "value"] or head not in [*heads]:
        known = f"one of the fields {', '.join(fields)} and one of the columns {', '.join(heads)}"
        raise UsageError(f"{asked.pointer}: expected {known}, as a JSON array, got {asked.after}")
    parts = []
    for row, cells in rows.items():
        values = picked_values(fields[field], document, cells[head]) if cells.get(head) else []
        value = values[0] if values else "null"
        parts.append(Change(Action.VALUE, f"{row}/{escape(field)}", value, cells.get(head, ())))
    return Change(Action.COLUMN, asked.pointer, head, seen=asked.seen, parts=tuple(parts))
