"""In how many ways a schema leads to its parts at one value, which the validator of records walks one by one.

jsonschema-rs goes every way through `allOf`, `anyOf`, `$ref` and the like when it prepares a keyword that
asks what those have evaluated. Our judge remembers each part once (schemas/judging); where the validator
would not end, the schema is refused before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cinnabar.schemas.errors import UnsupportedSchema
from cinnabar.schemas.judging.resources import Documents, Place

# Ways at most: 2**16 of them take half a second to prepare.
_MAX_WAYS = 1 << 16
# Schemas nested at one value that are followed; of more there is no form (docs/json-schema.md).
_DEEPEST = 200
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ASKING = ("unevaluatedProperties", "unevaluatedItems")


def check_routes(schema: Any) -> None:
    """Raise UnsupportedSchema with the pointer of an `unevaluated…` that is reached in too many ways."""
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
                    reason = f"more than {_MAX_WAYS:,} ways lead through what stands beside it"
                    advice = "describe the parts once, without alternatives that lead to the same ones"
                    raise UnsupportedSchema(f"{place.pointer}/{keyword}", keyword, reason, advice)
        pending += reversed(list(_children(place)))


def _asks(schema: Any) -> bool:
    """Whether any such keyword is there."""
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
    """The ways from here into parts at the same value, this one among them; of a loop one round."""
    if deep > _DEEPEST:
        return _MAX_WAYS + 1
    if id(place) not in counted:
        counted[id(place)] = 1
        parts = _beside(place, documents)
        counted[id(place)] = 1 + sum(_ways(part, documents, counted, deep + 1) for part in parts)
    return counted[id(place)]


def _beside(place: Place, documents: Documents) -> Iterator[Place]:
    """The schemas that a value here has to do with as well."""
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
    """All objects and lists within this one."""
    value = place.value
    if isinstance(value, (dict, list)):
        keys = value if isinstance(value, dict) else map(str, range(len(value)))
        yield from (place.child(key) for key in keys)
