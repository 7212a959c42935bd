"""Keywords of ours that are gone, each with what does it now.

A schema that is given with one is refused. One that a folder holds keeps it, and it says nothing any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from cinnabar.schemas.keywords import schemas_in
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.refusals import Refusal, refused

#: By the keyword, what to do instead.
LEFT_KEYWORDS: Mapping[str, str] = {
    "x-cinnabar-lookup": "leave it out; a join in SQL finds the row of a table that a printed name means"
    " (docs/recipes.md)",
}


def keyword_places(schema: Any, keywords: Collection[str]) -> Iterator[tuple[str, str]]:
    """Returns the pointer of each of these keywords in a schema, with the keyword; a property of that name is none."""
    return ((f"{at}/{escape(key)}", key) for at, part in schemas_in(schema) for key in part if key in keywords)


def refuse_left_keywords(schema: Any) -> None:
    """Raises UnsupportedSchema for a keyword that is gone, with what to do instead."""
    for pointer, keyword in keyword_places(schema, LEFT_KEYWORDS):
        raise refused(Refusal.KEYWORD_GONE, pointer, keyword, keyword=keyword, instead=LEFT_KEYWORDS[keyword])
