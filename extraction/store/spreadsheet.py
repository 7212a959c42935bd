"""Writes rows as an Excel workbook: texts as texts and never as formulas, dates as dates, numbers with all digits.

Excel has limits that no other format has: 1,048,576 rows and 16,384 columns, which are errors; 32,767 characters a
cell, 15 digits a number and no dates before March 1900, of which the notes of an export tell.
"""

from __future__ import annotations

import itertools
import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO

import pyarrow as pa

from cinnabar.extraction.store.formulas import FORMULA
from cinnabar.extraction.store.names import identifier
from cinnabar.schemas.errors import UsageError

ROWS, COLUMNS, CHARACTERS, DIGITS = 1_048_576, 16_384, 32_767, 15
# Earlier days have another number in Excel than in every other program, because it has a 29th of February 1900.
_FIRST_DAY = date(1900, 3, 1)
_SHEET_NAME = 31
# Characters of a column's width.
_NARROWEST, _WIDEST = 8, 60
_FLAGS = "flags"
_CUT = "…"
# Bytes of a workbook that are kept in memory.
_IN_MEMORY = 1 << 20
_NOTES = {
    "cut": f"texts were cut to {CHARACTERS:,} characters, the most that a cell of Excel holds",
    "digits": f"numbers are texts, because they have more than the {DIGITS} digits of Excel's numbers",
    "early": "dates are texts, because Excel has no dates before March 1900",
}


def write_workbook(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    stream: BinaryIO,
    name: str,
    spelled: Callable[[Any], str],
    types: Sequence[pa.DataType] = (),
) -> tuple[int, list[str]]:
    """Writes a sheet, and returns the number of its rows and notes on cells that Excel cannot hold unchanged.

    With the `types` of the columns objects become columns, and each list gets a sheet of its own, with a row for each
    item: the record's first column, the number of the item, and its values. `spelled` makes the text of a value that
    has no type in Excel. Raises UsageError if there are too many rows or columns.
    """
    # Cold start: few exports are workbooks.
    from xlsxwriter import Workbook

    typed = ((name, (place,), kind) for place, (name, kind) in enumerate(zip(columns, types, strict=False)))
    table = _table([*typed]) if types else _plain_table(columns)
    changed: Counter[str] = Counter()
    # A zip file that cannot be written whole fails twice, so a stream such as a pipe gets it when it is whole.
    with SpooledTemporaryFile(_IN_MEMORY) as whole:
        # Rows go to a temporary file for each sheet one by one, so memory does not grow with them.
        with Workbook(whole, {"constant_memory": True, "default_date_format": "yyyy-mm-dd"}) as book:
            book.use_zip64()
            sheet = _Sheets(book, spelled, changed).add(table, name)
            for row in rows:
                sheet.write(row)
            sheet.end()
        whole.seek(0)
        shutil.copyfileobj(whole, stream)
    return sheet.rows, list(_notes(changed))


_Steps = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """The columns of a sheet: headings, the steps to each value, how it is shown; and the tables of its lists."""

    columns: Sequence[tuple[str, _Steps, Callable[[Any], Any]]]
    lists: Sequence[tuple[str, _Steps, _Table]] = ()


def _plain_table(columns: Sequence[str]) -> _Table:
    return _Table([(column, (place,), _same) for place, column in enumerate(columns)])


def _table(fields: Sequence[tuple[str, _Steps, pa.DataType]]) -> _Table:
    """Returns the table of these fields: with the columns of objects in their place, lists as numbers of items."""
    columns: list[tuple[str, _Steps, Callable[[Any], Any]]] = []
    lists: list[tuple[str, _Steps, _Table]] = []

    def add(name: str, steps: _Steps, kind: pa.DataType) -> None:
        if pa.types.is_struct(kind):
            for inner in (kind.field(at) for at in range(kind.num_fields)):
                add(f"{name}.{inner.name}" if name else inner.name, (*steps, inner.name), inner.type)
        elif not pa.types.is_list(kind):
            columns.append((name or "value", steps, _same))
        elif name == _FLAGS and len(steps) == 1:  # the record's own; a field of this name gets another (tables.py)
            columns.append((name, steps, _joined))
        else:
            columns.append((name or "items", steps, _count))
            lists.append((name or "items", steps, _table([("", (), kind.value_type)])))

    for field in fields:
        add(*field)
    return _Table(columns, lists)


def _same(value: Any) -> Any:
    return value


def _count(value: Any) -> Any:
    return None if value is None else len(value)


def _joined(value: Any) -> Any:
    return None if value is None else ", ".join(value)


def _value(row: Any, steps: _Steps) -> Any:
    for step in steps:
        if row is None:
            return None
        row = row[step]
    return row


class _Sheets:
    """The sheets of a workbook; their names are free ones."""

    def __init__(self, book: Any, spelled: Callable[[Any], str], changed: Counter[str]) -> None:
        self._book, self._spelled, self._changed = book, spelled, changed
        self._bold = book.add_format({"bold": True})
        self._names: set[str] = set()

    def add(self, table: _Table, name: str, keys: Sequence[str] = ()) -> _Sheet:
        """Adds a sheet of this table, and one for each of its lists; `keys` are headings before its own."""
        headings = [*keys, *(heading for heading, _, _ in table.columns)]
        if len(headings) > COLUMNS:
            raise UsageError(f"export: Excel holds {COLUMNS:,} columns, got {len(headings):,}; name fewer with --sql")
        page = self._book.add_worksheet(self._free(name))
        page.freeze_panes(1, 0)
        cells = _Cells(self._book, page, self._spelled, self._changed)
        for place, heading in enumerate(headings):
            cells.text(0, place, heading, self._bold)
        # In a list within a list the number of the outer item has the name of the outer list.
        below = [*keys[:-1], name, "row"] if keys else [*headings[:1], "row"]
        return _Sheet(table, page, cells, [self.add(inner, named, below) for named, _, inner in table.lists])

    def _free(self, name: str) -> str:
        plain = identifier(name)[:_SHEET_NAME]
        names = itertools.chain([plain], (f"{plain[: _SHEET_NAME - 5]}_{number}" for number in itertools.count(2)))
        free = next(one for one in names if one.casefold() not in self._names)
        self._names.add(free.casefold())
        return free


class _Sheet:
    """A sheet, with the sheets of the lists in its rows; `rows` counts those below the heading."""

    def __init__(self, table: _Table, page: Any, cells: _Cells, lists: Sequence[_Sheet]) -> None:
        self._table, self._page, self._cells, self._lists = table, page, cells, lists
        self.rows = 0

    def write(self, row: Any, keys: Sequence[Any] = ()) -> None:
        """Writes a row behind its keys, and the items of its lists into their sheets."""
        self.rows += 1
        if self.rows >= ROWS:
            raise UsageError(
                f"export: Excel holds {ROWS - 1:,} rows below the heading, and there are more; choose some with"
                " --sql, or write csv or parquet"
            )
        values = [*keys, *(shown(_value(row, steps)) for _, steps, shown in self._table.columns)]
        for place, value in enumerate(values):
            self._cells.write(self.rows, place, value)
        for sheet, (_, steps, _) in zip(self._lists, self._table.lists, strict=True):
            for number, item in enumerate(_value(row, steps) or (), 1):
                sheet.write(item, [*(keys or values[:1]), number])

    def end(self) -> None:
        """Sets the widths of the columns, which are known only now."""
        for place, width in self._cells.widths.items():
            self._page.set_column(place, place, min(max(width + 2, _NARROWEST), _WIDEST))
        for sheet in self._lists:
            sheet.end()


def _notes(changed: Counter[str]) -> Iterator[str]:
    for what, note in _NOTES.items():
        if changed[what]:
            yield f"{changed[what]:,} {note}"


class _Cells:
    """Writes single cells; it never asks Excel to guess what a text is."""

    def __init__(self, book: Any, sheet: Any, spelled: Callable[[Any], str], changed: Counter[str]) -> None:
        self._book, self._sheet, self._spelled, self._changed = book, sheet, spelled, changed
        self._plain = book.add_format()
        self._quoted = book.add_format({"quote_prefix": True})
        #: The most characters of each column, in one line.
        self.widths: dict[int, int] = {}
        self._formats: dict[str, Any] = {}

    def write(self, row: int, column: int, value: Any) -> None:
        """Writes a value; null is an empty cell."""
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return
        if isinstance(value, bool):
            self._sheet.write_boolean(row, column, value)
        elif isinstance(value, (int, float, Decimal)):
            self._widen(column, len(f"{value}"))
            self._number(row, column, value)
        elif isinstance(value, date):
            self._date(row, column, value)
        else:
            self.text(row, column, value if isinstance(value, str) else self._spelled(value))

    def text(self, row: int, column: int, text: str, style: Any = None) -> None:
        """Writes a text as a text, whatever it begins with."""
        if len(text) > CHARACTERS // 2 and len(text.encode("utf-16-le", "surrogatepass")) // 2 > CHARACTERS:
            self._changed["cut"] += 1
            kept = text.encode("utf-16-le", "surrogatepass")[: 2 * (CHARACTERS - len(_CUT))]
            text = kept.decode("utf-16-le", "ignore") + _CUT
        self._widen(column, max(map(len, text.split("\n"))))
        if style is None and FORMULA.search(text):
            style = self._quoted  # Excel would run it after somebody edits the cell
        if text.startswith("<r>") and text.endswith("</r>"):
            # XlsxWriter takes such a text for markup of its own and would not escape it.
            self._sheet.write_rich_string(row, column, "<r>", self._plain, text.removeprefix("<r>"))
        elif text:
            self._sheet.write_string(row, column, text, style)

    def _number(self, row: int, column: int, value: int | float | Decimal) -> None:
        if not isinstance(value, float) and len(Decimal(value).normalize().as_tuple().digits) > DIGITS:
            self._changed["digits"] += 1
            self.text(row, column, self._spelled(value))
            return
        places = -int(value.as_tuple().exponent) if isinstance(value, Decimal) else 0
        shown = self._format("0." + "0" * min(places, 30)) if places > 0 else None
        self._sheet.write_number(row, column, value, shown)

    def _date(self, row: int, column: int, value: date) -> None:
        day = value.date() if isinstance(value, datetime) else value
        if day < _FIRST_DAY:
            self._changed["early"] += 1
            self.text(row, column, self._spelled(value))
        elif isinstance(value, datetime):
            self._widen(column, 19)
            shown = "yyyy-mm-dd hh:mm:ss" + (".000" if value.microsecond else "")
            self._sheet.write_datetime(row, column, value.replace(tzinfo=None), self._format(shown))
        else:
            self._widen(column, 10)
            self._sheet.write_datetime(row, column, value, self._format("yyyy-mm-dd"))

    def _widen(self, column: int, characters: int) -> None:
        self.widths[column] = max(characters, self.widths.get(column, 0))

    def _format(self, shown: str) -> Any:
        if shown not in self._formats:
            self._formats[shown] = self._book.add_format({"num_format": shown})
        return self._formats[shown]
