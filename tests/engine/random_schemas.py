"""Random JSON Schemas of every kind of node and slot that a form can have."""

from __future__ import annotations

import random
from typing import Any

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
]


def random_schema(draw: random.Random, depth: int = 3) -> dict[str, Any]:
    """A schema whose root is an object, most of the time."""
    return _object(draw, depth) if draw.random() < 0.9 else _node(draw, depth)


def _nullable(draw: random.Random, schema: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("type"), str) and schema["type"] != "null" and draw.random() < 0.35:
        return {**schema, "type": [schema["type"], "null"]}
    return schema


def _node(draw: random.Random, depth: int) -> dict[str, Any]:
    kind = draw.random()
    if depth > 0 and kind < 0.15:
        return _nullable(draw, _object(draw, depth - 1))
    if depth > 0 and kind < 0.35:
        least = draw.choice([0, 0, 0, 1, 2])
        array: dict[str, Any] = {"type": "array", "items": _node(draw, depth - 1), "minItems": least}
        if draw.random() < 0.4:
            array["maxItems"] = least + draw.choice([0, 1, 2])
        return _nullable(draw, array)
    return _nullable(draw, dict(draw.choice(STRINGS if kind < 0.65 else OTHERS)))


def _object(draw: random.Random, depth: int) -> dict[str, Any]:
    names = draw.sample(
        ["name", "date", "total", "a/b", "c~d", 'q"uote', "Ünï", "x", "y", "z"], draw.randint(0, 4)
    )
    return {
        "type": "object",
        "properties": {name: _node(draw, depth) for name in names},
        "required": [name for name in names if draw.random() < 0.6],
        "additionalProperties": False,
    }
