"""Workbooks in Excel's binary formats (`.xls`, `.xlsb`), read by calamine."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta
from typing import Any

from cinnabar.extraction.ingest.archives.zipped import open_zip, read_member
from cinnabar.extraction.ingest.marked_text import MarkedText
from cinnabar.extraction.ingest.office.number_formats import GENERAL
from cinnabar.extraction.ingest.office.sheet_text import CellCount, SheetText
from cinnabar.extraction.ingest.reading import Reading
from cinnabar.schemas.errors import DocumentError

_MAX_SHEETS = 2000


def add_old_excel(reading: Reading, data: bytes) -> None:
    """Appends a workbook. Raises DocumentError: password, broken."""
    import python_calamine

    if data.startswith(b"PK"):
        # The library unpacks the members itself; their sizes are counted before.
        with open_zip(data) as archive:
            for entry in archive.infolist():
                read_member(archive, entry, reading.count)
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        metadata = workbook.sheets_metadata
    except python_calamine.PasswordError as error:
        raise DocumentError("password", "the workbook is encrypted") from error
    # A panic of the library is no Exception.
    except BaseException as error:
        raise _fault(error) from error
    count = CellCount(reading)
    for sheet in metadata[:_MAX_SHEETS]:
        if str(sheet.typ).rpartition(".")[2] != "WorkSheet":
            continue
        hidden = str(sheet.visible).rpartition(".")[2] != "Visible"
        if hidden:
            reading.builder.flags.add("hidden_text")
            if not reading.settings.hidden:
                continue
        reading.builder.open("hidden" if hidden else "sheet", sheet.name)
        text = MarkedText(reading.builder)
        rows = SheetText(text, count)
        try:
            held = workbook.get_sheet_by_name(sheet.name)
            start = held.start or (0, 0)
            for number, row in enumerate(held.iter_rows(), 1 if held.start is None else start[0] + 1):
                cells = [(start[1] + at, _said(value)) for at, value in enumerate(row, 1) if value != ""]
                if not rows.row(number, cells):
                    break
        except BaseException as error:
            if _fault(error):
                reading.builder.flags.add("repaired")
        rows.flush()
        text.flush()
        reading.builder.mark("")
        reading.builder.close()


def _fault(error: BaseException) -> DocumentError:
    """Returns what a failure of the library means; an order to end the process, or a lack of memory, goes on."""
    if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
        raise error
    return DocumentError("broken", f"a damaged workbook: {type(error).__name__}")


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return GENERAL.write(float(value))
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds").removesuffix(" 00:00:00")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        seconds = int(value.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return str(value)
