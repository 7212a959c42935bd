"""Plans of schemas, each node with its family's field, and the plans of the library's own models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any

from training.generator.family import Family, load_family


@dataclass(slots=True)
class Plan:
    """A node of a planned schema: `path` is the field's or array's template, "" for an object or an unknown field.

    `choices` maps an option to its name in this schema. `verbatim` leaves hold the text as printed. `fallback` is the
    field that the library's model takes if this one is not printed. `default` is the value that the description gives
    for absence. `unsigned` numbers have no sign.
    """

    kind: str
    name: str
    path: str = ""
    children: list[Plan] = field(default_factory=list)
    schema: dict[str, Any] = field(default_factory=dict)
    verbatim: bool = False
    choices: Mapping[str, str] = field(default_factory=dict)
    required: bool = True
    fallback: str = ""
    default: Any = None
    unsigned: bool = False


def to_schema(plan: Plan) -> dict[str, Any]:
    """Returns the JSON Schema (2020-12) of a plan."""
    if plan.kind == "leaf":
        return plan.schema
    if plan.kind == "array":
        return plan.schema | {"type": "array", "items": to_schema(plan.children[0])}
    return plan.schema | {
        "type": "object",
        "properties": {c.name: to_schema(c) for c in plan.children},
        "required": [c.name for c in plan.children if c.required],
        "additionalProperties": False,
    }


@lru_cache(maxsize=64)
def library_plan(reference: str, family_name: str) -> tuple[Plan, dict[str, Any]]:
    """Returns plan and JSON Schema of one of the library's models (`module:Class`); its paths are the family's."""
    module, _, name = reference.partition(":")
    model = getattr(import_module(module), name)
    schema: dict[str, Any] = model.model_json_schema()
    return _from_schema(schema, schema, "", "", load_family(family_name)), schema


def _resolve(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        at: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            at = at[part]
        schema = at
    return schema


def _from_schema(schema: dict[str, Any], root: dict[str, Any], path: str, name: str, family: Family) -> Plan:
    schema = _resolve(schema, root)
    branches = [_resolve(b, root) for b in schema.get("anyOf", ())]
    core = next((b for b in branches if b.get("type") != "null"), schema)
    if core.get("type") == "object":
        children = [
            _from_schema(s, root, f"{path}.{key}" if path else key, key, family)
            for key, s in core.get("properties", {}).items()
        ]
        return Plan("object", name, children=children)
    if core.get("type") == "array":
        return Plan(
            "array",
            name,
            path if path in family.arrays else "",
            [_from_schema(core["items"], root, path + "[]", "", family)],
        )
    f = family.fields.get(path)
    plan = Plan("leaf", name, path if f is not None else "")
    plan.fallback = family.extra.get("fallback", {}).get(path, "")
    if f is not None and f.kind == "enum":
        plan.choices = {o: o for o in f.options}
    return plan
