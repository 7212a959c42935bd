"""A component of an OpenAPI document (2.0 to 3.1) as a JSON Schema of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.pointers import escape, unescape

_PLACES = {"/components/schemas/": ("components", "schemas"), "/definitions/": ("definitions",)}
# Keywords whose values are data or names of properties, not schemas.
_DATA = frozenset({"const", "default", "enum", "examples", "required"})
_NAMED = frozenset({"properties", "patternProperties", "definitions", "$defs"})
# Keywords of OpenAPI that say nothing about a value.
_LEFT_OUT = frozenset({"discriminator", "xml", "externalDocs", "readOnly", "writeOnly", "nullable", "example"})


def is_openapi(value: Any) -> bool:
    """Whether a value is an OpenAPI document."""
    return isinstance(value, dict) and any(isinstance(value.get(name), str) for name in ("openapi", "swagger"))


def schema_of_component(document: Mapping[str, Any], component: str | None, where: str) -> dict[str, Any]:
    """The component with all that it refers to under `$defs`; `nullable` and other keywords of 3.0 as 2020-12 has them.

    Without a name there must be one component only. Raises UsageError for a name that is not there, and for a
    reference out of the components.
    """
    prefix = next((one for one, path in _PLACES.items() if _at(document, path)), "/components/schemas/")
    components = _at(document, _PLACES[prefix])
    if not components:
        raise UsageError(f"{where}: expected schemas under /components/schemas, got none")
    name = component if component is not None else (next(iter(components)) if len(components) == 1 else None)
    if name not in components:
        got = "no name" if name is None else f"{name!r:.80}"
        names = ", ".join([*components][:20]) + (", …" if len(components) > 20 else "")
        raise UsageError(f"{where}: --component: expected one of {names}; got {got}")
    reading = _Reading(components, prefix, draft_4=not str(document.get("openapi", "")).startswith("3.1"), where=where)
    schema = reading.rewritten(components[name], f"{prefix}{escape(name)}")
    defs: dict[str, Any] = {}
    while missing := [one for one in reading.wanted if one not in defs]:
        for one in missing:
            defs[one] = reading.rewritten(components[one], f"{prefix}{escape(one)}")
    if not isinstance(schema, dict):
        raise UsageError(f"{where}: {prefix}{name}: expected an object, got {type(schema).__name__}")
    return {"title": name, **schema} | ({"$defs": defs} if defs else {})


def _at(document: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    part: Any = document
    for step in path:
        part = part.get(step) if isinstance(part, dict) else None
    return part if isinstance(part, dict) else {}


class _Reading:
    """Rewrites schemas and collects the names of components that they refer to."""

    def __init__(self, components: Mapping[str, Any], prefix: str, *, draft_4: bool, where: str) -> None:
        self.components, self.prefix, self.draft_4, self.where = components, prefix, draft_4, where
        self.wanted: dict[str, None] = {}

    def rewritten(self, schema: Any, at: str) -> Any:
        if isinstance(schema, list):
            return [self.rewritten(part, f"{at}/{index}") for index, part in enumerate(schema)]
        if not isinstance(schema, dict):
            return schema
        translated: dict[str, Any] = {}
        for key, part in schema.items():
            below = f"{at}/{escape(key)}"
            if key == "$ref" and isinstance(part, str):
                translated[key] = self._reference(part, below)
            elif key in _NAMED and isinstance(part, dict):
                translated[key] = {name: self.rewritten(one, f"{below}/{escape(name)}") for name, one in part.items()}
            elif key in _DATA:
                translated[key] = part
            elif key not in _LEFT_OUT:
                translated[key] = self.rewritten(part, below)
        if "example" in schema and "examples" not in translated:
            translated["examples"] = [schema["example"]]
        return self._as_2020_12(translated, schema) if self.draft_4 else translated

    def _reference(self, target: str, at: str) -> str:
        name, _, inside = target.removeprefix(f"#{self.prefix}").partition("/")
        known = unescape(name)
        if not target.startswith(f"#{self.prefix}") or known not in self.components:
            raise UsageError(f"{self.where}: {at}: expected a reference to a component of this file, got {target:.200}")
        self.wanted[known] = None
        return f"#/$defs/{name}" + (f"/{inside}" if inside else "")

    @staticmethod
    def _as_2020_12(rewritten: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        for bound in ("Minimum", "Maximum"):
            exclusive, plain = f"exclusive{bound}", bound.lower()
            if isinstance(rewritten.get(exclusive), bool) and rewritten.pop(exclusive) and plain in rewritten:
                rewritten[exclusive] = rewritten.pop(plain)
        if schema.get("nullable") is not True:
            return rewritten
        kinds = rewritten.get("type")
        if isinstance(kinds, str) and rewritten.keys().isdisjoint(("$ref", "allOf", "anyOf", "oneOf")):
            values = {"enum": [*rewritten["enum"], None]} if None not in rewritten.get("enum", [None]) else {}
            return rewritten | {"type": [kinds, "null"]} | values
        texts = {key: rewritten.pop(key) for key in ("title", "description") if key in rewritten}
        return texts | {"anyOf": [rewritten, {"type": "null"}]}
