"""The check of a schema against the standard's own meta-schema, and the schema's fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import jsonschema_rs

from cinnabar.errors import SchemaError
from cinnabar.schemas.judging.dialects import dialect_named
from cinnabar.schemas.parsing.limits import check_limits
from cinnabar.schemas.parsing.texts import schema_text
from cinnabar.schemas.pointers import pointer_of


def check_schema(
    schema: dict[str, Any] | bool, name: str = "schema", line_of: Callable[[str], int] | None = None
) -> None:
    """Raises SchemaError if the schema breaks the meta-schema that `$schema` names (2020-12 by default).

    Raises UnsupportedSchema if the schema is beyond the limits in `limits.py`. Nothing is fetched: a meta-schema
    that is not the standard's own is refused. `line_of` gives the line of a JSON pointer in the schema's file.
    """
    check_limits(schema, name)
    if isinstance(schema, dict) and isinstance(schema.get("$schema"), str):
        dialect = dialect_named(schema["$schema"])
        if dialect is None:
            wanted = "the meta-schema of a draft of JSON Schema from 4 to 2020-12"
            raise SchemaError(f"{name}: /$schema: expected {wanted}, got {schema['$schema']:.80}")
        schema = {**schema, "$schema": dialect.meta_schema}
    try:
        jsonschema_rs.meta.validate(schema)
    except jsonschema_rs.ValidationError as problem:
        pointer = pointer_of(problem.instance_path)
        where = f"{name}, line {line_of(pointer)}" if line_of else name
        raise SchemaError(f"{where}: {complaint(problem)}") from None
    except (jsonschema_rs.ReferencingError, ValueError, TypeError) as problem:
        raise SchemaError(f"{name}: expected a JSON Schema of draft 4 to 2020-12, got {problem}") from None


def fingerprint(schema: dict[str, Any] | bool) -> str:
    """SHA-256, in hexadecimal, of the schema as JSON with sorted keys, annotations included."""
    text = schema_text(schema, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
#: The JSON types for the names of types in other languages.
OTHERWISE = {
    "str": "string", "text": "string", "char": "string", "varchar": "string", "int": "integer",
    "long": "integer", "float": "number", "double": "number", "decimal": "number", "numeric": "number",
    "bool": "boolean", "list": "array", "tuple": "array", "set": "array", "dict": "object", "map": "object",
    "struct": "object", "record": "object", "none": "null", "nil": "null", "undefined": "null",
}  # fmt: skip
#: Types of other languages that are formats of strings here.
FORMATS = {
    "date": "date", "datetime": "date-time", "date-time": "date-time", "timestamp": "date-time",
    "time": "time", "uuid": "uuid", "email": "email", "uri": "uri", "url": "uri",
}  # fmt: skip
NAMES = {"array": "a list", "object": "an object", "string": "a text", "boolean": "true or false",
         "integer": "a whole number", "number": "a number", "null": "null"}  # fmt: skip


def complaint(problem: jsonschema_rs.ValidationError) -> str:
    """The pointer, the expected value, the value found, and advice if there is any."""
    path = problem.instance_path
    keyword, value = (str(path[-1]) if path else ""), problem.instance
    got = schema_text(value, ensure_ascii=False)
    place = pointer_of(path) or "/"
    advice = _advice(keyword, value)
    text = f"{place}: expected {_describe_expected(keyword, problem)}, got {got if len(got) < 80 else got[:77] + '…'}"
    return f"{text} ({advice})" if advice else text


def _describe_expected(keyword: str, problem: jsonschema_rs.ValidationError) -> str:
    if keyword == "type":
        return f"{', '.join(_TYPES[:-1])} or {_TYPES[-1]}, or a list of different ones of these"
    about: Any = problem.kind
    match type(about).__name__:
        case "Type" if set(about.types) == {"boolean", "object"}:
            return "a schema, which is an object, true or false"
        case "Type":
            return " or ".join(NAMES.get(name, name) for name in about.types)
        case "Minimum":
            return f"{about.limit} or more"
        case "ExclusiveMinimum":
            return f"more than {about.limit}"
        case "MinItems":
            return "a list of one or more"
        case "UniqueItems":
            return "a list without repetitions"
        case "Pattern":
            return f"a text that matches {about.pattern}"
        case "Required":
            return f"{about.property!r} beside it"
    return f"a value that the meta-schema allows ({problem.message[:160]})"


def _advice(keyword: str, value: Any) -> str:
    if keyword == "type" and isinstance(value, str):
        word = value.strip().lower()
        if word in FORMATS:
            return f'write "type": "string", "format": "{FORMATS[word]}"'
        if word in ("any", "*"):
            return "leave `type` out if any value is allowed"
        near = [OTHERWISE[word]] if word in OTHERWISE else get_close_matches(word, _TYPES, 1, 0.5)
        return f'did you mean "{near[0]}"?' if near else ""
    if keyword == "type" and isinstance(value, list) and len(set(map(str, value))) < len(value):
        return "name each type once"
    if keyword == "required" and isinstance(value, bool):
        return "write a list of names beside `properties`"
    if keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        return f"true and false belong to draft 4: name it in `$schema`, or write the bound under `{keyword}`"
    if keyword == "items" and isinstance(value, list):
        return "from 2020-12 on write the list under `prefixItems`, or name the draft in `$schema`"
    return ""
