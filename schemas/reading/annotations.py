"""Keywords of strings that assert something in draft 7 and are unchecked annotations in other drafts."""

from __future__ import annotations

from collections.abc import Iterator

from cinnabar.schemas.formats.formats import format_content
from cinnabar.schemas.judging.dialects import Dialect
from cinnabar.schemas.reading.schema_object import SchemaObject

#: Patterns for strings whose content draft 7 asserts; the form writes by them, and the judge decides exactly.
CONTENT = {
    ("contentEncoding", "base64"): r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    ("contentMediaType", "application/json"): (
        r'^(?:\{[\s\S]*\}|\[[\s\S]*\]|"[^"\\]*"|-?(?:0|[1-9][0-9]*)|true|false|null)$'
    ),
}


def unchecked(schema: SchemaObject) -> Iterator[tuple[str, str]]:
    """The demands on strings that nobody checks, as (pointer, description)."""
    name = schema.get("format")
    if isinstance(name, str) and format_content(name) is None:
        yield schema.pointer("format"), f"format {name} is unknown and not checked"
    for keyword in ("contentEncoding", "contentMediaType"):
        if keyword in schema and not _asserted(schema, keyword):
            what = f"{keyword} {schema.get(keyword)} is an annotation and not checked"
            yield schema.pointer(keyword), what


def content_pattern(schema: SchemaObject) -> str | None:
    """The pattern of the first keyword that asserts something about the content of strings; None for none."""
    return next((CONTENT[k, schema.get(k)] for k, _ in CONTENT if _asserted(schema, k)), None)


def _asserted(schema: SchemaObject, keyword: str) -> bool:
    """Whether this keyword about the content of strings asserts anything; only draft 7 lets it."""
    named = schema.get(keyword)
    return schema.place.resource.dialect is Dialect.DRAFT_7 and (keyword, str(named)) in CONTENT
