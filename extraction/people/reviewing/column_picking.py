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
