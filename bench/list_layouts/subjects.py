"""What a list is about: its columns, what stands around it, and the schema that a user would write for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.list_layouts.values import Field


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind of document with a list.

    titles, things: printed titles, and the printed plural of what is listed, with "|" between them. `about` describes
    a document, `rows` and `each` are the name and the description of its list, `groups` and `of_group` those of a list
    of groups around it. `columns` stand in printed order. `group` holds for each row of a group, `page` for each row
    of the document; `root` belongs to the document. `absent`: (name, type, description) of fields that it never has.
    """

    titles: str
    things: str
    about: str
    rows: str
    each: str
    columns: tuple[Field, ...]
    root: tuple[Field, ...]
    page: tuple[Field, ...] = ()
    group: tuple[Field, ...] = ()
    heading: str = "{0}"
    groups: str = "groups"
    of_group: str = ""
    absent: tuple[tuple[str, str, str], ...] = ()
    locale: str = "us"


def schema_of(subject: Subject, nested: bool) -> dict[str, Any]:
    """Returns the schema of a subject's documents; with `nested` its rows lie in their groups."""
    inner = [
        _property(one) for one in (*subject.columns, *subject.page, *(() if nested else subject.group)) if one.name
    ]
    inner += [(name, {"type": [kind, "null"], "description": about}) for name, kind, about in subject.absent]
    # A user's order is not that of the columns.
    Random(subject.rows).shuffle(inner)
    rows = (subject.rows, {"type": "array", "description": subject.each, "items": _closed(inner)})
    if nested:
        group = [*map(_property, subject.group), rows]
        rows = (subject.groups, {"type": "array", "description": subject.of_group, "items": _closed(group)})
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": subject.rows}
    return draft | {"description": subject.about} | _closed([*map(_property, subject.root), rows])


def _property(one: Field) -> tuple[str, dict[str, Any]]:
    """Returns the name and the schema of a field."""
    kind = dict(one.kind.schema)
    if one.empty:
        kind["type"] = [kind["type"], "null"]
        if "enum" in kind:
            kind["enum"] = [*kind["enum"], None]
    title = one.name.replace("_", " ").capitalize()
    return one.name, {"title": title, "description": one.about} | kind


def _closed(properties: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Returns an object with exactly these properties."""
    own = dict(properties)
    return {"type": "object", "additionalProperties": False, "required": list(own), "properties": own}
