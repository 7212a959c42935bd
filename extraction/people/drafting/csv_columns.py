"""A JSON Schema from a CSV file: a property for each column, typed by its values."""

from __future__ import annotations

import csv
from itertools import islice
from typing import Any

from cinnabar.engine.readings.locale import document_locale
from cinnabar.extraction.people.drafting.naming import property_name, title_of
from cinnabar.extraction.people.drafting.value_types import Value, nullable, text_type
from cinnabar.schemas.errors import UsageError

#: The rows that decide types; later ones are not looked at.
MOST_ROWS = 10_000
#: The most columns, so that no file of another kind becomes a schema.
MOST_COLUMNS = 2_000
_DELIMITERS = ",;\t|"


def schema_of_csv(text: str, where: str) -> dict[str, Any]:
    """The JSON Schema of a row; a column without values is a text, and one with gaps may be null.

    Raises UsageError if there is no header, or if it names no column or one twice.
    """
    lines = text.splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise UsageError(f"{where}: expected a header of columns in the first line, got an empty file")
    delimiter = max(_DELIMITERS, key=first.count)
    try:
        header, *rows = islice(csv.reader(lines, delimiter=delimiter), MOST_ROWS + 1)
    except csv.Error as problem:
        raise UsageError(f"{where}: expected CSV, got: {problem}") from None
    header = [" ".join(cell.split()) for cell in header]
    while header and not header[-1]:
        header.pop()
    if not header or "" in header or len(header) > MOST_COLUMNS:
        raise UsageError(
            f"{where}: line 1: expected the names of 1 to {MOST_COLUMNS:,} columns, got"
            f" {f'{len(header):,}' if len(header) > MOST_COLUMNS else 'a column without a name'}"
        )
    if twice := next((name for at, name in enumerate(header) if name in header[:at]), None):
        raise UsageError(f"{where}: line 1: expected each column once, got {twice!r:.80} twice")
    locale = document_locale("\n".join("  ".join(row) for row in rows))
    properties: dict[str, Any] = {}
    for at, label in enumerate(header):
        cells = [row[at].strip() if at < len(row) else "" for row in rows]
        values = [Value(cell, locale) for cell in cells if cell]
        schema = text_type(values)
        named = {"title": title_of(label)} | (nullable(schema) if len(values) < len(cells) or not cells else schema)
        properties[property_name(label, set(properties))] = named
    return {"type": "object", "additionalProperties": False, "required": [*properties], "properties": properties}
