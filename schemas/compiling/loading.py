"""Loading of a schema from the library, a file, a Pydantic class, a dict, or an Outlines type."""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from cinnabar.errors import SchemaError
from cinnabar.schemas.compiling.misspelt_keywords import refuse_misspelt_keywords
from cinnabar.schemas.keywords import DECIMALS
from cinnabar.schemas.left_keywords import refuse_left_keywords
from cinnabar.schemas.library import LIBRARY
from cinnabar.schemas.parsing.metaschema import check_schema, fingerprint
from cinnabar.schemas.parsing.texts import read_schema
from cinnabar.schemas.parsing.yaml_texts import SUFFIXES, YamlText, read_yaml
from cinnabar.schemas.python_types import is_type, name_of, schema_of

# Decimal places of a Pydantic Decimal that names none: decimal columns need a scale, and nine places leave 29 digits
# before the point of the 38 that Arrow and DuckDB hold.
DECIMAL_PLACES = 9
_SUFFIXES = (".json", *SUFFIXES)


@dataclass(frozen=True, slots=True)
class SchemaSource:
    """A loaded schema.

    `name` is for people and file names: the library's name, else the title, else the file's or class's name.
    `model` is the type if the schema came from one that Pydantic can judge values by, mostly a Pydantic class.
    `fingerprint` is the SHA-256 of the schema as JSON
    with sorted keys, annotations included, since the model reads them.
    `stored` if a folder holds it, where an earlier version may have put it.
    """

    name: str
    schema: dict[str, Any] | bool
    model: Any | None
    fingerprint: str
    stored: bool = False


def load_schema(spec: Any) -> SchemaSource:
    """The schema that `spec` names or is.

    `spec` is a name of the library, a path of a JSON Schema file (YAML by its ending, else JSON), `module:Class`
    (searched in the current directory too), a dict or a boolean, a Pydantic class, another type (a dataclass,
    TypedDict, Enum, Literal, union, list), or a type of outlines. Raises SchemaError if there is no such schema or if
    it does not meet the standard's meta-schema. Raises UnsupportedSchema with the pointer of the keyword if it is
    beyond the limits in `parsing/limits.py`, or is gone.
    """
    if isinstance(spec, SchemaSource):
        return spec
    if isinstance(spec, str):
        return _load_named(spec)
    if isinstance(spec, Path):
        return _file(spec)
    if isinstance(spec, (dict, bool)):
        return _source("schema", spec, None)
    if isinstance(spec, type) and issubclass(spec, BaseModel):
        return _model(spec.__name__, spec)
    schema = schema_of(spec, _DecimalsAsNumbers)
    if isinstance(schema, str):
        return _source("schema", _parse(schema, "outlines.types.JsonSchema"), None)
    if schema is not None:
        return _source(name_of(spec), schema, spec if is_type(spec) else None)
    raise SchemaError(
        "expected a name, a path, module:Class, a dict, a Pydantic class, another type, or a type of outlines, "
        f"got {type(spec).__name__}"
    )


def stored_schema(name: str, schema: Any, fingerprint: str) -> SchemaSource:
    """Returns a schema that a folder holds. Raises SchemaError if it does not meet the standard's meta-schema."""
    check_schema(_schema_in(schema, name), name)
    return SchemaSource(name, schema, None, fingerprint, stored=True)


def _load_named(spec: str) -> SchemaSource:
    if spec in LIBRARY:
        source = _of_library(spec)
        return replace(source, schema=copy.deepcopy(source.schema))  # the caller may change it
    path = Path(spec)
    if _is(path, Path.is_file):
        return _file(path)
    module, colon, name = spec.partition(":")
    if colon and module and name and path.suffix not in _SUFFIXES:
        return _import_schema(spec, module, name)
    if path.suffix and _is(path, Path.is_dir):
        raise SchemaError(f"{path}: expected a JSON Schema file, got a folder")
    raise SchemaError(
        f"{spec!r:.200}: there is no such file, and no schema of this name{_meant(path, [*LIBRARY])}; expected a JSON"
        f" Schema file, module:Class, or one of {', '.join(LIBRARY)}"
    )


def _meant(path: Path, names: list[str]) -> str:
    """Returns a question with the schemas of the library, and the files beside this path, of a similar name."""
    try:
        folder = path.parent.iterdir() if path.name else ()
        beside = [other for other in folder if other.suffix in _SUFFIXES and other.is_file()]
    except OSError:  # such a folder does not exist, or may not be read
        beside = []
    by_stem = {name: name for name in names} | {other.stem: str(other) for other in sorted(beside)}
    alike = get_close_matches(_stem(path), by_stem, n=3)
    return f" (is it {' or '.join(by_stem[stem] for stem in alike)}?)" if alike else ""


def _is(path: Path, kind: Callable[[Path], bool]) -> bool:
    try:
        return kind(path)
    except OSError:  # e.g. a whole schema as text is too long for a file name
        return False


def _file(path: Path) -> SchemaSource:
    text = read_schema_file(path)
    name, where = _stem(path).removesuffix(".schema"), str(path)
    if path.suffix.lower() not in SUFFIXES:
        return _source(name, _parse(text, where), None, where=where)
    read = parse_yaml(text, where)
    return _source(name, _schema_in(read.value, where), None, where=where, line_of=read.line_of)


def read_schema_file(path: Path) -> str:
    """The text of a schema's file; SchemaError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(f"{path}: there is no such file; expected a JSON Schema file") from None
    except OSError as problem:
        reason = problem.strerror or problem
        raise SchemaError(f"{path}: expected a JSON Schema file that can be read, but: {reason}") from None
    except UnicodeDecodeError as problem:
        raise SchemaError(f"{path}: expected a JSON Schema file in UTF-8, got {problem}") from None


def parse_yaml(text: str, where: str) -> YamlText:
    """The value of a YAML text; SchemaError with the line if it is none that stands for JSON."""
    try:
        return read_yaml(text)
    except ValueError as problem:
        raise SchemaError(f"{where}: expected YAML, got {problem}") from None


def _stem(path: Path) -> str:
    return path.stem if path.suffix in _SUFFIXES else path.name


def _parse(text: str, where: str) -> dict[str, Any] | bool:
    try:
        schema = read_schema(text)
    except ValueError as problem:
        raise SchemaError(f"{where}: expected JSON, got {problem}") from None
    return _schema_in(schema, where)


def _schema_in(schema: Any, where: str) -> dict[str, Any] | bool:
    if not isinstance(schema, (dict, bool)):
        came = "nothing" if schema is None else "an array" if isinstance(schema, list) else f"{schema!r:.80}"
        raise SchemaError(f"{where}: expected a JSON object, true or false, got {came}")
    return schema


def _import_schema(spec: str, module: str, name: str) -> SchemaSource:
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        named: Any = importlib.import_module(module)
        for part in name.split("."):
            named = getattr(named, part)
    except Exception as problem:  # The user's module may raise anything during its import.
        raise SchemaError(
            f"expected {name} in the module {module} (for {spec!r}), got {type(problem).__name__}: {problem}"
        ) from None
    finally:
        if added and here in sys.path:
            sys.path.remove(here)
    if isinstance(named, str):
        raise SchemaError(f"expected a Pydantic class or a dict at {spec}, got str")
    return load_schema(named)


@cache
def _of_library(name: str) -> SchemaSource:
    return _model(name, LIBRARY[name], keep_name=True)


def _model(name: str, model: type[BaseModel], keep_name: bool = False) -> SchemaSource:
    try:
        schema = model.model_json_schema(schema_generator=_DecimalsAsNumbers)
    except (PydanticUserError, ValueError) as problem:
        raise SchemaError(f"{name}: expected a class with a JSON Schema, got {problem}") from None
    return _source(name, schema, model, keep_name)


def _source(
    name: str,
    schema: dict[str, Any] | bool,
    model: Any | None,
    keep_name: bool = False,
    where: str = "",
    line_of: Callable[[str], int] | None = None,
) -> SchemaSource:
    check_schema(schema, where or name, line_of)
    refuse_left_keywords(schema)
    refuse_misspelt_keywords(schema)
    title = schema.get("title") if isinstance(schema, dict) else None
    if not keep_name and isinstance(title, str) and title.strip():
        name = title.strip()
    return SchemaSource(name, schema, model, fingerprint(schema))


class _DecimalsAsNumbers(GenerateJsonSchema):
    """A generator that makes decimals JSON numbers with a fixed number of places, so their columns are decimals."""

    def decimal_schema(self, schema: Any) -> JsonSchemaValue:
        places, multiple = schema.get("decimal_places"), schema.get("multiple_of")
        written: JsonSchemaValue = {"type": "number"}
        if multiple is not None:
            written["multipleOf"] = float(multiple)
        if multiple is None or places is not None:
            written[DECIMALS] = DECIMAL_PLACES if places is None else places
        for bound, keyword in (
            ("ge", "minimum"),
            ("gt", "exclusiveMinimum"),
            ("le", "maximum"),
            ("lt", "exclusiveMaximum"),
        ):
            if schema.get(bound) is not None:
                written[keyword] = float(schema[bound])
        return written
