"""Writes rows as an Excel workbook: texts as texts and never as formulas, dates as dates, numbers with all digits.

Excel has limits that no other format has: 1,048,576 rows and 16,384 columns, which are errors; 32,767 characters a
cell, 15 digits a number and no dates before March 1900, of which the notes of an export tell.
"""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO

from cinnabar.extraction.storage.names import identifier
from cinnabar.schemas.errors import UsageError

ROWS, COLUMNS, CHARACTERS, DIGITS = 1_048_576, 16_384, 32_767, 15
# Earlier days have another number in Excel than in every other program, because it has a 29th of February 1900.
_FIRST_DAY = date(1900, 3, 1)
_SHEET_NAME = 31
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
) -> tuple[int, list[str]]:
    """Writes one sheet, and returns the number of rows and notes on cells that Excel cannot hold unchanged.

    `spelled` makes the text of a value that has no type in Excel, such as a list. Raises UsageError if there are too
    many rows or columns.
    """
    from xlsxwriter import Workbook

    if len(columns) > COLUMNS:
        raise UsageError(f"export: Excel holds {COLUMNS:,} columns, got {len(columns):,}; name fewer with --sql")
    changed: Counter[str] = Counter()
    count = 0
    # A zip file that cannot be written whole fails twice, so a stream such as a pipe gets it when it is whole.
    with SpooledTemporaryFile(_IN_MEMORY) as whole:
        # Rows go to a temporary file one by one, so memory does not grow with them.
        with Workbook(whole, {"constant_memory": True, "default_date_format": "yyyy-mm-dd"}) as book:
            book.use_zip64()
            sheet = book.add_worksheet(identifier(name)[:_SHEET_NAME])
            sheet.freeze_panes(1, 0)
            cells = _Cells(book, sheet, spelled, changed)
            for place, column in enumerate(columns):
                cells.text(0, place, column, book.add_format({"bold": True}))
            for count, row in enumerate(rows, 1):
                if count >= ROWS:
                    raise UsageError(
                        f"export: Excel holds {ROWS - 1:,} rows below the heading, and there are more; choose some with"
                        " --sql, or write csv or parquet"
                    )
                for place, value in enumerate(row):
                    cells.write(count, place, value)
        whole.seek(0)
        shutil.copyfileobj(whole, stream)
    return count, list(_notes(changed))


def _notes(changed: Counter[str]) -> Iterator[str]:
    for what, told in _NOTES.items():
        if changed[what]:
            yield f"{changed[what]:,} {told}"


class _Cells:
    """Writes single cells; it never asks Excel to guess what a text is."""

    def __init__(self, book: Any, sheet: Any, spelled: Callable[[Any], str], changed: Counter[str]) -> None:
        self._book, self._sheet, self._spelled, self._changed = book, sheet, spelled, changed
        self._plain = book.add_format()
        self._formats: dict[str, Any] = {}

    def write(self, row: int, column: int, value: Any) -> None:
        """Writes a value; null is an empty cell."""
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return
        if isinstance(value, bool):
            self._sheet.write_boolean(row, column, value)
        elif isinstance(value, (int, float, Decimal)):
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
            shown = "yyyy-mm-dd hh:mm:ss" + (".000" if value.microsecond else "")
            self._sheet.write_datetime(row, column, value.replace(tzinfo=None), self._format(shown))
        else:
            self._sheet.write_datetime(row, column, value, self._format("yyyy-mm-dd"))

    def _format(self, shown: str) -> Any:
        if shown not in self._formats:
            self._formats[shown] = self._book.add_format({"num_format": shown})
        return self._formats[shown]
