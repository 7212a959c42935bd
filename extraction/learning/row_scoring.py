"""Scores the items of lists of objects as wholes, for people who work with rows.

rows              number of true rows
rows_found        share of them with a partner that has at least half of their leaves right, without those that are null
rows_exact        share of them with a partner whose leaves are all equal, with none added
lists_whole       share of lists with all rows exact and none added; only lists with a row on either side count
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from cinnabar.extraction.learning.pairing import LeafPair, Partners, Place


@dataclass(slots=True)
class RowScoring:
    """The counts of rows and of their lists over the documents of a set; rows in rows count too."""

    rows: int = 0
    found: int = 0
    exact: int = 0
    lists: int = 0
    whole: int = 0

    def add(self, leaves: Iterable[LeafPair]) -> None:
        """Counts the rows of one document, which are the steps of leaves' places with an index before a name."""
        rows: dict[tuple[Place, Partners], list[LeafPair]] = defaultdict(list)
        for leaf in leaves:
            for at, step in enumerate(leaf.place[:-1]):
                if isinstance(step, tuple) and isinstance(leaf.place[at + 1], str):
                    rows[leaf.place[:at], step].append(leaf)
        lists: dict[Place, bool] = {}
        for (place, (i, j)), row in rows.items():
            exact = all(leaf.right and leaf.paired for leaf in row)
            lists[place] = exact and lists.get(place, True)
            if i is not None:
                known = [leaf.right for leaf in row if leaf.truth is not None]
                self.rows += 1
                self.found += j is not None and 2 * sum(known) >= len(known)
                self.exact += exact
        self.lists += len(lists)
        self.whole += sum(lists.values())

    def figures(self) -> dict[str, float | None]:
        """Returns the figures; none if no document has a list of objects."""
        if not self.lists:
            return {}
        return {
            "rows": self.rows,
            "rows_found": round(self.found / self.rows, 4) if self.rows else None,
            "rows_exact": round(self.exact / self.rows, 4) if self.rows else None,
            "lists_whole": round(self.whole / self.lists, 4),
        }
