"""The items of lists: which lists are asked for, their rows, and the text that each item stands in."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from cinnabar.engine.branches.decoding import BranchListing
from cinnabar.engine.branches.stretches import Stretches
from cinnabar.engine.model import WHOLE, Row
from cinnabar.schemas.form.form import ArrayNode, Form, enclosing_arrays

#: What ends a sentence within a line: behind a word of three letters or a figure, as abbreviations and initials are
#: shorter, and before no small letter or figure.
_SENTENCE = re.compile(r"(?:(?<=[^\W_]{3})|(?<=[\d)\"”’%]))[.!?][\"”’)]*\s+(?![a-z\d])")


def array_levels(form: Form) -> list[list[ArrayNode]]:
    """Returns the arrays of a form whose items are looked for: those in no other one, then those in their items."""
    around, levels = enclosing_arrays(form), list[list[ArrayNode]]()
    for array in form.arrays:
        level, outer = 0, around[array.index]
        while outer >= 0:
            level, outer = level + 1, around[outer]
        levels += [[] for _ in range(level + 1 - len(levels))]
        if array.item is not None and array.binding is None:
            levels[level].append(array)
    return levels


def lists_of(arrays: Sequence[ArrayNode], rows: Sequence[Row], form: Form) -> Iterator[tuple[ArrayNode, int]]:
    """Yields each list of these arrays with the number of the row around it, -1 if there is none."""
    around = enclosing_arrays(form)
    for array in arrays:
        outer = around[array.index]
        for parent in [-1] if outer < 0 else [at for at, row in enumerate(rows) if row.array == outer]:
            yield array, parent


def item_rows(array: ArrayNode, parent: int, stretches: Stretches, listing: BranchListing) -> list[Row]:
    """Returns the items of a list in the order of their first words."""
    anchors: dict[int, float] = {}
    for item in listing.items:
        anchor = stretches.span(*min(item.pairs))[0]
        anchors.setdefault(anchor, (1 - listing.none) * item.share)
    return [Row(array.index, parent, anchor, round(chance, 4)) for anchor, chance in sorted(anchors.items())]


def item_region(rows: Sequence[Row], row: int, text: str) -> tuple[int, int]:
    """Returns the characters [start, end) of an item: from the line of its first words to that of the next item.

    Those of an item of a nested list lie within the item around it.
    """
    anchor, parent = rows[row].anchor, rows[row].parent
    is_within = parent >= 0 and rows[parent].anchor != WHOLE
    low, high = item_region(rows, parent, text) if is_within else (0, len(text))
    others = sorted({other.anchor for other in rows if other.array == rows[row].array})
    at = bisect_left(others, anchor)
    behind = others[at + 1 :]
    start = _start(text, anchor, others[at - 1] if at else -1)
    end = _start(text, behind[0], anchor) if behind else high
    return max(start, low), min(end, high)


def _start(text: str, anchor: int, before: int) -> int:
    """Returns where an item's region starts: at its line, or its sentence if the item before is of the same line."""
    line = text.rfind("\n", 0, anchor) + 1
    if line > before:
        return line
    ends = [end.end() for end in _SENTENCE.finditer(text, before, anchor)]
    return ends[-1] if ends else anchor
