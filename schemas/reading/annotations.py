"""Keywords of strings that assert something here and are annotations, which nobody checks, elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from cinnabar.schemas.formats.formats import format_content
from cinnabar.schemas.judging.dialects import Dialect
from cinnabar.schemas.reading.schema_object import SchemaObject

#: What draft 7 asserts of the content of strings, as patterns to write by; the judge knows exactly.
CONTENT = {
    ("contentEncoding", "base64"): r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    ("contentMediaType", "application/json"): (
        r'^(?:\{[\s\S]*\}|\[[\s\S]*\]|"[^"\\]*"|-?(?:0|[1-9][0-9]*)|true|false|null)$'
    ),
}


def unchecked(schema: SchemaObject) -> Iterator[tuple[str, str]]:
    """What the schema says of strings and nobody checks, as (pointer, what)."""
    name = schema.get("format")
    if isinstance(name, str) and format_content(name) is None:
        yield schema.pointer("format"), f"format {name} is unknown and not checked"
    for keyword in ("contentEncoding", "contentMediaType"):
        if keyword in schema and not _asserted(schema, keyword):
            what = f"{keyword} {schema.get(keyword)} is an annotation and not checked"
            yield schema.pointer(keyword), what


def content_pattern(schema: SchemaObject) -> str | None:
    """The pattern to write by of the first keyword that asserts something of the content of strings."""
    return next((CONTENT[k, schema.get(k)] for k, _ in CONTENT if _asserted(schema, k)), None)


def _asserted(schema: SchemaObject, keyword: str) -> bool:
    """Whether this keyword about the content of strings asserts anything, as it does in draft 7."""
    named = schema.get(keyword)
    return schema.place.resource.dialect is Dialect.DRAFT_7 and (keyword, str(named)) in CONTENT
