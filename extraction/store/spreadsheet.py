"""Writes rows as an Excel workbook, and defuses texts that a spreadsheet program would run (OWASP, CSV injection).

Excel has limits that no other format has: 1,048,576 rows and 16,384 columns, which are errors; 32,767 characters a
cell, beyond which a text is cut; 15 digits a number and no dates before March 1900, beyond which a value is a text.
Programs drop blanks, NUL and other characters that nobody sees before they look for a formula, and under a locale with
`;` between cells split a quoted text at each `;`, tab and line break.
"""

from __future__ import annotations

import itertools
import math
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from cinnabar.errors import UsageError
from cinnabar.extraction.store.names import identifier

ROWS, COLUMNS, CHARACTERS, DIGITS = 1_048_576, 16_384, 32_767, 15
# Earlier days have another number in Excel than in every other program, because it has a 29th of February 1900.
_FIRST_DAY = date(1900, 3, 1)
_SHEET_NAME = 31
# Characters of a column's width: those of a date with its time, which Excel shows as `####` in a narrower one.
_WIDTH = 24
_FLAGS = "flags"
_CUT = "…"
# Bytes of a workbook that are kept in memory.
_IN_MEMORY = 1 << 20
_OPTIONS = {
    # Rows go to a temporary file for each sheet one by one, so memory does not grow with them.
    "constant_memory": True,
    "default_date_format": "yyyy-mm-dd",
    "remove_timezone": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
}



def write_workbook(
    answer: pa.RecordBatchReader, stream: BinaryIO, name: str, spelled: Callable[[Any], str], records: bool = False
) -> int:
    """Writes a sheet, and returns the number of its rows.

    Of `records` objects become columns, and each list gets a sheet of its own, with a row for each item: the record's
    first column, the number of the item, and its values. `spelled` makes the text of a value that has no type in Excel.
    Raises UsageError if there are too many rows or columns.
    """
    # Cold start: few exports are workbooks.
    from xlsxwriter import Workbook

    # A zip file that cannot be written whole fails twice, so a stream such as a pipe gets it when it is whole.
    with SpooledTemporaryFile(_IN_MEMORY) as whole:
        with Workbook(whole, _OPTIONS) as book:
            book.use_zip64()
            cells = _Cells(book, spelled)
            # The empty batch makes all sheets of an answer without rows.
            tables = (pa.Table.from_batches([batch]) for batch in answer)
            for table in itertools.chain([answer.schema.empty_table()], tables):
                for place, rows in _sheets((name,), table, 0) if records else [((name,), table)]:
                    cells.append(place, rows)
        whole.seek(0)
        shutil.copyfileobj(whole, stream)
    return cells.rows((name,))


def _sheets(place: tuple[str, ...], table: pa.Table, keys: int) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
    """Yields the sheet of records, whose first columns are `keys`, and those of the lists in them.

    `place` is the name of the sheet behind those of the lists around it.
    """
    # A record's own flags are no list of values; a field of this name gets another (tables.py).
    if keys == 0 and _FLAGS in table.column_names:
        flags: Any = pc.binary_join(table[_FLAGS], ", ")
        table = table.set_column(table.column_names.index(_FLAGS), _FLAGS, flags)
    while any(map(pa.types.is_struct, table.schema.types)):
        table = table.flatten()
    lists = {at for at, kind in enumerate(table.schema.types) if pa.types.is_list(kind)}
    shown = [
        name.removeprefix(".") or ("items" if at in lists else "value") for at, name in enumerate(table.column_names)
    ]
    lengths = {at: pc.list_value_length(table.column(at)) for at in lists}
    columns = [lengths.get(at, column) for at, column in enumerate(table.columns)]
    yield place, pa.Table.from_arrays(columns, shown)
    # In a list within a list the number of the outer item has the name of the outer list.
    above = [*shown[: keys - 1], place[-1]] if keys else shown[:1]
    for at in sorted(lists):
        items = table.column(at).combine_chunks()
        parents, sizes = pc.list_parent_indices(items), pc.fill_null(lengths[at].combine_chunks(), 0).cast(pa.int64())
        # The number of an item is its place behind the end of the list before.
        before = pc.subtract(pc.cumulative_sum(sizes), sizes).take(parents)
        numbers = pc.subtract(pa.array(range(1, len(parents) + 1), pa.int64()), before)
        held = [column.take(parents) for column in columns[: len(above)]]
        inner = pa.Table.from_arrays([*held, numbers, pc.list_flatten(items)], [*above, "row", ""])
        yield from _sheets((*place, shown[at]), inner, len(above) + 1)


class _Cells:
    """Writes the cells of a book's sheets; it never asks Excel to guess what a text is."""

    def __init__(self, book: Any, spelled: Callable[[Any], str]) -> None:
        self._book, self._spelled = book, spelled
        self._pages: dict[tuple[str, ...], tuple[Any, int]] = {}
        self._plain, self._bold = book.add_format(), book.add_format({"bold": True})
        self._quoted = book.add_format({"quote_prefix": True})
        self._shown = cache(lambda shown: book.add_format({"num_format": shown}))

    def rows(self, place: tuple[str, ...]) -> int:
        """Returns the number of rows of a sheet below its heading."""
        return self._pages[place][1]

    def append(self, place: tuple[str, ...], table: pa.Table) -> None:
        """Writes rows below those of a sheet, which the first call adds. Raises UsageError if Excel holds no more."""
        page, row = self._pages.get(place) or (self._page(place[-1], table.column_names), 0)
        for values in zip(*(column.to_pylist() for column in table.columns), strict=True):
            row += 1
            if row >= ROWS:
                raise UsageError(
                    f"export: Excel holds {ROWS - 1:,} rows below the heading, and there are more; choose some with"
                    " --sql, or write csv or parquet"
                )
            for at, value in enumerate(values):
                self._write(page, row, at, value)
        self._pages[place] = page, row

    def _page(self, name: str, headings: Sequence[str]) -> Any:
        """Adds a sheet under a free name, with its headings."""
        if len(headings) > COLUMNS:
            raise UsageError(f"export: Excel holds {COLUMNS:,} columns, got {len(headings):,}; name fewer with --sql")
        plain, taken = identifier(name)[:_SHEET_NAME], {one.casefold() for one in self._book.sheetnames}
        names = itertools.chain([plain], (f"{plain[: _SHEET_NAME - 5]}_{number}" for number in itertools.count(2)))
        page = self._book.add_worksheet(next(one for one in names if one.casefold() not in taken))
        page.freeze_panes(1, 0)
        page.set_column(0, len(headings) - 1, _WIDTH)
        for place, heading in enumerate(headings):
            self._write(page, 0, place, heading, self._bold)
        return page

    def _write(self, page: Any, row: int, column: int, value: Any, style: Any = None) -> None:
        """Writes a value; null is an empty cell."""
        if isinstance(value, float) and not math.isfinite(value):
            return
        if not isinstance(value, (bool, int, float, Decimal, date, str, type(None))) or _is_beyond(value):
            value = self._spelled(value)
        if isinstance(value, str):
            if len(value) > CHARACTERS // 2:
                value = _cut(value)
            if FORMULA.search(value):
                style = style or self._quoted  # Excel would run it after somebody edits the cell
            if value.startswith("<r>") and value.endswith("</r>"):
                # XlsxWriter takes such a text for markup of its own and would not escape it.
                page.write_rich_string(row, column, "<r>", self._plain, value.removeprefix("<r>"))
                return
        elif isinstance(value, datetime):
            style = self._shown("yyyy-mm-dd hh:mm:ss" + (".000" if value.microsecond else ""))
        elif isinstance(value, Decimal) and (places := -int(value.as_tuple().exponent)) > 0:
            style = self._shown("0." + "0" * min(places, 30))
        page.write(row, column, value, style)


def _is_beyond(value: Any) -> bool:
    """Returns True for a number of more digits than Excel's numbers have, and for a day before its first one."""
    if isinstance(value, date):
        return (value.date() if isinstance(value, datetime) else value) < _FIRST_DAY
    return isinstance(value, (int, Decimal)) and len(Decimal(value).normalize().as_tuple().digits) > DIGITS


def _cut(text: str) -> str:
    # Excel counts characters of UTF-16.
    encoded = text.encode("utf-16-le", "surrogatepass")
    if len(encoded) // 2 <= CHARACTERS:
        return text
    return encoded[: 2 * (CHARACTERS - len(_CUT))].decode("utf-16-le", "ignore") + _CUT


#: The apostrophe before a formula that makes it plain text; without it the text is the original again.
DEFUSED = "'"
# Blanks, control and format characters, apostrophes and quotation marks.
_SKIPPED = (
    "[\\s\\x00-\\x20\\x7f-\\xa0\\xad\\u061c\\u180e\\u200b-\\u200f"
    "\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb'\"]*"
)
# Also in full width and as small forms, which some programs take for the plain ones.
_STARTS = "[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20\\ufe66\\ufe62\\ufe63\\ufe6b]"
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_CUTS = ";\t\r\n"
#: The places before which a formula, a tab or a line break begins a cell; a number alone is no formula.
FORMULA = re.compile(
    rf"(?:^(?='*[\t\r\n])|(?:^(?!\ *{_NUMBER}\Z)|(?<=[{_CUTS}])(?!\ *{_NUMBER}(?:[{_CUTS}]|\Z)))"
    rf"(?={_SKIPPED}{_STARTS}))"
)


def defuse(text: str) -> str:
    """Returns a text with an apostrophe at each place where a cell would begin with a formula."""
    return FORMULA.sub(DEFUSED, text)
