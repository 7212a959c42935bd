"""Tables of documents, without a schema: a Parquet file for each, with its page, heading, box and typed columns.

A column is of numbers or days where each of its cells is one, and no cell could be another; else it is of texts. Tables
with the same heads one behind the other are one, whose head stands again on another page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import is_amount, numbers_of, readings
from cinnabar.engine.tables.heads import words_of
from cinnabar.engine.tables.table import PrintedTable, tables_of
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.evidence.evidence import evidence_of, page_of
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.extraction.store.files import write_whole
from cinnabar.extraction.store.reading import distinct

#: The file that lists the tables.
LISTED = "tables.parquet"
#: A database of views, which older lists had beside them.
_VIEWS = "tables.duckdb"
#: Whole numbers from here on are floats.
_LARGEST = 2**62
#: The characters above a table in which its heading stands, and the most of one; those of a file's name.
_ABOVE, _HEADING, _NAME = 400, 120, 60
_COLUMNS: dict[str, pa.DataType] = {
    "file": pa.string(), "document": pa.string(), "number": pa.int32(), "page": pa.int32(),
    "heading": pa.string(), "rows": pa.int64(), "columns": pa.list_(pa.string()),
    **dict.fromkeys(("x0", "top", "x1", "bottom"), pa.float32()),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """A table: where it stands, the heads of its columns, and the page and the cells of each row as printed.

    box: x0, top, x1 and bottom of its first page, in points; empty without one.
    """

    document: str
    number: int
    page: int
    heading: str
    box: tuple[float, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    locale: Locale

    def columns(self) -> list[str]:
        """Returns the names of its columns, each once."""
        return distinct([head or f"column_{at}" for at, head in enumerate(self.heads, 1)])

    def to_typed(self) -> pa.Table:
        """Returns its rows in typed columns, behind their document, the table's number, and their page."""
        cells = [_to_column([row[at] for _, row in self.rows], self.locale) for at in range(len(self.heads))]
        pages = pa.array([page for page, _ in self.rows], pa.int32())
        many = len(self.rows)
        first = [pa.array([self.document] * many), pa.array([self.number] * many, pa.int32()), pages]
        return pa.table([*first, *cells], names=distinct(["_document", "_table", "_page", *self.columns()]))


def document_tables(path: str, document: Document) -> list[DocumentTable]:
    """Returns the tables of a document in their order; one that goes on behind another is joined to it."""
    passage = passage_of(document)
    found: list[DocumentTable] = []
    above = 0
    for table in tables_of(passage.text, passage.word_start, passage.word_box):
        one = _table(path, document, table, passage.text, above, passage.locale or Locale())
        above = table.end
        if found and any(one.heads) and one.heads == found[-1].heads:
            found[-1] = replace(found[-1], rows=(*found[-1].rows, *one.rows))
        else:
            found.append(replace(one, number=len(found) + 1))
    return found


def _table(path: str, document: Document, table: PrintedTable, text: str, above: int, locale: Locale) -> DocumentTable:
    evidence = evidence_of(document, [(table.start, table.end)])
    page = page_of(document, evidence)
    boxes = [] if evidence is None else [one for one in evidence.boxes if one.page == page]
    sides = (
        (min(b.x0 for b in boxes), min(b.top for b in boxes), max(b.x1 for b in boxes), max(b.bottom for b in boxes))
        if boxes
        else ()
    )
    lines = [line.strip() for line in text[max(above, table.start - _ABOVE) : table.start].split("\n")]
    heading = next((line for line in reversed(lines) if any(map(str.isalpha, line))), "")[:_HEADING]
    rows = []
    for row in table.rows:
        own = evidence_of(document, [span for cell in row.cells for span in cell][:1])
        rows.append((page_of(document, own), tuple(words_of(cell, text) for cell in row.cells)))
    heads = tuple(table.head(column, text) for column in range(len(table.heads)))
    return DocumentTable(path, 0, page, heading, sides, heads, tuple(rows), locale)


def _to_column(cells: Sequence[str], locale: Locale) -> pa.Array[Any]:
    """Returns cells as numbers, days or texts; one without a letter or digit has no value."""
    filled = [cell if any(map(str.isalnum, cell)) else None for cell in cells]
    texts = [cell for cell in filled if cell is not None]
    values = column_numbers(texts, locale) if texts else None
    if values is not None:
        left = iter(values)
        own = [None if one is None else next(left) for one in filled]
        if all(value == value.to_integral_value() and abs(value) < _LARGEST for value in values):
            return pa.array([None if value is None else int(value) for value in own], pa.int64())
        return pa.array([None if value is None else float(value) for value in own], pa.float64())
    days = [column_days(one, locale) for one in texts]
    if texts and all(len(one) == 1 for one in days):
        found = iter(days)
        return pa.array([None if one is None else date.fromisoformat(next(found)[0]) for one in filled], pa.date32())
    return pa.array([cell or None for cell in cells], pa.string())


def column_numbers(texts: Sequence[str], locale: Locale) -> list[Decimal] | None:
    """Returns the numbers of a column, None if a cell is none, or if nothing tells thousands from decimals.

    The cells of a column have as many decimals each under the right convention, or the document has told which it is.
    """
    # A code with a zero before it is no number.
    if not all(is_amount(one) and not re.match(r"0\d", one) for one in texts):
        return None
    ways: dict[bool, list[Decimal]] = {}
    for comma in (False, True):
        read = [numbers_of(one, replace(locale, decimal_comma=comma)) for one in texts]
        if not all(read):
            return None
        ways[comma] = [Decimal(one[0]) for one in read]
    if ways[False] == ways[True]:
        return ways[False]
    kinds = {comma: len({value.as_tuple().exponent for value in own}) for comma, own in ways.items()}
    if kinds[False] != kinds[True]:
        return ways[kinds[True] < kinds[False]]
    return None if locale.decimal_comma is None else ways[locale.decimal_comma]


def column_days(text: str, locale: Locale) -> list[str]:
    return [*dict.fromkeys(str(one.value) for one in readings(text, locale) if one.kind == "date")]


def write_tables(out: Path, tables: Iterable[DocumentTable]) -> list[dict[str, Any]]:
    """Writes each table as a Parquet file into a folder, with their list; returns the list.

    An earlier list of the folder and its files are replaced. Raises UsageError for a folder with other files.
    """
    _clear(out)
    listed: list[dict[str, Any]] = []
    names: dict[str, int] = {}
    for one in tables:
        stem = re.sub(r"\W+", "_", Path(one.document).stem.casefold()).strip("_")[:_NAME] or "table"
        names[stem] = names.get(stem, 0) + 1
        file, own = f"{stem}-{names[stem]}.parquet", one.to_typed()
        write_whole(out / file, lambda path, own=own: pq.write_table(own, path))  # type: ignore[misc]
        box = dict(zip(("x0", "top", "x1", "bottom"), one.box or (None,) * 4, strict=True))
        about = {"file": file, "document": one.document, "number": one.number, "page": one.page}
        listed.append({**about, "heading": one.heading, "rows": len(one.rows), "columns": one.columns(), **box})
    write_whole(out / LISTED, lambda path: pq.write_table(pa.Table.from_pylist(listed, pa.schema(_COLUMNS)), path))
    return listed


def _clear(out: Path) -> None:
    """Removes the tables of an earlier run. Raises UsageError if the folder has anything else."""
    there = {path.name for path in out.iterdir()} if out.is_dir() else set()
    known = {LISTED, _VIEWS, *(pq.read_table(out / LISTED).column("file").to_pylist() if LISTED in there else ())}
    if other := sorted(name for name in there - known if not name.endswith((".csv", ".xlsx"))):
        raise UsageError(f"--out {out}: expected an empty folder or one of earlier tables, found {other[0]}")
    # The list goes last: without it its files would be strangers to the next run.
    for name in sorted(there & known, key=lambda name: name == LISTED):
        (out / name).unlink()
