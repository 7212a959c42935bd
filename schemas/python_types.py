"""JSON Schemas of Python's types and of the types of the package outlines."""

from __future__ import annotations

import re
import sys
from enum import EnumMeta
from typing import Any, get_origin

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from cinnabar.errors import SchemaError

# Characters that a backslash may precede in a pattern of ECMA-262 with the flag u, beside letters and digits.
_ESCAPABLE = frozenset("^$\\.*+?()[]{}|/")


def is_type(spec: Any) -> bool:
    """Whether this is a type whose values Pydantic can make: a class, a Literal, a union …"""
    return isinstance(spec, type) or get_origin(spec) is not None or hasattr(spec, "__supertype__")


def schema_of(spec: Any, generator: type[GenerateJsonSchema]) -> dict[str, Any] | str | None:
    """Returns the JSON Schema of a type, or of a type of outlines; None for all else.

    A schema that outlines holds as text is returned as text. Raises SchemaError for a type without a JSON Schema, and
    for a grammar.
    """
    # Outlines takes a second to import, and an object of its types exists only after an import.
    outlines = sys.modules.get("outlines.types.dsl")
    if outlines is not None and isinstance(spec, outlines.Term):
        return _of_term(spec, outlines)
    return _of_type(spec, generator) if is_type(spec) else None


def name_of(spec: Any) -> str:
    """Returns the name of a type, `schema` for those without one."""
    named = isinstance(spec, type) or hasattr(spec, "__supertype__")
    return str(spec.__name__) if named else "schema"


def _of_type(spec: Any, generator: type[GenerateJsonSchema]) -> dict[str, Any]:
    name = name_of(spec)
    if isinstance(spec, EnumMeta) and not list(spec):
        raise SchemaError(f"{name}: expected an Enum with members, got none")
    try:
        return TypeAdapter(spec).json_schema(schema_generator=generator)
    except (PydanticUserError, TypeError, ValueError, NameError) as problem:
        problem_line = str(problem).splitlines()[0]
        raise SchemaError(f"{name}: expected a type with a JSON Schema, got {problem_line}") from None


def _of_term(spec: Any, outlines: Any) -> dict[str, Any] | str:
    if isinstance(spec, outlines.JsonSchema):
        return str(spec.schema)
    if isinstance(spec, outlines.CFG):
        raise SchemaError(
            "outlines.types.CFG: expected a type that a JSON Schema can describe, got a grammar, which has no fields to"
            " fill; give a class, a JsonSchema or a Regex"
        )
    if isinstance(spec, outlines.Choice):
        return {"enum": list(spec.items)}
    # Escapes of Python's `re` that ECMA-262 spells in another way.
    pattern = re.sub(r"\\(.)", _escape, outlines.to_regex(spec), flags=re.DOTALL)
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


def _escape(found: re.Match[str]) -> str:
    character = found[1]
    if character.isalnum() or character in _ESCAPABLE:
        return found[0]
    return f"\\u{{{ord(character):x}}}"
