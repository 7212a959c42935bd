"""Refuses schemas that the validator of records would walk for ever.

To prepare an `unevaluated…` keyword jsonschema-rs follows each way through `allOf`, `anyOf`, `$ref` and the like at one
value. Our own judge visits each part once (`schemas/judging`). This check counts the ways beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cinnabar.schemas.errors import UnsupportedSchema
from cinnabar.schemas.judging.resources import Documents, Place

# Most ways: 2**16 of them take half a second to prepare.
_MAX_WAYS = 1 << 16
# Schemas nested at one value that are followed; deeper ones have no form (docs/json-schema.md).
_DEEPEST = 200
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ASKING = ("unevaluatedProperties", "unevaluatedItems")


def check_routes(schema: Any) -> None:
    """Raises UnsupportedSchema, with the pointer of an `unevaluated…` keyword, if too many ways lead through its
    schema."""
    if not _asks(schema):
        return
    documents = Documents(schema)
    counted: dict[int, int] = {}
    pending = [documents.root]
    while pending:
        place = pending.pop()
        if isinstance(place.value, dict):
            for keyword in _ASKING:
                if keyword in place.value and _ways(place, documents, counted) > _MAX_WAYS:
                    reason = f"more than {_MAX_WAYS:,} ways lead through the keywords beside it"
                    advice = "describe the parts once, without alternatives that lead to the same ones"
                    raise UnsupportedSchema(f"{place.pointer}/{keyword}", keyword, reason, advice)
        pending += reversed(list(_children(place)))


def _asks(schema: Any) -> bool:
    """Returns True if the schema has such a keyword."""
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if any(keyword in part for keyword in _ASKING):
                return True
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return False


def _ways(place: Place, documents: Documents, counted: dict[int, int], deep: int = 0) -> int:
    """Returns the number of ways from here into parts at the same value, this one included; a loop counts once."""
    if deep > _DEEPEST:
        return _MAX_WAYS + 1
    if id(place) not in counted:
        counted[id(place)] = 1
        parts = _beside(place, documents)
        counted[id(place)] = 1 + sum(_ways(part, documents, counted, deep + 1) for part in parts)
    return counted[id(place)]


def _beside(place: Place, documents: Documents) -> Iterator[Place]:
    """Yields the schemas that also apply to a value here."""
    value = place.value
    if not isinstance(value, dict):
        return
    for keyword in _LISTS:
        yield from (place.child(keyword).child(str(at)) for at in range(len(value.get(keyword, ()))))
    yield from (place.child(keyword) for keyword in _SINGLE if keyword in value)
    for keyword in ("dependentSchemas", "dependencies"):
        yield from (place.child(keyword).child(name) for name in value.get(keyword, ()))
    for keyword in _REFERENCES:
        if isinstance(value.get(keyword), str):
            yield documents.resolve(value[keyword], place, keyword)[0]


def _children(place: Place) -> Iterator[Place]:
    """Yields all objects and lists within this one."""
    value = place.value
    if isinstance(value, (dict, list)):
        keys = value if isinstance(value, dict) else map(str, range(len(value)))
        yield from (place.child(key) for key in keys)
