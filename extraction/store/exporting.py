"""Exports a view, or the answer to a query, as one file: CSV, JSON, JSON Lines, Excel or Parquet."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from cinnabar.errors import UsageError
from cinnabar.extraction.store.files import failures, write_whole
from cinnabar.extraction.store.names import quote_name, resolve_name
from cinnabar.extraction.store.queries import single_query
from cinnabar.extraction.store.reading import connect, distinct, views_in
from cinnabar.extraction.store.snapshot import VIEWS
from cinnabar.extraction.store.spreadsheet import defuse, write_workbook

FORMATS = ("csv", "json", "jsonl", "parquet", "xlsx")
# The file suffixes that imply a format.
_SUFFIXES = {f".{name}": name for name in FORMATS} | {".ndjson": "jsonl"}
# In these formats a record's view comes without this column, which repeats its other columns as text.
_TABULAR, _RECORD = ("csv", "xlsx"), "record_json"
# A workbook is for people: without these.
_HASHES = {"document", "schema_fingerprint", "engine_fingerprint"}
_QUOTED = re.compile(r"[\",\r\n]|^$|^\s|\s$")
_ROWS = 10_000


def format_of(path: Path | None, named: str | None) -> str:
    """Returns the format by its name, else by the suffix of the path. Raises UsageError if neither tells."""
    if named is not None:
        if named not in FORMATS:
            raise UsageError(f"--format: expected one of {', '.join(FORMATS)}, got {named!r}")
        return named
    known = None if path is None else _SUFFIXES.get(path.suffix.lower())
    if known is None:
        option = "--format" if path is None else f"--to {path}"
        raise UsageError(f"{option}: expected --format {', '.join(FORMATS)}, or --to with the ending of one of them")
    return known


def export(out: Path, what: str, form: str, to: Path | BinaryIO, *, sql: bool = False) -> int:
    """Writes the rows of a view (or of a query, with `sql`) to a file or a stream, and returns their number.

    In CSV a formula in a text, also in a heading, gets an apostrophe before it. Numbers stay numbers; lists and objects
    are JSON. In Excel every text is a text, a view comes without hashes, and a schema's view with a sheet for each
    list. A schema's view comes without its column `record_json` in both. In JSON and JSON Lines decimals are numbers
    with all their digits, dates are texts (ISO 8601), and numbers that are not finite are null. Parquet has the types
    of the view. A file is whole or absent. Raises UsageError if the view or query is wrong, or if the file lies within
    the output folder, where it could replace a stored file.
    """
    if isinstance(to, Path) and to.resolve().is_relative_to(out.resolve()):
        raise UsageError(f"--to {to}: lies in the output folder {out}; name a file in another folder")
    with connect(out, "sql", "UTC") as connection:
        if not sql:
            names = views_in(connection)
            known = resolve_name(what, names)
            if known is None:
                raise UsageError(f"{what}: expected a view of {out}: {', '.join(names)}")
            what = known
        records = not sql and what not in VIEWS
        left_out = {_RECORD} if records and form in _TABULAR else set()
        if form == "xlsx" and not sql:
            left_out = (left_out | _HASHES) & set(connection.sql(f"FROM {quote_name(what)}").columns)
        ordered = " ORDER BY path" if form == "xlsx" and records else ""
        chosen = f"* EXCLUDE ({', '.join(sorted(left_out))})" if left_out else "*"
        statement = single_query(connection, what if sql else f"SELECT {chosen} FROM {quote_name(what)}{ordered}")
        answer = connection.sql(statement).to_arrow_reader(_ROWS)
        write = {
            "csv": _csv,
            "json": _array,
            "jsonl": _lines,
            "parquet": _parquet,
            "xlsx": _workbook("query" if sql else what, records),
        }[form]
        if not isinstance(to, Path):
            return write(answer, to)
        return _to_file(to, answer, write)


_Writer = Callable[[pa.RecordBatchReader, BinaryIO], int]


def _to_file(to: Path, answer: pa.RecordBatchReader, write: _Writer) -> int:
    rows = 0

    def fill(temporary: Path) -> None:
        nonlocal rows
        with temporary.open("wb") as stream:
            rows = write(answer, stream)

    if to.is_dir() or not to.parent.is_dir() or not os.access(to.parent, os.W_OK):
        raise UsageError(f"--to {to}: expected a file in an existing, writable folder")
    with failures(f"{to}: could not be written"):
        write_whole(to, fill)
    return rows


def _parquet(answer: pa.RecordBatchReader, stream: BinaryIO) -> int:
    rows = 0
    with pq.ParquetWriter(stream, answer.schema, compression="zstd") as writer:
        for batch in answer:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _lines(answer: pa.RecordBatchReader, stream: BinaryIO) -> int:
    rows = 0
    for line in _objects(answer):
        stream.write(line + b"\n")
        rows += 1
    return rows


def _array(answer: pa.RecordBatchReader, stream: BinaryIO) -> int:
    """Writes a JSON array with one row a line."""
    rows = 0
    stream.write(b"[")
    for line in _objects(answer):
        stream.write((b",\n" if rows else b"\n") + line)
        rows += 1
    stream.write(b"\n]\n")
    return rows


def _objects(answer: pa.RecordBatchReader) -> Iterator[bytes]:
    names = distinct(answer.schema.names)
    for row in _values(answer):
        yield json_line(dict(zip(names, row, strict=True))).encode()


def _workbook(name: str, records: bool) -> _Writer:
    return lambda answer, stream: write_workbook(answer, stream, name, _plain, records)


def _csv(answer: pa.RecordBatchReader, stream: BinaryIO) -> int:
    rows = 0
    stream.write(_cells(map(_safe, answer.schema.names)))
    for row in _values(answer):
        stream.write(_cells(None if value is None else _safe(value) for value in row))
        rows += 1
    return rows


def _cells(row: Iterable[str | None]) -> bytes:
    """Returns a line of RFC 4180: an empty cell for null, a quoted one for an empty text."""
    cells = ("" if text is None else _cell(text) for text in row)
    return ",".join(cells).encode("utf-8", "backslashreplace") + b"\r\n"


def _cell(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if _QUOTED.search(text) else text


def _values(answer: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    # By column, because two columns of a query may have the same name.
    for batch in answer:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return json_line(value)
    return value if isinstance(value, str) else _text(value)


def _safe(value: Any) -> str:
    return _plain(value) if isinstance(value, (int, float, Decimal)) else defuse(_plain(value))


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, (date, datetime)) else str(value)


def json_line(value: Any) -> str:
    """Returns a value as JSON on one line, decimals with all their digits."""
    if isinstance(value, dict):
        parts = (f"{json.dumps(str(key), ensure_ascii=False)}: {json_line(part)}" for key, part in value.items())
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(json_line, value)) + "]"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float) and not math.isfinite(value):
        return "null"
    if isinstance(value, bytes):
        value = value.hex()
    if value is not None and not isinstance(value, (bool, int, float, str)):
        value = _text(value)
    return json.dumps(value, ensure_ascii=False)
