"""Makes the form of a schema for people: a tree of objects, lists and inputs, in plain JSON.

It only chooses inputs. The judge of the schema decides about values, so a form that says less than its schema (for
alternatives, conditions or patterns) is never wrong, only less helpful.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cinnabar.errors import CinnabarError
from cinnabar.schemas import compile_schema
from cinnabar.schemas.parsing.algebra import types_of, union
from cinnabar.schemas.parsing.shape import (
    Anything,
    Array,
    Enum,
    Field,
    Object,
    Shape,
    String,
    drop_null,
    is_nullable,
    notes_of,
    set_notes,
)
from cinnabar.schemas.pointers import unescape

#: A form of a recursive schema ends at this depth, and a place below it is edited as JSON.
_DEPTH = 12
# The most places of a form.
_PLACES = 4000
_SCALARS = frozenset({"string", "number", "integer", "boolean"})


def form_of(schema: dict[str, Any] | bool) -> dict[str, Any]:
    """Returns the form of a schema.

    Each place has `kind` (`object`, `list`, `value`, or `any` for JSON), `title`, `description` and `nullable`. An
    object has `properties`: pairs of a name and a place, with `required`. A list has `items`. A value has `types`
    (names of JSON Schema), `format`, `day_first` (None if the schema says nothing of it), and `options`: the JSON texts
    of its enumeration.
    """
    try:
        shape = compile_schema(schema).shape
    except CinnabarError:  # an earlier version may have taken more
        shape = Anything()
    return _Form(shape.notes.day_first).place(shape, 0)


class _Form:
    def __init__(self, day_first: bool | None) -> None:
        self._day_first, self._left = day_first, _PLACES

    def place(self, shape: Shape, depth: int) -> dict[str, Any]:
        self._left -= 1
        notes, kinds = notes_of(shape), drop_null(shape)
        form: dict[str, Any] = {
            "kind": "any",
            "title": notes.title,
            "description": notes.description,
            "nullable": is_nullable(shape),
        }
        if depth > _DEPTH or self._left < 0:
            return form
        types = list(dict.fromkeys(name for kind in kinds for name in sorted(types_of(kind))))
        match kinds:
            case _ if fields := _fields_of(kinds):
                form["kind"] = "object"
                form["properties"] = [
                    [one.name, {**self.place(one.shape, depth + 1), "required": one.required}] for one in fields
                ]
            case (Array(item=item, prefix=()),) if item is not None and not isinstance(item, Anything):
                form["kind"] = "list"
                form["items"] = self.place(item, depth + 1)
            case _ if types and _SCALARS.issuperset(types):
                form["kind"] = "value"
                form["types"] = types
                formats = [name for kind in kinds if isinstance(kind, String) for name in kind.formats]
                form["format"] = next(iter(formats), "")
                form["day_first"] = self._day_first if notes.day_first is None else notes.day_first
                if all(isinstance(kind, Enum) for kind in kinds):
                    form["options"] = [text for kind in kinds if isinstance(kind, Enum) for text in kind.options]
        return form


def _fields_of(kinds: Sequence[Shape]) -> list[Field]:
    """Returns the properties of objects that have the same ones, as under a condition; none of other shapes."""
    objects = [{one.name: one for one in kind.fields} for kind in kinds if isinstance(kind, Object)]
    if len(objects) < len(kinds) or any(one.keys() != objects[0].keys() for one in objects):
        return []
    joined = []
    for name, first in objects[0].items() if objects else ():
        own = [one[name] for one in objects]
        shape = union([one.shape for one in own]) or first.shape
        joined.append(Field(name, set_notes(shape, notes_of(first.shape)), all(one.required for one in own)))
    return joined


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
