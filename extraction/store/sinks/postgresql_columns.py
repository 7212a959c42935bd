"""How the columns of a view become columns of PostgreSQL."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cinnabar.extraction.store.exporting import json_line

# The most bytes of an identifier; PostgreSQL cuts longer ones without a word.
_LONGEST = 63
# The names that every table of PostgreSQL has already.
_SYSTEM = {"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}
# PostgreSQL has no text with NUL; this is what stands for it.
_NUL = "\u2400"
# In JSON: a backslash that stands for itself, or a NUL.
_NUL_IN_JSON = re.compile(r"(\\\\)|\\u0000")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, and its type as PostgreSQL spells it (`format_type`)."""

    name: str
    type: str


def fitting(name: str, taken: set[str]) -> str:
    """Returns the name as PostgreSQL can have it, which no other one in `taken` is, and adds it there.

    A name that is too long, or taken, is cut and ends with the start of its SHA-256.
    """
    plain = name.replace("\0", _NUL)
    if len(plain.encode()) > _LONGEST or plain in taken:
        tail = f"_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        plain = plain.encode()[: _LONGEST - len(tail)].decode("utf-8", "ignore") + tail
    taken.add(plain)
    return plain


def columns_of(schema: pa.Schema) -> list[Column]:
    """Returns the columns of a table for rows of this schema."""
    taken = set(_SYSTEM)
    return [Column(fitting(field.name, taken), _type(field.type)) for field in schema]


def _type(kind: pa.DataType) -> str:
    if pa.types.is_nested(kind):
        return "jsonb"
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp with time zone" if kind.tz else "timestamp without time zone"
    return _TYPES.get(kind, "text")


_TYPES = {
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.date32(): "date",
}


def sent_batches(rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Returns rows of a view as they are sent, in columns c0, c1, …, without their last one, the digest.

    What ADBC cannot send as its own type is text, which the database casts.
    """
    schema = pa.schema([pa.field(f"c{at}", _sent(rows.schema.field(at).type)) for at in range(len(rows.schema) - 1)])

    def sent() -> Iterator[pa.RecordBatch]:
        for batch in rows:
            columns = [_column(one, field.type) for one, field in zip(batch.columns[:-1], schema, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, sent())


def _sent(kind: pa.DataType) -> pa.DataType:
    return kind if kind in _TYPES or pa.types.is_timestamp(kind) else pa.string()


def _column(column: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    if pa.types.is_nested(column.type):
        texts = [None if value is None else json_line(value) for value in column.to_pylist()]
        return pa.array([text and _NUL_IN_JSON.sub(lambda m: m[1] or _NUL, text) for text in texts], kind)
    if column.type == pa.string():
        return pc.replace_substring(column, "\0", _NUL)
    return column.cast(kind)
