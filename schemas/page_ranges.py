"""`x-cinnabar-pages`, and `--pages` of a run: the pages that are read of documents that have pages."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cinnabar.schemas.refusals import Refusal, refused

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


def page_ranges_of(named: object, pointer: str) -> PageRanges:
    """Returns the pages that the schema at this pointer names. Raises UnsupportedSchema for other words."""
    if not isinstance(named, str) or not re.fullmatch(PAGES_PATTERN, named):
        raise refused(Refusal.PAGES, f"{pointer}/{PAGES}", got=named)
    if pointer:
        raise refused(Refusal.PAGES_OF_FIELD, f"{pointer}/{PAGES}")
    return PageRanges(named)
