"""The keywords `x-cinnabar-decimals` (so many decimal places at most) and `x-cinnabar-pages` (the pages that are read).

`multipleOf: 0.0001` says the same as the first in the words of the standard. But a validator that computes in binary
floats, as most do, finds 80.91 to be no multiple of 0.0001, so such schemas make other programs refuse valid records.
The second is `--pages` of a run, too, for documents that have pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from cinnabar.schemas.pointers import escape
from cinnabar.schemas.refusals import Refusal, refused

DECIMALS = "x-cinnabar-decimals"
#: Checks between fields, by their names (extraction/filling/checks).
CHECKS = "x-cinnabar-checks"
#: A decimal column has 38 digits, and one of them stands before the point.
MOST = 37
#: Keywords whose values are data, and keywords that map any name to a schema.
DATA = frozenset({"const", "default", "enum", "example", "examples"})
MAPS = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"})


def schemas_in(schema: Any, at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the objects within a schema that are schemas, each with its pointer, the outer before the inner."""
    if isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from schemas_in(part, f"{at}/{index}")
    elif isinstance(schema, dict):
        yield at, schema
        for key, part in schema.items():
            if key in MAPS and isinstance(part, dict):
                for name, below in part.items():
                    yield from schemas_in(below, f"{at}/{key}/{escape(name)}")
            elif key not in DATA:
                yield from schemas_in(part, f"{at}/{escape(str(key))}")


def step_of(places: Any) -> Decimal | None:
    """The number of which all numbers with this many decimal places are multiples; None if `places` is no such count.

    A float that is whole counts, as everywhere in JSON Schema.
    """
    if isinstance(places, bool) or not isinstance(places, (int, float, Decimal)) or places != places // 1:
        return None
    return Decimal(1).scaleb(-int(places)) if 0 <= places <= MOST else None


PAGES = "x-cinnabar-pages"
#: Pages and ranges of pages from 1, with commas between; `last` is the last one.
PAGES_PATTERN = r"^([1-9]\d{0,5}(-([1-9]\d{0,5}|last))?|last)(,([1-9]\d{0,5}(-([1-9]\d{0,5}|last))?|last))*$"


@dataclass(frozen=True, slots=True)
class PageRanges:
    """Pages by their numbers, such as `1-3,last`."""

    text: str

    def of(self, count: int) -> frozenset[int]:
        """Returns the chosen pages of a document with so many pages."""
        chosen = set[int]()
        for one in self.text.split(","):
            first, *more = one.split("-")
            low, high = (count if part == "last" else int(part) for part in (first, *(more or [first])))
            # 3-1 is 1-3, but no document of four pages has 5-last.
            if high < low and "last" not in more:
                low, high = high, low
            chosen.update(range(low, min(high, count) + 1))
        return frozenset(page for page in chosen if page <= count)


def backward_range(text: str) -> str | None:
    """Returns the first of these ranges of pages that ends before it begins, None if none does."""
    ends = (one.split("-") for one in text.split(","))
    return next(("-".join(two) for two in ends if two[1:] and two[1] != "last" and int(two[1]) < int(two[0])), None)


def page_ranges_of(named: object, pointer: str) -> PageRanges:
    """Returns the pages that the schema at this pointer names. Raises UnsupportedSchema for other words."""
    if not isinstance(named, str) or not re.fullmatch(PAGES_PATTERN, named):
        raise refused(Refusal.PAGES, f"{pointer}/{PAGES}", got=named)
    if pointer:
        raise refused(Refusal.PAGES_OF_FIELD, f"{pointer}/{PAGES}")
    return PageRanges(named)
