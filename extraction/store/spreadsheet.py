"""Writes rows as an Excel workbook: texts as texts and never as formulas, dates as dates, numbers with all digits.

Excel has limits that no other format has: 1,048,576 rows and 16,384 columns, which are errors; 32,767 characters a
cell, beyond which a text is cut; 15 digits a number and no dates before March 1900, beyond which a value is a text.

Defuses texts that a spreadsheet program would run as formulas (OWASP, CSV injection).

Such a program drops blanks, NUL and other characters that nobody sees before it looks for a formula. Under a locale
with `;` between cells it also splits a quoted text at each `;`, tab and line break, so a formula may begin there.
"""

from __future__ import annotations

import itertools
import math
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache, partial
from operator import itemgetter
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO

import pyarrow as pa

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

_Get = Callable[[Any], Any]
# The heading of a column, how it gets its value from a row, and of a list the type of its items.
_Column = tuple[str, _Get, pa.DataType | None]


def write_workbook(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    stream: BinaryIO,
    name: str,
    spelled: Callable[[Any], str],
    types: Sequence[pa.DataType] = (),
) -> int:
    """Writes a sheet, and returns the number of its rows.

    With the `types` of the columns objects become columns, and each list gets a sheet of its own, with a row for each
    item: the record's first column, the number of the item, and its values. `spelled` makes the text of a value that
    has no type in Excel. Raises UsageError if there are too many rows or columns.
    """
    # Cold start: few exports are workbooks.
    from xlsxwriter import Workbook

    fields: list[_Column] = []
    kinds: Sequence[pa.DataType | None] = types or [None] * len(columns)
    for place, (heading, kind) in enumerate(zip(columns, kinds, strict=True)):
        if kind is not None and heading == _FLAGS:  # the record's own; a field of this name gets another (tables.py)
            fields.append((heading, partial(_join, itemgetter(place)), None))
        else:
            fields += _spread(heading, itemgetter(place), kind)
    # A zip file that cannot be written whole fails twice, so a stream such as a pipe gets it when it is whole.
    with SpooledTemporaryFile(_IN_MEMORY) as whole:
        with Workbook(whole, _OPTIONS) as book:
            book.use_zip64()
            sheet = _Sheet(_Cells(book, spelled), name, fields)
            for row in rows:
                sheet.write(row)
        whole.seek(0)
        shutil.copyfileobj(whole, stream)
    return sheet.rows


def _spread(name: str, get: _Get, kind: pa.DataType | None) -> Iterator[_Column]:
    """Yields the columns of a value: an object has those of its fields."""
    if kind is not None and pa.types.is_struct(kind):
        for inner in (kind.field(at) for at in range(kind.num_fields)):
            heading = f"{name}.{inner.name}" if name else inner.name
            yield from _spread(heading, partial(_inner, get, inner.name), inner.type)
    elif kind is not None and pa.types.is_list(kind):
        yield name or "items", get, kind.value_type
    else:
        yield name or "value", get, None


def _inner(get: _Get, name: str, row: Any) -> Any:
    value = get(row)
    return None if value is None else value[name]


def _join(get: _Get, row: Any) -> Any:
    value = get(row)
    return None if value is None else ", ".join(value)


def _same(value: Any) -> Any:
    return value


class _Sheet:
    """A sheet, with the sheets of the lists in its rows; `rows` counts those below the heading.

    `keys` are headings before those of its columns.
    """

    def __init__(self, cells: _Cells, name: str, columns: Sequence[_Column], keys: Sequence[str] = ()) -> None:
        self._cells, self._columns, self.rows = cells, columns, 0
        headings = [*keys, *(heading for heading, _, _ in columns)]
        if len(headings) > COLUMNS:
            raise UsageError(f"export: Excel holds {COLUMNS:,} columns, got {len(headings):,}; name fewer with --sql")
        self._page = cells.page(name, headings)
        # In a list within a list the number of the outer item has the name of the outer list.
        below = [*keys[:-1], name, "row"] if keys else [*headings[:1], "row"]
        self._lists = [
            (get, _Sheet(cells, heading, [*_spread("", _same, kind)], below))
            for heading, get, kind in columns
            if kind is not None
        ]

    def write(self, row: Any, keys: Sequence[Any] = ()) -> None:
        """Writes a row behind its keys, and the items of its lists into their sheets."""
        self.rows += 1
        if self.rows >= ROWS:
            raise UsageError(
                f"export: Excel holds {ROWS - 1:,} rows below the heading, and there are more; choose some with"
                " --sql, or write csv or parquet"
            )
        found = [(get(row), kind) for _, get, kind in self._columns]
        values = [*keys, *(value if kind is None or value is None else len(value) for value, kind in found)]
        for place, value in enumerate(values):
            self._cells.write(self._page, self.rows, place, value)
        for get, sheet in self._lists:
            for number, item in enumerate(get(row) or (), 1):
                sheet.write(item, [*(keys or values[:1]), number])


class _Cells:
    """Writes single cells; it never asks Excel to guess what a text is."""

    def __init__(self, book: Any, spelled: Callable[[Any], str]) -> None:
        self._book, self._spelled = book, spelled
        self._plain, self._bold = book.add_format(), book.add_format({"bold": True})
        self._quoted = book.add_format({"quote_prefix": True})
        self._shown = cache(lambda shown: book.add_format({"num_format": shown}))

    def page(self, name: str, headings: Sequence[str]) -> Any:
        """Adds a sheet under a free name, with its headings."""
        plain, taken = identifier(name)[:_SHEET_NAME], {one.casefold() for one in self._book.sheetnames}
        names = itertools.chain([plain], (f"{plain[: _SHEET_NAME - 5]}_{number}" for number in itertools.count(2)))
        page = self._book.add_worksheet(next(one for one in names if one.casefold() not in taken))
        page.freeze_panes(1, 0)
        page.set_column(0, len(headings) - 1, _WIDTH)
        for place, heading in enumerate(headings):
            self.write(page, 0, place, heading, self._bold)
        return page

    def write(self, page: Any, row: int, column: int, value: Any, style: Any = None) -> None:
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


def restore(text: str) -> str:
    """Returns the text that `defuse` was given."""
    return re.sub(f"{FORMULA.pattern}{DEFUSED}", "", text)
