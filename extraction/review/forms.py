"""Makes the form of a schema for people: a tree of objects, lists and inputs, in plain JSON.

It only chooses inputs. The judge of the schema decides about values, so a form that says less than its schema (for
alternatives, conditions or patterns) is never wrong, only less helpful.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cinnabar.schemas.automata.strings import json_text
from cinnabar.schemas.parsing.schema_object import DAY_FIRST
from cinnabar.schemas.pointers import unescape

#: A form of a recursive schema ends at this depth, and a place below it is edited as JSON.
_DEPTH = 12
# The most places of a form.
_PLACES = 4000
# A choice of more texts is an input with suggestions rather than a menu.
_SCALARS = frozenset({"string", "number", "integer", "boolean"})


def form_of(schema: dict[str, Any] | bool) -> dict[str, Any]:
    """Returns the form of a schema.

    Each place has `kind` (`object`, `list`, `value`, or `any` for JSON), `title`, `description` and `nullable`. An
    object has `properties`: pairs of a name and a place, with `required`. A list has `items`. A value has `types`
    (names of JSON Schema), `format`, `day_first` (None if the schema says nothing of it), and `options`: the JSON texts
    of its enumeration.
    """
    return _Form(schema).place(schema, 0)


class _Form:
    def __init__(self, root: dict[str, Any] | bool) -> None:
        self._root, self._left = root, _PLACES
        self._day_first = root.get(DAY_FIRST) if isinstance(root, dict) else None

    def place(self, schema: Any, depth: int) -> dict[str, Any]:
        self._left -= 1
        merged, nullable = self._merge(schema)
        form: dict[str, Any] = {
            "kind": "any",
            "title": str(merged.get("title") or ""),
            "description": str(merged.get("description") or ""),
            "nullable": nullable,
        }
        if depth > _DEPTH or self._left < 0:
            return form
        types = self._types(merged)
        properties = merged.get("properties")
        if types == ["object"] and isinstance(properties, dict):
            required = merged.get("required")
            needed = set(required) if isinstance(required, list) else set()
            form["kind"] = "object"
            form["properties"] = [
                [name, {**self.place(part, depth + 1), "required": name in needed}] for name, part in properties.items()
            ]
        elif types == ["array"] and "prefixItems" not in merged and "items" in merged:
            form["kind"] = "list"
            form["items"] = self.place(merged["items"], depth + 1)
        elif types and _SCALARS.issuperset(types):
            form["kind"] = "value"
            form["types"] = types
            form["format"] = str(merged.get("format") or "")
            form["day_first"] = merged.get(DAY_FIRST, self._day_first)
            options = [merged["const"]] if "const" in merged else merged.get("enum")
            if isinstance(options, list):
                form["options"] = [json_text(one) for one in options if one is not None]
        return form

    def _merge(self, schema: Any, seen: frozenset[str] = frozenset()) -> tuple[dict[str, Any], bool]:
        """Returns a place's own keywords with those behind `$ref`, `allOf` and a nullable alternative.

        The second value tells whether null is allowed.
        """
        if not isinstance(schema, dict):
            return {}, True
        own = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
        nullable = _allows_null(own)
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            behind, empty = self._merge(self._resolve(reference), seen | {reference})
            own, nullable = {**behind, **own}, nullable or empty
        parts = schema.get("allOf")
        for part in parts if isinstance(parts, list) else ():
            behind, empty = self._merge(part, seen)
            own, nullable = _join_keywords(behind, own), nullable or empty
        for keyword in ("anyOf", "oneOf"):
            options = schema.get(keyword)
            if isinstance(options, list):
                merged = [self._merge(one, seen) for one in options]
                nullable = nullable or any(empty for _, empty in merged)
                real = [one for one, _ in merged if self._types(one)]
                if len(real) == 1:
                    own = {**real[0], **own}
                elif real and all(_SCALARS.issuperset(self._types(one)) for one in real):
                    own.setdefault("type", [name for one in real for name in self._types(one)])
                    if all("enum" in one or "const" in one for one in real):
                        own["enum"] = [v for one in real for v in (one.get("enum") or [one.get("const")])]
                elif real:
                    own = {"title": own.get("title"), "description": own.get("description")}
        return own, nullable

    def _types(self, merged: Mapping[str, Any]) -> list[str]:
        """Returns the types of a place without null, in the order of the schema; [] if it does not tell."""
        kinds = merged.get("type")
        names = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
        if not names and ("enum" in merged or "const" in merged):
            values = merged["enum"] if isinstance(merged.get("enum"), list) else [merged.get("const")]
            names = [_type_of(value) for value in values]
        if not names and "properties" in merged:
            names = ["object"]
        return list(dict.fromkeys(name for name in names if isinstance(name, str) and name != "null"))

    def _resolve(self, reference: str) -> Any:
        if not reference.startswith("#"):
            return {}
        place: Any = self._root
        for token in reference[1:].split("/")[1:]:
            try:
                place = place[int(token)] if isinstance(place, list) else place[unescape(token)]
            except (KeyError, IndexError, ValueError, TypeError):
                return {}
        return place


def _allows_null(own: Mapping[str, Any]) -> bool:
    kinds = own.get("type")
    options = own.get("enum")
    if isinstance(options, list) and None not in options:
        return False
    if isinstance(kinds, list):
        return "null" in kinds
    return kinds == "null" or (kinds is None and isinstance(options, list))


def _join_keywords(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Returns the keywords of both, with the properties and required names of both."""
    joined = {**first, **second}
    if isinstance(first.get("properties"), dict) and isinstance(second.get("properties"), dict):
        joined["properties"] = {**first["properties"], **second["properties"]}
    if isinstance(first.get("required"), list) and isinstance(second.get("required"), list):
        joined["required"] = [*first["required"], *second["required"]]
    return joined


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "string", list: "array", dict: "object", type(None): "null"}.get(type(value), "")


def place_at(form: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
    """Returns the place of a form behind a JSON pointer; one of the kind `any` if the form does not have it."""
    place: Mapping[str, Any] = form
    for token in pointer.split("/")[1:]:
        if place["kind"] == "object":
            named = dict(place["properties"])
            place = named.get(unescape(token), _ANY)
        elif place["kind"] == "list":
            place = place["items"]
        else:
            return _ANY
    return place


def title_at(form: Mapping[str, Any], pointer: str) -> str:
    """Returns the title of a place in the schema, with the number of its row; the pointer if it has none."""
    title = place_at(form, pointer)["title"]
    steps = pointer.split("/")
    lists = [at for at in range(1, len(steps)) if place_at(form, "/".join(steps[:at]))["kind"] == "list"]
    row = f" in row {int(steps[lists[-1]]) + 1}" if lists else ""
    return f"{title}{row}" if title else pointer or "/"


_ANY: Mapping[str, Any] = {"kind": "any", "title": "", "description": "", "nullable": True}


def blank_of(place: Mapping[str, Any]) -> Any:
    """Returns an empty value of this place: null if it may be null, an empty list, or an object of required parts."""
    if place["nullable"]:
        return None
    if place["kind"] == "object":
        return {name: blank_of(part) for name, part in place["properties"] if part["required"]}
    if place["kind"] == "list":
        return []
    return None
