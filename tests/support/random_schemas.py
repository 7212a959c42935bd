"""Random JSON Schemas of every kind of node and slot in a form, and of every rule across fields."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

from cinnabar.errors import UnsupportedSchema
from cinnabar.schemas import CompiledSchema, compile_schema

STRINGS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "maxLength": 3},
    {"type": "string", "minLength": 2, "maxLength": 5},
    {"type": "string", "minLength": 30},
    {"type": "string", "maxLength": 400},
    {"type": "string", "pattern": "^[A-Z]{2}[0-9]{4,6}$"},
    {"type": "string", "pattern": "^(ab|cd)*$"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "email"},
]
OTHERS: list[dict[str, Any]] = [
    {"type": "integer"},
    {"type": "integer", "minimum": -3, "maximum": 120},
    {"type": "number"},
    {"type": "number", "minimum": 0, "exclusiveMaximum": 10},
    {"type": "number", "multipleOf": 0.01},
    {"type": "boolean"},
    {"enum": ["red", "green", 'it\'s "blue"']},
    {"enum": ["one", 2, None]},
    {"const": "always"},
    {"type": "null"},
    {"type": "integer", "not": {"multipleOf": 3}},
    {"type": "string", "not": {"pattern": "^[a-m]"}},
    {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 2}]},
    {"enum": [{"a": 1, "b": [None, "x"]}, [1, 2], "none"]},
    {"const": {"k": [True]}},
    {"minLength": 2, "minimum": 5},
    {},
]
NAMES = ["name", "date", "total", "a/b", "c~d", 'q"uote', "Ünï", "x", "y", "z"]
KEYS = ["^[a-z]{1,4}$", "^x-", "[0-9]$"]


def random_schema(draw: random.Random, depth: int = 3) -> dict[str, Any]:
    """A schema whose root is an object, most of the time."""
    root = _object(draw, depth) if draw.random() < 0.85 else _node(draw, depth)
    if draw.random() < 0.12 and isinstance(root.get("properties"), dict):
        again: dict[str, Any] = {"$ref": "#"}
        kinds = [again, {"type": "array", "items": again}, {"anyOf": [again, {"type": "null"}]}]
        root["properties"]["again"] = draw.choice(kinds)
    return root


@cache
def compiled(text: str) -> CompiledSchema:
    """Compile the schema of this text."""
    return compile_schema(json.loads(text))


def schemas(seed: int, count: int = 5) -> list[dict[str, Any]]:
    """Draw this many schemas that have a form."""
    draw = random.Random(seed)
    found: list[dict[str, Any]] = []
    while len(found) < count:
        schema = random_schema(draw)
        if writable(schema):
            found.append(schema)
    return found


def forms(seed: int, count: int = 5) -> list[CompiledSchema]:
    """Draw the same schemas, compiled."""
    return [compiled(json.dumps(schema)) for schema in schemas(seed, count)]


def writable(schema: dict[str, Any]) -> bool:
    """Whether the schema has a form; its rules together may leave no value."""
    try:
        return bool(compiled(json.dumps(schema)).form.instance)
    except UnsupportedSchema:
        return False


def _nullable(draw: random.Random, schema: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("type"), str) and schema["type"] != "null" and draw.random() < 0.35:
        return {**schema, "type": [schema["type"], "null"]}
    return schema


def _node(draw: random.Random, depth: int) -> dict[str, Any]:
    kind = draw.random()
    if depth > 0 and kind < 0.13:
        return _nullable(draw, _object(draw, depth - 1))
    if depth > 0 and kind < 0.30:
        return _nullable(draw, _array(draw, depth - 1))
    if depth > 0 and kind < 0.38:
        return _union(draw, depth - 1)
    if depth > 0 and kind < 0.43:
        return _nullable(draw, _map(draw, depth - 1))
    return _nullable(draw, dict(draw.choice(STRINGS if kind < 0.68 else OTHERS)))


def _array(draw: random.Random, depth: int) -> dict[str, Any]:
    least = draw.choice([0, 0, 0, 1, 2])
    array: dict[str, Any] = {"type": "array", "items": _node(draw, depth), "minItems": least}
    if draw.random() < 0.4:
        array["maxItems"] = least + draw.choice([0, 1, 2])
    rule = draw.random()
    if rule < 0.15:
        array["uniqueItems"] = True
    elif rule < 0.25:
        array["prefixItems"] = [_node(draw, depth) for _ in range(draw.randint(1, 2))]
        if draw.random() < 0.5:
            array["items"] = False
    elif rule < 0.35:
        array["contains"] = draw.choice(
            [{"type": "string"}, {"minimum": 1}, {"required": ["x"]}, array["items"]]
        )
        array |= draw.choice(
            [{}, {"minContains": 2}, {"maxContains": 2}, {"minContains": 0, "maxContains": 1}]
        )
    return array


def _union(draw: random.Random, depth: int) -> dict[str, Any]:
    """Objects told apart by a constant or by nothing, or values of several types."""
    keyword = draw.choice(["anyOf", "oneOf"])
    if draw.random() < 0.4:
        branches = [_object(draw, depth, names=2) for _ in range(draw.randint(2, 3))]
        if draw.random() < 0.6:
            for at, branch in enumerate(branches):
                branch["properties"] = {"kind": {"const": f"k{at}"}, **branch["properties"]}
                branch["required"] = ["kind", *branch["required"]]
    else:
        kinds = [_object(draw, depth, names=2), _array(draw, depth), dict(draw.choice(STRINGS + OTHERS))]
        branches = draw.sample(kinds, draw.randint(2, 3))
    return {keyword: branches}


def _map(draw: random.Random, depth: int) -> dict[str, Any]:
    """Open properties; the model finds their names, too."""
    value = _node(draw, depth)
    found: dict[str, Any] = {"type": "object"}
    if draw.random() < 0.5:
        found |= {"patternProperties": {draw.choice(KEYS): value}, "additionalProperties": False}
    else:
        found["additionalProperties"] = value
    if draw.random() < 0.3:
        found["propertyNames"] = draw.choice(
            [{"maxLength": 3}, {"pattern": "^[a-z]"}, {"enum": ["a", "b", "x-1"]}]
        )
    if draw.random() < 0.3:
        name = draw.choice(NAMES)
        found["properties"] = {name: _node(draw, depth)}
    if draw.random() < 0.3:
        found |= draw.choice([{"minProperties": 1}, {"minProperties": 2}, {"maxProperties": 2}])
    return found


def _object(draw: random.Random, depth: int, names: int = 4) -> dict[str, Any]:
    chosen = draw.sample(NAMES, draw.randint(0, names))
    found: dict[str, Any] = {
        "type": "object",
        "properties": {name: _node(draw, depth) for name in chosen},
        "required": [name for name in chosen if draw.random() < 0.6],
        "additionalProperties": False,
    }
    if len(chosen) >= 2 and draw.random() < 0.45:
        found |= _rule(draw, found["properties"], *draw.sample(chosen, 2))
    return found


def _rule(draw: random.Random, properties: dict[str, Any], a: str, b: str) -> dict[str, Any]:
    """A rule that joins two properties."""
    one, both = {"required": [a]}, {"required": [a, b]}
    some = {"properties": {a: draw.choice([{"type": "string"}, {"minimum": 3}, {"const": "always"}])}, **one}
    rules: list[dict[str, Any]] = [
        {"anyOf": [one, {"required": [b]}]},
        {"oneOf": [one, {"required": [b]}]},
        {"if": some, "then": {"required": [b]}},
        {"if": some, "then": {"properties": {b: {"type": ["string", "null"]}}}, "else": {"required": [b]}},
        {"if": one, "then": {"properties": {b: False}}},
        {"dependentRequired": {a: [b]}},
        {"dependentSchemas": {a: {"properties": {b: {"type": ["integer", "string", "array"]}}}}},
        {"dependentSchemas": {a: {"minProperties": 2}}},
        {"not": both},
        {"not": some},
        {"minProperties": 1},
        {"minProperties": len(properties)},
        {"maxProperties": 1},
        {"allOf": [{"anyOf": [one, {"maxProperties": 0}]}, {"properties": {b: {}}}]},
    ]
    return {"required": []} | draw.choice(rules)
