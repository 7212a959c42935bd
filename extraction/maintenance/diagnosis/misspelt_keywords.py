"""Keywords of a schema that look misspelt: the standard lets a schema hold any, and they have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any

from jsonschema_specifications import REGISTRY

from cinnabar.extraction.filling.checks.checks import KEYWORD as CHECKS
from cinnabar.extraction.plan.thresholds import ALIKE_KEYWORDS
from cinnabar.schemas.keywords import DECIMALS, PAGES
from cinnabar.schemas.parsing.schema_object import BINDING, DAY_FIRST, WAS, WORDS, WRITTEN
from cinnabar.schemas.pointers import escape

# Keywords whose values are data, and those whose values are schemas by their names.
_DATA = frozenset({"const", "default", "enum", "example", "examples", "required", "dependentRequired"})
_DATA |= {CHECKS, WORDS}
_NAMED = frozenset({"properties", "patternProperties", "definitions", "$defs", "dependentSchemas", "dependencies"})
_OPENAPI = ("nullable", "example", "discriminator", "xml", "externalDocs")


def misspelt_keywords(schema: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yields the pointer of each unknown keyword that is like a known one, with the known one."""
    if isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from misspelt_keywords(part, f"{pointer}/{index}")
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        below = f"{pointer}/{escape(keyword)}"
        if keyword not in _known():
            yield from ((below, near) for near in get_close_matches(keyword, _known(), 1, ALIKE_KEYWORDS))
        elif keyword in _NAMED and isinstance(value, dict):
            for name, part in value.items():
                yield from misspelt_keywords(part, f"{below}/{escape(name)}")
        elif keyword not in _DATA:
            yield from misspelt_keywords(value, below)


@cache
def _known() -> frozenset[str]:
    """The keywords of all drafts, of OpenAPI and of our own."""
    drafts = (REGISTRY.contents(uri) for uri in REGISTRY)
    standard = (name for meta in drafts if isinstance(meta, dict) for name in meta.get("properties", {}))
    own = BINDING, DAY_FIRST, WAS, WORDS, WRITTEN, DECIMALS, CHECKS, PAGES
    return frozenset((*standard, *_OPENAPI, *own))
