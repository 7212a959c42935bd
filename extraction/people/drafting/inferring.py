"""A JSON Schema from what describes records already: a class, a table's header, an API, example records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cinnabar.extraction.documents.plain.charsets import decode
from cinnabar.extraction.people.drafting.csv_columns import schema_of_csv
from cinnabar.extraction.people.drafting.example_records import schema_of_records
from cinnabar.extraction.people.drafting.naming import property_name
from cinnabar.extraction.people.drafting.openapi import is_openapi, schema_of_component
from cinnabar.schemas import load_schema
from cinnabar.schemas.compiling.loading import parse_yaml
from cinnabar.schemas.errors import SchemaError, UsageError
from cinnabar.schemas.library import LIBRARY
from cinnabar.schemas.reading.limits import check_limits
from cinnabar.schemas.reading.texts import read_schema
from cinnabar.schemas.reading.yaml_texts import is_yaml

#: The largest file of examples, in bytes.
LARGEST = 100_000_000

_TABLES = (".csv", ".tsv")
_LINES = (".jsonl", ".ndjson")
_ENDINGS = (*_TABLES, *_LINES, ".json", ".yaml", ".yml")
# The values of a file that are no records, by their types in Python.
_KINDS = {
    "str": "a text", "int": "a number", "float": "a number", "Decimal": "a number", "bool": "true or false",
    "NoneType": "nothing",
}  # fmt: skip
# The keywords that say what a record is, before its properties.
_HEAD = ("$schema", "title", "description", "type")


def infer_schema(source: str, component: str | None = None) -> dict[str, Any]:
    """The JSON Schema that `source` describes.

    `source` is `module:Class` or a name of the library, a CSV file, example records (JSON, JSONL or YAML: one record,
    or a list of them), or an OpenAPI document of which `component` is taken. Raises UsageError if it is none of these.
    """
    path = Path(source)
    if not path.is_file():
        return _of_class(source, path)
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
            came = _KINDS.get(type(value).__name__, "another value")
            raise UsageError(f"{path}: expected a record or a list of records, got {came}")
        schema = schema_of_records(value if isinstance(value, list) else [value])
    if not schema or schema.get("type") == "null":
        raise UsageError(f"{path}: expected at least one record, got none")
    return {"title": property_name(path.stem.removesuffix(".schema"))} | schema


def _of_class(source: str, path: Path) -> dict[str, Any]:
    """The schema of module:Class or of the library: what it is first, and what it refers to last."""
    if path.is_dir() or path.suffix.lower() in _ENDINGS or (":" not in source and source not in LIBRARY):
        came = "it is a folder" if path.is_dir() else "there is no such file"
        raise UsageError(
            f"{source!r:.200}: {came}; expected module:Class, a CSV file, example records or an OpenAPI document"
            f" (`cinnabar schema draft` offers documents a schema of the library)"
        )
    loaded = load_schema(source)
    if not isinstance(loaded.schema, dict):
        raise UsageError(f"{source:.200}: expected a class with a JSON Schema, got one that is {loaded.schema}")
    schema = {"title": loaded.name} | loaded.schema
    return dict(sorted(schema.items(), key=lambda item: _place(item[0])))


def _place(keyword: str) -> int:
    """The place of a keyword in a schema that people edit."""
    return _HEAD.index(keyword) if keyword in _HEAD else len(_HEAD) + (keyword == "$defs")


def _text(path: Path) -> str:
    if path.suffix.lower() not in _ENDINGS:
        raise UsageError(
            f"{path}: expected {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}; or module:Class"
            f" (`cinnabar schema draft` offers documents a schema of the library)"
        )
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
