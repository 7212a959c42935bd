"""The drafts of JSON Schema: recognition of a schema's draft, and translation of its keywords to draft 2020-12.

The rules are in the core and validation documents of drafts 4, 6, 7, 2019-09 and 2020-12, and in OpenAPI 3.0.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class Dialect(IntEnum):
    """The drafts that are read, in their order; OPENAPI is 2020-12 with the `nullable` of OpenAPI 3.0."""

    DRAFT_4 = 4
    DRAFT_6 = 6
    DRAFT_7 = 7
    DRAFT_2019_09 = 8
    DRAFT_2020_12 = 9
    OPENAPI = 10

    @property
    def id_keyword(self) -> str:
        """The keyword that names a schema."""
        return "id" if self is Dialect.DRAFT_4 else "$id"

    @property
    def ref_stands_alone(self) -> bool:
        """Whether the keywords beside a `$ref` are ignored."""
        return self <= Dialect.DRAFT_7

    @property
    def meta_schema(self) -> str:
        """The URI of the meta-schema."""
        if self <= Dialect.DRAFT_7:
            return f"http://json-schema.org/draft-0{self.value}/schema#"
        return f"https://json-schema.org/draft/{'2019-09' if self is Dialect.DRAFT_2019_09 else '2020-12'}/schema"


DEFAULT = Dialect.OPENAPI
"""The draft of a schema without `$schema`; `nullable` cannot mean anything else there."""

_NUMBERED = {"4": Dialect.DRAFT_4, "6": Dialect.DRAFT_6, "7": Dialect.DRAFT_7}
_NAME = re.compile(
    r"https?://json-schema\.org/(?:draft-0?(?P<number>[467])/(?:hyper-)?schema"
    r"|draft/(?P<year>2019-09|2020-12)/(?:hyper-)?schema|schema)#?"
)
_OPENAPI_31 = re.compile(r"https://spec\.openapis\.org/oas/3\.1/dialect/[^#]*#?")


def dialect_named(uri: str) -> Dialect | None:
    """The draft whose meta-schema has this URI, with or without an empty fragment; None for any other."""
    draft = _NAME.fullmatch(uri)
    if draft is None:
        return Dialect.DRAFT_2020_12 if _OPENAPI_31.fullmatch(uri) else None
    if draft["number"]:
        return _NUMBERED[draft["number"]]
    return Dialect.DRAFT_2019_09 if draft["year"] == "2019-09" else Dialect.DRAFT_2020_12


Entry = tuple[str, Any]
"""The keyword as written in the schema, and its value."""

# The first draft that knows each keyword, for the keywords that draft 4 does not have.
_SINCE = {
    "const": Dialect.DRAFT_6,
    "contains": Dialect.DRAFT_6,
    "propertyNames": Dialect.DRAFT_6,
    "contentEncoding": Dialect.DRAFT_7,
    "contentMediaType": Dialect.DRAFT_7,
    "if": Dialect.DRAFT_7,
    "then": Dialect.DRAFT_7,
    "else": Dialect.DRAFT_7,
    "dependentRequired": Dialect.DRAFT_2019_09,
    "dependentSchemas": Dialect.DRAFT_2019_09,
    "minContains": Dialect.DRAFT_2019_09,
    "maxContains": Dialect.DRAFT_2019_09,
    "unevaluatedItems": Dialect.DRAFT_2019_09,
    "unevaluatedProperties": Dialect.DRAFT_2019_09,
    "prefixItems": Dialect.DRAFT_2020_12,
    "$dynamicRef": Dialect.DRAFT_2020_12,
}


def modern(schema: Mapping[str, Any], dialect: Dialect) -> dict[str, Entry]:
    """The keywords of this one schema object by their names in 2020-12, each with its keyword and value here.

    Subschemas are left as they are, since each may be of its own draft. `dependencies` is split and keeps its
    place; later drafts read it too, as their appendix on compatibility and their test suite do.
    """
    if dialect.ref_stands_alone and isinstance(schema.get("$ref"), str):
        return {"$ref": ("$ref", schema["$ref"])}
    entries = {k: (k, v) for k, v in schema.items() if _SINCE.get(k, Dialect.DRAFT_4) <= dialect}
    if dialect is Dialect.DRAFT_4:
        _exclusive_flags(entries)
    if dialect < Dialect.DRAFT_2020_12:
        _lists_of_items(entries)
    if dialect is not Dialect.DRAFT_2019_09:
        entries.pop("$recursiveRef", None)
    if dialect is Dialect.OPENAPI and schema.get("nullable") is True and "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        entries["type"] = ("type", [*kinds, "null"])
    dependencies = schema.get("dependencies")
    if isinstance(dependencies, Mapping):
        names = {k: v for k, v in dependencies.items() if isinstance(v, list)}
        others = {k: v for k, v in dependencies.items() if not isinstance(v, list)}
        # A schema with the new keyword beside it repeats its meaning, or addresses readers of that draft.
        for keyword, value in (("dependentRequired", names), ("dependentSchemas", others)):
            if value:
                entries[f"dependencies:{keyword}"] = ("dependencies", value)
    return entries


def _exclusive_flags(entries: dict[str, Entry]) -> None:
    """Turns the flags of draft 4 that make a bound exclusive into the exclusive bounds of later drafts."""
    for bound, flag in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if flag not in entries or not isinstance(entries[flag][1], bool):
            continue
        exclusive = entries.pop(flag)[1]
        if exclusive and bound in entries:
            entries[flag] = entries.pop(bound)


def _lists_of_items(entries: dict[str, Entry]) -> None:
    """Renames a list under `items` to `prefixItems`, and `additionalItems` beside it to `items`."""
    rest = entries.pop("additionalItems", None)
    if "items" in entries and isinstance(entries["items"][1], list):
        entries["prefixItems"] = entries.pop("items")
        if rest is not None:
            entries["items"] = rest
