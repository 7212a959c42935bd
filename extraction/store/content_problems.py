"""Tells whether a Parquet file of a batch holds what Cinnabar writes there: its columns, and texts that it reads again.

A file may have its checksum and yet come from elsewhere. `verify` asks this of every file, and a command that failed
asks it of the folder that it read, so that the file is named in place of an error of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.records import STATUSES
from cinnabar.schemas.automata.canonical import parse

_TABLES = {"data": tables.SYSTEM_COLUMNS, **tables.TABLE_COLUMNS}
# Of each table the columns that all versions of Cinnabar wrote and that are never null; others may be missing.
_ALWAYS = {
    "data": ("path", "document", "confidence", "run_id", "schema_fingerprint", "engine_fingerprint", "record_json"),
    "fields": ("document", "schema_name", "pointer", "field", "confidence", "origin", "run_id", "schema_fingerprint"),
    "documents": ("document", "run_id"),
    "outcomes": ("run_id", "path", "outcome", "schema_name", "schema_fingerprint", "engine_fingerprint"),
    "runs": ("run_id", "started", "schema_name", "schema_fingerprint"),
    "checks": ("document", "check_name", "run_id", "schema_fingerprint"),
    "corrections": ("identity", "document", "schema_name", "schema_fingerprint", "action", "pointer", "who", "made"),
    "uncorrected": ("document", "schema_name", "schema_fingerprint", "run_id", "record"),
}
_NULLABLE = {
    "fields": ("value_json", "spans", "boxes", "evidence_text", "page", "missing"),
    "outcomes": ("code", "detail", "pointers", "document", "record_json"),
    "runs": ("arguments", "finished", "inputs", "written", "quarantined", "skipped"),
    "corrections": ("before", "after", "undoes", "units", "run_id"),
    "checks": ("holds",),
}


def content_problem(path: Path, table: str) -> str | None:
    """Returns how this file differs from what Cinnabar writes in a table, None if it does not."""
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        for column in (*_ALWAYS[table], *_NULLABLE.get(table, ())):
            if column not in schema.names:
                return f"expected the column {column}, found none; Cinnabar did not write it"
        for wanted in _TABLES[table]:
            if wanted.name in schema.names and _kind(schema.field(wanted.name).type) != _kind(wanted.type):
                got = schema.field(wanted.name).type
                return f"{wanted.name}: expected {wanted.type}, found {got}; Cinnabar did not write it"
        checked = list(dict.fromkeys((*_ALWAYS[table], *_TEXTS.get(table, {}))))
        for batch in file.iter_batches(columns=checked):
            for column in _ALWAYS[table]:
                if batch.column(column).null_count:
                    return f"{column}: expected a value in each row, found none; Cinnabar did not write it"
            for column, fits in _TEXTS.get(table, {}).items():
                for text in batch.column(column).to_pylist():
                    if text is not None and not fits(text):
                        return f"{column}: found {text[:80]!r}, which Cinnabar does not write there"
    return None


def broken_file(out: Path) -> str | None:
    """Returns a file of this folder with contents that Cinnabar does not write, and what they are; None without one."""
    for entry in manifests.read_live(out):
        for file in entry.files:
            try:
                problem = content_problem(out / file.path, file.table)
            except (OSError, ValueError) as error:
                problem = f"cannot be read ({error})"
            if problem is not None:
                return f"{out / file.path}: {problem}; `cinnabar verify` sets its batch aside, and a run fills it again"
    return None


def _kind(kind: pa.DataType) -> str:
    """Returns the kind of a column; widths may differ between versions."""
    if pa.types.is_list(kind):
        return f"list of {_kind(kind.value_type)}"
    for name, holds in _KINDS.items():
        if holds(kind):
            return name
    return str(kind)


_KINDS: dict[str, Callable[[pa.DataType], bool]] = {
    "text": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    "integer": pa.types.is_integer,
    "float": pa.types.is_floating,
    "decimal": pa.types.is_decimal,
    "moment": pa.types.is_timestamp,
    "object": pa.types.is_struct,
}


def _json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        try:
            parse(text)  # a number may be larger than one that orjson reads
        except ValueError:
            return False
    return True


def _arguments(text: str) -> bool:
    try:
        arguments = orjson.loads(text)
    except ValueError:
        return False
    if not isinstance(arguments, dict):
        return False
    model, paths, passwords = arguments.get("model"), arguments.get("paths"), arguments.get("passwords", 0)
    return isinstance(model, str | None) and _is_list(paths) and isinstance(passwords, int)


def _is_list(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _parts(names: Iterable[str]) -> Callable[[str], bool]:
    """Returns whether a text is a JSON object with these names."""

    def fits(text: str) -> bool:
        try:
            record = orjson.loads(text)
        except ValueError:
            return False
        return isinstance(record, dict) and record.keys() >= set(names)

    return fits


_TEXTS: dict[str, dict[str, Callable[[str], bool]]] = {
    "data": {"record_json": _json},
    "fields": {"value_json": _json},
    "outcomes": {"outcome": lambda text: text in STATUSES},
    "runs": {"arguments": _arguments},
    "corrections": {
        "action": lambda text: text in ("value", "absent", "accept", "list", "other_kind", "audit", "no_part"),
        "before": _json,
        "after": _json,
        "units": lambda text: text.startswith("[") and _json(text),
    },
    "uncorrected": {"record": _parts(("status", "record"))},
}
