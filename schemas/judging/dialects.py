"""Which draft of JSON Schema a schema is written in, and what its keywords mean in draft 2020-12.

By the core and validation documents of drafts 4, 6, 7, 2019-09 and 2020-12, and OpenAPI 3.0.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class Draft(IntEnum):
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
        return "id" if self is Draft.DRAFT_4 else "$id"

    @property
    def ref_stands_alone(self) -> bool:
        """Whether all that stands beside a `$ref` is ignored."""
        return self <= Draft.DRAFT_7


DEFAULT = Draft.OPENAPI
"""What a schema without `$schema` is written in: there, `nullable` cannot mean anything else."""

_NUMBERED = {"4": Draft.DRAFT_4, "6": Draft.DRAFT_6, "7": Draft.DRAFT_7}
_NAME = re.compile(
    r"https?://json-schema\.org/(?:draft-0?(?P<number>[467])/(?:hyper-)?schema"
    r"|draft/(?P<year>2019-09|2020-12)/(?:hyper-)?schema|schema)#?"
)
_OPENAPI_31 = re.compile(r"https://spec\.openapis\.org/oas/3\.1/dialect/[^#]*#?")


def draft_named(uri: str) -> Draft | None:
    """The draft whose meta-schema has this URI, with or without an empty fragment; None for any other."""
    found = _NAME.fullmatch(uri)
    if found is None:
        return Draft.DRAFT_2020_12 if _OPENAPI_31.fullmatch(uri) else None
    if found["number"]:
        return _NUMBERED[found["number"]]
    return Draft.DRAFT_2019_09 if found["year"] == "2019-09" else Draft.DRAFT_2020_12


Entry = tuple[str, Any]
"""The keyword that stands in the schema, and its value."""

# The first draft that knows each keyword which draft 4 does not have.
_SINCE = {
    "const": Draft.DRAFT_6,
    "contains": Draft.DRAFT_6,
    "propertyNames": Draft.DRAFT_6,
    "contentEncoding": Draft.DRAFT_7,
    "contentMediaType": Draft.DRAFT_7,
    "if": Draft.DRAFT_7,
    "then": Draft.DRAFT_7,
    "else": Draft.DRAFT_7,
    "dependentRequired": Draft.DRAFT_2019_09,
    "dependentSchemas": Draft.DRAFT_2019_09,
    "minContains": Draft.DRAFT_2019_09,
    "maxContains": Draft.DRAFT_2019_09,
    "unevaluatedItems": Draft.DRAFT_2019_09,
    "unevaluatedProperties": Draft.DRAFT_2019_09,
    "prefixItems": Draft.DRAFT_2020_12,
    "$dynamicRef": Draft.DRAFT_2020_12,
}


def modern(schema: Mapping[str, Any], draft: Draft) -> dict[str, Entry]:
    """What the keywords of this one schema object mean in 2020-12: by keyword there, what stands here.

    Subschemas are left as they are, for each may be of its own draft. `dependencies` is split and keeps its
    place; later drafts read it too, as their appendix on compatibility and their suite have it.
    """
    if draft.ref_stands_alone and isinstance(schema.get("$ref"), str):
        return {"$ref": ("$ref", schema["$ref"])}
    found = {k: (k, v) for k, v in schema.items() if _SINCE.get(k, Draft.DRAFT_4) <= draft}
    if draft is Draft.DRAFT_4:
        _exclusive_flags(found)
    if draft < Draft.DRAFT_2020_12:
        _lists_of_items(found)
    if draft is not Draft.DRAFT_2019_09:
        found.pop("$recursiveRef", None)
    if draft is Draft.OPENAPI and schema.get("nullable") is True and "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        found["type"] = ("type", [*kinds, "null"])
    dependencies = schema.get("dependencies")
    if isinstance(dependencies, Mapping):
        names = {k: v for k, v in dependencies.items() if isinstance(v, list)}
        others = {k: v for k, v in dependencies.items() if not isinstance(v, list)}
        # A schema that has the new keyword too says the same there, or means it for readers of that draft.
        for keyword, value in (("dependentRequired", names), ("dependentSchemas", others)):
            if value:
                found[f"dependencies:{keyword}"] = ("dependencies", value)
    return found


def _exclusive_flags(found: dict[str, Entry]) -> None:
    """Draft 4 flags a bound as exclusive; later drafts write the bound itself there."""
    for bound, flag in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if flag not in found or not isinstance(found[flag][1], bool):
            continue
        exclusive = found.pop(flag)[1]
        if exclusive and bound in found:
            found[flag] = found.pop(bound)


def _lists_of_items(found: dict[str, Entry]) -> None:
    """A list under `items` became `prefixItems`, and `additionalItems` beside it became `items`."""
    rest = found.pop("additionalItems", None)
    if "items" in found and isinstance(found["items"][1], list):
        found["prefixItems"] = found.pop("items")
        if rest is not None:
            found["items"] = rest
