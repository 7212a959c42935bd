"""CSV and its kin: rows with their cells two blanks apart, below each other where the table is narrow enough."""

from __future__ import annotations

import csv
from pathlib import PurePath

from cinnabar.extraction.ingest.marked_text import body_text
from cinnabar.extraction.ingest.plain.charsets import decode
from cinnabar.extraction.ingest.plain.rows import table_lines
from cinnabar.extraction.ingest.plain.text import add_text
from cinnabar.extraction.ingest.reading import Reading

_DELIMITERS = ",;\t|"
# Lines and characters by which the delimiter is told.
_SAMPLE_LINES, _SAMPLE = 50, 1 << 16
_BLOCK = 500
_MAX_CELL = 1 << 20


def add_delimited(reading: Reading, data: bytes) -> None:
    """Appends a table of delimited values; a file without a delimiter in most of its lines is plain text."""
    text, guessed = decode(data)
    delimiter = delimiter_of(text, "\t" if PurePath(reading.name).suffix.lower() in (".tsv", ".tab") else ",")
    if not delimiter or "\x00" in text:
        add_text(reading, data)
        return
    if guessed:
        reading.builder.flags.add("charset_guess")
    csv.field_size_limit(_MAX_CELL)
    with body_text(reading) as lines:
        rows: list[list[str]] = []
        number = 0
        reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
        while not lines.full:
            try:
                row = next(reader, None)
            except csv.Error:
                # A cell beyond the bound: most likely a quotation mark without its partner.
                reading.builder.flags.add("truncated")
                row = None
            if row is not None:
                rows.append([" ".join(cell.split()) for cell in row])
            if row is None or len(rows) == _BLOCK:
                for cells, (line, *_) in zip(rows, table_lines(rows), strict=True):
                    number += 1
                    if any(cells):
                        lines.line(line, f"row {number}")
                rows = []
            if row is None:
                break


def delimiter_of(text: str, preferred: str = ",") -> str:
    """Returns the delimiter that cuts most of the first lines into one number of cells, "" if none does."""
    sample = [line for line in text[:_SAMPLE].splitlines() if line.strip()]
    # The last line of a long file may be cut.
    sample = (sample[:-1] if len(text) > _SAMPLE and len(sample) > 1 else sample)[:_SAMPLE_LINES]
    best, found = 0.0, ""
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
            best, found = score, delimiter
    return found
