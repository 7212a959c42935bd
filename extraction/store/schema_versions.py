"""Unites all versions of a schema in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cinnabar.errors import NotUnited
from cinnabar.extraction.store.files import explain_broken_file
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.names import quote_name
from cinnabar.schemas.columns.united_columns import united_columns


def united_source(out: Path, versions: Mapping[str, tuple[str, Sequence[Manifest]]]) -> str | None:
    """Returns the query for the records of these versions, latest first; columns that a version lacks are null.

    `versions` maps fingerprints to an SQL source and its commits. The query leaves out a version whose types conflict
    with those of later ones. Returns None if fewer than two versions remain.
    """
    whole: list[pa.Field[Any]] = []
    parts: list[tuple[str, pa.Schema]] = []
    for source, commits in versions.values():
        present = stored_columns(out, commits)
        try:
            columns = united_columns(list(present), whole)
        except NotUnited:
            continue
        # DuckDB does not tell capitals from small letters.
        if len({column.name.casefold() for column in columns}) == len(columns):
            whole = columns
            parts.append((source, present))
    if len(parts) < 2:
        return None
    # Cast here, because DuckDB rounds decimals of different scales to the smaller one and turns any mix into text.
    queries = (f"SELECT {_cast(present, whole)} FROM {source}" for source, present in parts)
    return " UNION ALL BY NAME ".join(queries)


def stored_columns(out: Path, commits: Sequence[Manifest]) -> pa.Schema:
    """Returns the columns of the records of these commits, by the last of their files."""
    path = next(out / f.path for entry in reversed(commits) for f in entry.files if f.table == "data")
    with explain_broken_file(path):
        return pq.read_schema(path)


def _cast(present: pa.Schema, whole: Sequence[pa.Field[Any]]) -> str:
    there = set(present.names)
    return ", ".join(
        quote_name(f.name)
        if f.name in there and present.field(f.name).type.equals(f.type)
        else f"CAST({quote_name(f.name) if f.name in there else 'NULL'} AS {sql_type(f.type)}) AS {quote_name(f.name)}"
        for f in whole
    )


def sql_type(kind: pa.DataType) -> str:
    """Returns the DuckDB type of a column."""
    if pa.types.is_struct(kind):
        fields = (kind.field(i) for i in range(kind.num_fields))
        return f"STRUCT({', '.join(f'{quote_name(f.name)} {sql_type(f.type)}' for f in fields)})"
    if pa.types.is_list(kind):
        return f"{sql_type(kind.value_type)}[]"
    if isinstance(kind, pa.Decimal128Type):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return _PLAIN[str(kind)]


_PLAIN = {
    "bool": "BOOLEAN",
    "date32[day]": "DATE",
    "double": "DOUBLE",
    "float": "FLOAT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "string": "VARCHAR",
    "timestamp[us, tz=UTC]": "TIMESTAMP WITH TIME ZONE",
}
