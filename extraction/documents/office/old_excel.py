"""Workbooks in Excel's binary formats (`.xls`, `.xlsb`), read by calamine; encrypted office files are opened first."""

from __future__ import annotations

import io
import struct
from datetime import date, datetime, time, timedelta
from typing import Any

import olefile
import python_calamine

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.formats import content_format
from cinnabar.extraction.documents.content.limits import MAX_RECTANGLE, MAX_SHEETS
from cinnabar.extraction.documents.content.parse_context import PASSWORD_HELP, ParseContext
from cinnabar.extraction.documents.content.zipped import open_zip, read_member
from cinnabar.extraction.documents.office.sheet_text import GENERAL, CellCount, sheet_rows

# Records of BIFF that place a cell: each begins with its row and column. Two of them end with their last column.
_CELLS = frozenset((0x0001, 0x0002, 0x0003, 0x0004, 0x0005, 0x0006, 0x0201, 0x0203, 0x0204, 0x0205, 0x00D6, 0x00FD))
_RUNS, _BEGIN, _RECORD = frozenset((0x00BD, 0x00BE)), 0x0809, struct.Struct("<2H")
# A record that tells how the workbook is encrypted.
_LOCKED = 0x002F
# A record that claims the rectangle around all cells of a sheet, with the long and the short form of its rows.
_CLAIM, _LONG_CLAIM, _SHORT_CLAIM = 0x0200, struct.Struct("<2L2H"), struct.Struct("<4H")


def add_old_excel(reading: ParseContext, data: bytes) -> None:
    """Appends a workbook. Raises DocumentError: password, broken."""
    if data.startswith(b"PK"):
        # The library unpacks the members itself; their sizes are counted before.
        with open_zip(data) as archive:
            for entry in archive.infolist():
                read_member(archive, entry, reading.count)
    elif _check_extent(data):
        data = decrypt(reading, data)
        _check_extent(data)
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        metadata = workbook.sheets_metadata
    except python_calamine.PasswordError as error:
        raise DocumentError("password", "the workbook is encrypted in a way that is not opened here") from error
    # A panic of the library is no Exception.
    except BaseException as error:
        raise _fault(error) from error
    count = CellCount(reading)
    for sheet in metadata[:MAX_SHEETS]:
        if str(sheet.typ).rpartition(".")[2] != "WorkSheet":
            continue
        hidden = str(sheet.visible).rpartition(".")[2] != "Visible"
        if reading.leaves_out(hidden):
            continue
        with sheet_rows(count, sheet.name, hidden) as rows:
            try:
                held = workbook.get_sheet_by_name(sheet.name)
                start = held.start or (0, 0)
                for number, row in enumerate(held.iter_rows(), start[0] + 1):
                    cells = [(start[1] + at, _cell_text(value)) for at, value in enumerate(row, 1) if value != ""]
                    if not rows.row(number, cells):
                        break
            except BaseException as error:
                if _fault(error):
                    reading.builder.flags.add("repaired")


def _check_extent(data: bytes) -> bool:
    """Returns True if the workbook is encrypted.

    Raises DocumentError("unpacked") if the cells of a sheet lie too far from each other.
    """
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            stream = ole.openstream("Workbook" if ole.exists("Workbook") else "Book").read()
    # The library fails in several ways on damaged files.
    except Exception as error:
        raise DocumentError("broken", f"a damaged workbook: {type(error).__name__}") from error
    at, rows, columns = 0, (1 << 16, 0), (1 << 16, 0)
    while at + 8 <= len(stream):
        kind, size = _RECORD.unpack_from(stream, at)
        held = stream[at + 4 : at + 4 + size]
        at += 4 + size
        cells = 0
        if kind == _LOCKED:
            # All records behind it are encrypted.
            return True
        if kind == _BEGIN:
            rows, columns = (1 << 16, 0), (1 << 16, 0)
        elif kind == _CLAIM and len(held) >= _SHORT_CLAIM.size:
            top, bottom, left, right = (_LONG_CLAIM if len(held) >= 12 else _SHORT_CLAIM).unpack_from(held)
            # Ends are exclusive, and ends in the wrong order wrap round in the library.
            cells = (bottom - top) % (1 << 32) * ((right - left) % (1 << 32)) if bottom and right else 1
        elif (kind in _CELLS or kind in _RUNS) and len(held) >= 4:
            row, column = _RECORD.unpack_from(held)
            last = int.from_bytes(held[-2:], "little") if kind in _RUNS else column
            rows = min(rows[0], row), max(rows[1], row)
            columns = min(columns[0], column), max(columns[1], column, last)
            cells = (rows[1] - rows[0] + 1) * (columns[1] - columns[0] + 1)
        if cells > MAX_RECTANGLE:
            raise DocumentError("unpacked", f"the cells of a sheet span {cells}, at most {MAX_RECTANGLE} are read")
    return False


def _fault(error: BaseException) -> DocumentError:
    """Returns what a failure of the library means; an order to end the process, or a lack of memory, goes on."""
    if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
        raise error
    return DocumentError("broken", f"a damaged workbook: {type(error).__name__}")


def _cell_text(value: Any) -> str:
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


# Excel encrypts read-only workbooks with it, so that everyone can open them.
_KNOWN = "VelvetSweatshop"


def add_encrypted(reading: ParseContext, data: bytes) -> None:
    """Appends an encrypted office file. Raises DocumentError: password if none of the passwords opens it, broken."""
    inside = decrypt(reading, data)
    reading.read(content_format(inside, reading.name).reader(), inside)


def decrypt(reading: ParseContext, data: bytes) -> bytes:
    """Returns an encrypted office file without its encryption. Raises DocumentError: password, broken, unpacked."""
    # Cold start: the library imports much, and few files need it.
    import msoffcrypto
    from msoffcrypto.exceptions import InvalidKeyError

    # The whole content is decrypted in memory.
    reading.count(len(data))
    try:
        file = msoffcrypto.OfficeFile(io.BytesIO(data))
        for password in (*reading.settings.passwords, _KNOWN):
            opened = io.BytesIO()
            try:
                # Files of before 2007 know no other time for the test of a password.
                check = {"verify_password": True} if file.format == "ooxml" else {}
                file.load_key(password=password, **check)
                file.decrypt(opened)
            except InvalidKeyError:
                continue
            return opened.getvalue()
    # The library fails in several ways on damaged files.
    except Exception as error:
        raise DocumentError("broken", f"an encrypted office file: {type(error).__name__}") from error
    raise DocumentError("password", f"the office file is encrypted, and no password opens it: {PASSWORD_HELP}")
