"""CSV and its kin: rows with their cells two blanks apart, below each other where the table is narrow enough."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import PurePath

from cinnabar.extraction.documents.content.limits import MAX_CSV_CELL, MAX_ROW_CELLS
from cinnabar.extraction.documents.content.marked_text import part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.plain.charsets import add_text, decode
from cinnabar.extraction.documents.plain.rows import table_lines, widths

_DELIMITERS = ",;\t|"
# Lines and characters by which the delimiter is told.
_SAMPLE_LINES, _SAMPLE = 50, 1 << 16
# Spellings that programs give a cell lest a spreadsheet takes it for a number, a date or a formula.
_GUARDED = re.compile(r"""=\s?(?:T\()?\(?"((?:[^"]|"")*)"\)?|'([=+@-].*(?<!')|\d[\dA-Z.,:/-]*(?: \d[\d.,:]*)*)""")
# A cell that goes on behind a mark with a backslash: the writer doubles no marks.
_BACKSLASHED = re.compile(r'(?:^|[,;\t|])"[^"\n]*\\" *[^,;\t|\s"]', re.MULTILINE)
_ESCAPED = re.compile(r'\\(["\\])')
# Rows and cells that are laid out at once.
_BLOCK, _BLOCK_CELLS = 500, 1 << 17


def add_delimited(reading: ParseContext, data: bytes) -> None:
    """Appends a table of delimited values; a file without a delimiter in most of its lines is plain text.

    Cells beyond the bound of a row are left out, with the flag `truncated`; the rows after it are read.
    """
    text, guessed = decode(data)
    if _BACKSLASHED.search(text):
        text = _ESCAPED.sub(lambda escaped: '""' if escaped[1] == '"' else "\\", text)
    delimiter = delimiter_of(text, "\t" if PurePath(reading.name).suffix.lower() in (".tsv", ".tab") else ",")
    if not delimiter or "\x00" in text:
        add_text(reading, data)
        return
    if guessed:
        reading.builder.flags.add("charset_guess")
    csv.field_size_limit(MAX_CSV_CELL)
    with part_text(reading) as lines:
        number, ended, columns = 1, False, list[int]()
        reader = csv.reader(_limit_lines(reading, text, delimiter), delimiter=delimiter)
        while not (ended or lines.full):
            rows, ended = _block(reading, reader)
            columns = widths(rows, columns)
            for cells, (line, *_) in zip(rows, table_lines(rows, columns), strict=True):
                if any(cells):
                    lines.line(line, f"row {number}")
                number += 1


def _block(reading: ParseContext, reader: Iterable[list[str]]) -> tuple[list[list[str]], bool]:
    """Returns the next rows that are laid out at once, and whether the file ended."""
    rows: list[list[str]] = []
    cells_waiting = 0
    try:
        for row in reader:
            if len(row) > MAX_ROW_CELLS:
                reading.builder.flags.add("truncated")
                del row[MAX_ROW_CELLS:]
            rows.append([_meant(" ".join(cell.split())) for cell in row])
            cells_waiting += len(row)
            if len(rows) == _BLOCK or cells_waiting >= _BLOCK_CELLS:
                return rows, False
    except csv.Error:
        # A cell beyond the bound: most likely a quotation mark without its partner.
        reading.builder.flags.add("truncated")
    return rows, True


def _meant(cell: str) -> str:
    """Returns a cell without what a program put around it against the guesses of a spreadsheet."""
    if cell[:1] not in ("=", "'") or (guarded := _GUARDED.fullmatch(cell)) is None:
        return cell
    return guarded[2] or (guarded[1] or "").replace('""', '"')


def _limit_lines(reading: ParseContext, text: str, delimiter: str) -> Iterable[str]:
    """Returns the lines of a text; one with too many delimiters ends at the last of them that may count.

    A list of 15 million cells would take all of a parser's time and memory.
    """
    lines = text.splitlines(keepends=True)
    if max(map(len, lines), default=0) <= 2 * MAX_ROW_CELLS:
        return lines
    return (_bounded_line(reading, line, delimiter) for line in lines)


def _bounded_line(reading: ParseContext, line: str, delimiter: str) -> str:
    # Delimiters in quotation marks make no cells.
    if line.count(delimiter) <= 2 * MAX_ROW_CELLS:
        return line
    reading.builder.flags.add("truncated")
    at = 0
    for _ in range(2 * MAX_ROW_CELLS):
        at = line.index(delimiter, at) + 1
    quoted = line.count('"', 0, at) % 2
    return line[:at] + '"' * quoted + "\n"


def delimiter_of(text: str, preferred: str = ",") -> str:
    """Returns the delimiter that cuts most of the first lines into one number of cells, "" if none does."""
    sample = [line for line in text[:_SAMPLE].splitlines() if line.strip()]
    # The last line of a long file may be cut.
    sample = (sample[:-1] if len(text) > _SAMPLE and len(sample) > 1 else sample)[:_SAMPLE_LINES]
    best, chosen = 0.0, ""
    for delimiter in preferred + _DELIMITERS.replace(preferred, ""):
        try:
            sizes = [len(row) for row in csv.reader(sample, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if not sizes:
            continue
        common = max(set(sizes), key=sizes.count)
        # Of two that fit as well, the one with more cells is the delimiter, and the other one occurs in numbers.
        score = sizes.count(common) / len(sizes) + min(common, 50) / 1000
        if common > 1 and 2 * sizes.count(common) > len(sizes) and score > best:
            best, chosen = score, delimiter
    return chosen
