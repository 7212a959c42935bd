"""The keywords of JSON Schema by what is done with them: enforced, refused, or read as annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cinnabar.schemas.errors import UnsupportedSchema

SCALAR_ASSERTIONS: dict[str, str] = {
    "pattern": "string",
    "format": "string",
    "minLength": "string",
    "maxLength": "string",
    "minimum": "number",
    "maximum": "number",
    "exclusiveMinimum": "number",
    "exclusiveMaximum": "number",
    "multipleOf": "number",
}
"""Keywords that constrain the scalars of one JSON type and leave all other values alone."""

CONTAINER_ASSERTIONS: dict[str, str] = {
    "properties": "object",
    "required": "object",
    "additionalProperties": "object",
    "items": "array",
    "minItems": "array",
    "maxItems": "array",
}

_CONDITION = ("conditions are not enforced", "describe the values without a condition")
_DEPENDENT = ("conditions between properties are not enforced", "describe each property by itself")
_CONTAINS = ("conditions on some items of an array are not enforced", "describe all items under items")
_DECLARE = "declare each wanted property under properties"
_UNTRACKED = "what other keywords left unevaluated is not tracked"
_DYNAMIC = ("dynamic references are not resolved", "write $ref")

REFUSED: dict[str, tuple[str, str]] = {
    "not": ("complements of values are not enforced", "say which values are allowed instead"),
    "if": _CONDITION,
    "then": _CONDITION,
    "else": _CONDITION,
    "patternProperties": ("properties named by a pattern are not written", _DECLARE),
    "propertyNames": ("the names of undeclared properties are not constrained", _DECLARE),
    "dependentRequired": _DEPENDENT,
    "dependentSchemas": _DEPENDENT,
    "dependencies": _DEPENDENT,
    "contains": _CONTAINS,
    "minContains": _CONTAINS,
    "maxContains": _CONTAINS,
    "prefixItems": (
        "arrays whose items differ by position are not enforced",
        "use an object with a property for each position",
    ),
    "unevaluatedProperties": (_UNTRACKED, 'write "additionalProperties": false'),
    "unevaluatedItems": (_UNTRACKED, "describe all items under items"),
    "$dynamicRef": _DYNAMIC,
    "$recursiveRef": _DYNAMIC,
}
"""Keywords that would constrain and are not enforced: the reason, and what to write instead."""


def refuse(schema: Mapping[str, Any], pointer: str) -> None:
    """Raise UnsupportedSchema for a keyword that would constrain and is not enforced."""
    for keyword, (reason, advice) in REFUSED.items():
        if keyword in schema and not _idle(keyword, schema):
            raise UnsupportedSchema(f"{pointer}/{keyword}", keyword, reason, advice)
    if schema.get("uniqueItems", False) is not False:
        raise UnsupportedSchema(
            f"{pointer}/uniqueItems",
            "uniqueItems",
            "repeated items are not ruled out",
            "write the array without it, and drop repetitions when querying",
        )
    if schema.get("minProperties", 0) > len(schema.get("required", ())):
        raise UnsupportedSchema(
            f"{pointer}/minProperties",
            "minProperties",
            "the number of optional properties is not counted",
            "list the properties that are needed under required",
        )
    closed = schema.get("additionalProperties") is False
    most = schema.get("maxProperties")
    if most is not None and not (closed and most >= len(schema.get("properties", ()))):
        raise UnsupportedSchema(
            f"{pointer}/maxProperties",
            "maxProperties",
            "the number of properties is not counted",
            'declare fewer properties and write "additionalProperties": false',
        )
    if pointer and isinstance(schema.get("$id"), str) and _mentions(schema, "$ref"):
        raise UnsupportedSchema(
            f"{pointer}/$id", "$id", "an embedded schema changes what its references mean", "drop $id"
        )


def _idle(keyword: str, schema: Mapping[str, Any]) -> bool:
    """Whether this keyword constrains nothing as it stands."""
    if keyword in ("then", "else"):
        return "if" not in schema
    if keyword == "if":
        return "then" not in schema and "else" not in schema
    if keyword in ("minContains", "maxContains"):
        return "contains" not in schema
    if keyword in ("propertyNames", "unevaluatedProperties", "unevaluatedItems"):
        return schema[keyword] is True or schema[keyword] == {}
    if keyword in ("patternProperties", "dependentRequired", "dependentSchemas", "dependencies"):
        return not schema[keyword]
    return False


def _mentions(schema: Any, keyword: str) -> bool:
    if isinstance(schema, Mapping):
        return keyword in schema or any(_mentions(part, keyword) for part in schema.values())
    return isinstance(schema, list) and any(_mentions(part, keyword) for part in schema)
