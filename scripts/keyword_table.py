"""The table of JSON Schema's keywords, as the compiler treats an example of each in each draft."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import Any

from cinnabar.errors import SchemaError, UnsupportedSchema
from cinnabar.schemas import compile_schema
from cinnabar.schemas.compiling.misspelt_keywords import known_keywords
from cinnabar.schemas.form.fitting import accept
from cinnabar.schemas.judging.dialects import Dialect
from cinnabar.schemas.pointers import MISSING

_DRAFTS = dict(zip(("4", "6", "7", "2019-09", "2020-12", "no `$schema`"), Dialect, strict=True))
_N, _S, _X = {"type": "number"}, {"type": "string"}, {"type": "number", "minimum": 2}
_TWO, _OPEN = {"properties": {"a": _N, "b": _N}}, {"properties": {"a": _N, "b": _N}, "additionalProperties": _N}
_IF = {"if": _X, "then": {"maximum": 2}, "else": {"minimum": 1}}
#: Schemas, each with keywords of which one at a time stands beside it.
_EXAMPLES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"type": "number", "enum": [1], "const": 1, "allOf": [_X], "anyOf": [_X, _S], "oneOf": [_X, _N]}),
    ({"$defs": {"x": {**_X, "$dynamicAnchor": "x"}}}, {"$ref": "#/$defs/x", "$dynamicRef": "#x"}),
    (_N | {"minimum": 1, "maximum": 3}, {"exclusiveMinimum": True, "exclusiveMaximum": True, "nullable": True}),
    (_N, {"minimum": 2, "maximum": 0, "exclusiveMinimum": 1, "exclusiveMaximum": 1, "multipleOf": 2, "not": _X}),
    (_N, {"x-cinnabar-decimals": 0}),
    (_N | _IF, _IF),
    (_S, {"minLength": 2, "maxLength": 0, "pattern": "^b", "format": "date", "contentEncoding": "base64"}),
    (_S, {"contentMediaType": "application/json"}),
    ({"type": ["array", "number"]}, {"items": {"$recursiveRef": "#"}}),
    ({"type": "array"}, {"items": _X, "prefixItems": [_X], "unevaluatedItems": _X}),
    ({"items": [_N]}, {"additionalItems": _X}),
    ({"items": _N}, {"minItems": 2, "maxItems": 0, "uniqueItems": True, "contains": _X}),
    ({"items": _N, "contains": _X}, {"minContains": 2, "maxContains": 1}),
    (_OPEN, {"properties": {"a": _X}, "patternProperties": {"^c": _X}, "propertyNames": {"maxLength": 1}}),
    (_OPEN, {"additionalProperties": _X, "required": ["b"], "minProperties": 2, "maxProperties": 0}),
    (_TWO, {"unevaluatedProperties": _X, "dependentRequired": {"a": ["b"]}, "dependencies": {"a": ["b"]}}),
    (_TWO, {"dependentSchemas": {"a": {"required": ["b"]}}}),
]
_RECORDS = [None, "a", 0, 1, 2, 2.5, 3, [], [1], [2], ["a"], [1, 1], [1, 2], [3, 2], {}, {"a": 1}, {"b": 1},
            {"a": 2, "b": 1}, {"c": 1}, {"cc": 2}, {"c": 3, "cc": 3}]  # fmt: skip


def _held(schema: dict[str, Any], keyword: str) -> bool | None:
    """Returns whether the form has no place for what a keyword refuses of the records; None if it says nothing."""
    try:
        with_it = compile_schema(schema)
        without = compile_schema(json.loads(json.dumps(schema).replace(f'"{keyword}":', '"x-none":', 1)))
    except (SchemaError, UnsupportedSchema):
        return None
    said = [one for one in _RECORDS if with_it.judge.accepts(one) != without.judge.accepts(one)]
    form = replace(with_it.form, judge=None) if said else None
    return form and all(with_it.judge.accepts(one) for one in said if accept(form, one) is not MISSING)


def keyword_rows() -> list[tuple[str, ...]]:
    """Returns keywords of the same drafts and holder together: keywords, drafts, and what holds them."""
    found = defaultdict[str, dict[str, bool]](dict)
    for schema, beside in _EXAMPLES:
        for keyword, value in beside.items():
            named = "$recursiveRef" if "$recursiveRef" in str(value) else keyword
            for name, draft in _DRAFTS.items():
                own = {} if draft is Dialect.OPENAPI else {"$schema": draft.meta_schema}
                if (held := _held(own | schema | {keyword: value}, named)) is not None:
                    found[named][name] = held
    rows = defaultdict[tuple[str, str], list[str]](list)
    for keyword, by in found.items():
        first, *_, last = (*by, *list(by)[-1:])
        span = first if first == last else f"from {first}" if last == [*_DRAFTS][-1] else f"{first} to {last}"
        rows[span, "each step" if all(by.values()) else "whole record"].append(keyword)
    rows["", "nothing"] = sorted(one for one in known_keywords() - found.keys() if not one.startswith("x-"))
    return [(", ".join(f"`{one}`" for one in keywords), *row) for row, keywords in rows.items()]
