"""Another column for a field of a list: the cells of all its rows, read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cinnabar.extraction.corrections.changes import Action, Change
from cinnabar.extraction.documents.content.document import Document, Span
from cinnabar.extraction.people.reviewing.picking import picked_values
from cinnabar.extraction.reading.table_columns import TableColumns
from cinnabar.extraction.store.records import Record
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.pointers import escape


def rows_in_tables(document: Document, record: Record, pointer: str) -> dict[str, Mapping[str, tuple[Span, ...]]]:
    """Returns the cells of the table row in which each row of a list stands: row's pointer to column's name to cell.

    The row of a table is that of most of its values.
    """
    columns = TableColumns(document)
    found: dict[str, list[Mapping[str, tuple[Span, ...]]]] = {}
    for leaf in record.leaves:
        row, _, _ = leaf.pointer.rpartition("/")
        above, _, number = row.rpartition("/")
        if above == pointer and number.isdecimal() and leaf.evidence is not None:
            found.setdefault(row, []).append(columns.row_at(leaf.evidence.spans[0].start))
    return {row: max(own, key=lambda one: sum(one is other for other in own if other)) for row, own in found.items()}


def column_change(
    document: Document, record: Record, place: Mapping[str, Any], pointer: str, after: str | None, seen: str | None
) -> Change:
    """Returns the change that gives a field of a list the cells of another column in all rows that stand in a table.

    place: the form of the list; after: the names of the field and of the column, as a JSON array. An empty cell is
    null. Raises UsageError for another field, or a column that no row has.
    """
    asked = json.loads(after) if after is not None else None
    if not isinstance(asked, list) or len(asked) != 2 or not all(isinstance(one, str) for one in asked):
        raise UsageError(f"{pointer}: expected the names of a field and of a column as a JSON array, got {after}")
    field, head = asked
    properties = dict(place["items"].get("properties", ())) if place["kind"] == "list" else {}
    if field not in properties or properties[field]["kind"] != "value":
        raise UsageError(f"{pointer}: expected a field of {', '.join(properties) or '(none)'}, got {field[:80]!r}")
    rows = rows_in_tables(document, record, pointer)
    names = list(dict.fromkeys(name for own in rows.values() for name in own))
    name = next((one for one in names if one in (head, f'column "{head}"')), None)
    if name is None:
        known = ", ".join(names) or "none"
        raise UsageError(f"{pointer}: expected a column of the tables of its rows ({known}), got {head[:80]!r}")
    parts = []
    for row, own in rows.items():
        spans = own.get(name, ())
        values = picked_values(properties[field], document.text, spans) if spans else []
        parts += [Change(Action.VALUE, f"{row}/{escape(field)}", values[0] if values else "null", spans)] if own else []
    return Change(Action.COLUMN, pointer, name, seen=seen, parts=tuple(parts))
