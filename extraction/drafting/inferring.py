"""A JSON Schema from what describes records already: a class, a table's header, an API, example records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cinnabar.extraction.drafting.csv_columns import schema_of_csv
from cinnabar.extraction.drafting.example_records import schema_of_records
from cinnabar.extraction.drafting.naming import property_name
from cinnabar.extraction.drafting.openapi import is_openapi, schema_of_component
from cinnabar.extraction.ingest.plain.charsets import decode
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import SchemaError, UsageError
from cinnabar.schemas.loading import parse_yaml
from cinnabar.schemas.reading.limits import check_limits
from cinnabar.schemas.texts import read_schema
from cinnabar.schemas.yaml_texts import is_yaml

#: The largest file of examples, in bytes.
LARGEST = 100_000_000

_TABLES = (".csv", ".tsv")
_LINES = (".jsonl", ".ndjson")


def infer_schema(source: str, component: str | None = None) -> dict[str, Any]:
    """The JSON Schema that `source` describes.

    `source` is `module:Class` or a name of the library, a CSV file, example records (JSON, JSONL or YAML: one record,
    or a list of them), or an OpenAPI document of which `component` is taken. Raises UsageError if it is none of these.
    """
    path = Path(source)
    if not path.is_file():
        loaded = load_schema(source)
        assert isinstance(loaded.schema, dict)
        return loaded.schema
    ending = path.suffix.lower()
    text = _text(path)
    if component is not None and ending in (*_TABLES, *_LINES):
        raise UsageError(f"{path}: --component: expected an OpenAPI document in JSON or YAML, got {ending}")
    if ending in _TABLES:
        schema = schema_of_csv(text, str(path))
    elif ending in _LINES:
        schema = schema_of_records(_records(text, str(path)))
    else:
        value = _value(text, path)
        if is_openapi(value):
            return schema_of_component(value, component, str(path))
        if component is not None:
            raise UsageError(f"{path}: --component: expected an OpenAPI document (with /openapi), got other {ending}")
        if isinstance(value, dict) and isinstance(value.get("$schema"), str):
            raise UsageError(f"{path}: expected example records, got a JSON Schema (/$schema); it can be used as it is")
        if not isinstance(value, (dict, list)):
            raise UsageError(f"{path}: expected a record or a list of records, got {type(value).__name__}")
        schema = schema_of_records(value if isinstance(value, list) else [value])
    if not schema or schema.get("type") == "null":
        raise UsageError(f"{path}: expected at least one record, got none")
    return {"title": property_name(path.stem.removesuffix(".schema"))} | schema


def _text(path: Path) -> str:
    if path.suffix.lower() not in (*_TABLES, *_LINES, ".json", ".yaml", ".yml"):
        raise UsageError(f"{path}: expected .csv, .tsv, .json, .jsonl, .ndjson, .yaml or .yml; or module:Class")
    try:
        if path.stat().st_size > LARGEST:
            raise UsageError(f"{path}: expected at most {LARGEST:,} bytes; give a part of the records")
        data = path.read_bytes()
    except OSError as problem:
        raise UsageError(f"{path}: expected a file that can be read, but: {problem.strerror or problem}") from None
    if path.suffix.lower() in _TABLES:
        return decode(data)[0].removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path}: expected UTF-8, got {problem}") from None


def _value(text: str, path: Path) -> Any:
    if is_yaml(path.name):
        value = parse_yaml(text, str(path)).value
    else:
        value = _json(text, str(path))
    check_limits(value if isinstance(value, dict) else {"records": value}, str(path))
    return value


def _records(text: str, where: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            value = _json(line, f"{where}, line {number}")
            check_limits(value if isinstance(value, dict) else {"record": value}, f"{where}, line {number}")
            yield value


def _json(text: str, where: str) -> Any:
    try:
        return read_schema(text)
    except ValueError as problem:
        raise SchemaError(f"{where}: expected JSON, got {problem}") from None
