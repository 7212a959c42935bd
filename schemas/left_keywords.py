"""Keywords of ours that are gone, each with what does it now.

A schema that is given with one is refused. One that a folder holds keeps it, and it says nothing any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from cinnabar.schemas.pointers import escape
from cinnabar.schemas.refusals import Refusal, refused

#: By the keyword, what to do instead.
LEFT_KEYWORDS: Mapping[str, str] = {
    "x-cinnabar-lookup": "leave it out; a join in SQL finds the row of a table that a printed name means"
    " (docs/recipes.md)",
}
# Keywords with schemas by the user's names, and with values in place of schemas.
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
_VALUES = ("const", "enum", "default", "examples")


def keyword_places(schema: Any, keywords: Collection[str], at: str = "") -> Iterator[tuple[str, str]]:
    """Yields the pointer of each of these keywords in a schema, with the keyword; a property of that name is none."""
    parts = enumerate(schema) if isinstance(schema, list) else schema.items() if isinstance(schema, dict) else ()
    for key, part in parts:
        below = f"{at}/{escape(str(key))}"
        if key in keywords:
            yield below, str(key)
        elif key in _BY_NAME and isinstance(part, dict):
            for name, one in part.items():
                yield from keyword_places(one, keywords, f"{below}/{escape(name)}")
        elif key not in _VALUES:
            yield from keyword_places(part, keywords, below)


def refuse_left_keywords(schema: Any) -> None:
    """Raises UnsupportedSchema for a keyword that is gone, with what to do instead."""
    for pointer, keyword in keyword_places(schema, LEFT_KEYWORDS):
        raise refused(Refusal.KEYWORD_GONE, pointer, keyword, keyword=keyword, instead=LEFT_KEYWORDS[keyword])
