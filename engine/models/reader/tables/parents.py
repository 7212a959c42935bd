"""Lists in lists: the lines of one kind that begin the items around others, also those without any item."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.engine.models.reader.memory.passage import MatchedRow
from cinnabar.engine.models.reader.priors.name_matching import asked_of, words_in
from cinnabar.engine.models.reader.tables.rival_heads import name_shares
from cinnabar.engine.tables.heads import Span
from cinnabar.schemas.form.form import ArrayNode, Form, enclosing_arrays

#: The share of a label's words that the names of the outer item have, and that of such lines with items below.
PARENT_NAMED, PARENT_FILLED = 0.6, 0.5
#: How surely such a line begins an item.
PARENT_SURE = 0.85
#: A label of up to four words: before a colon, or before a number or code.
_LABEL = re.compile(r"\W*([^\W\d_][^\W\d_'’-]*(?:[ /][^\W\d_][^\W\d_'’-]*\.?){0,3}?)(?: ?[:=#]| (?=\S*\d))")
_BLANK = re.compile(r"\n[ \t]*\n\s*")
#: A place at which an item begins, and its probability.
Beginnings = list[tuple[int, float]]


def add_parents(
    form: Form, anchors: Sequence[Beginnings], matched: Mapping[int, dict[int, MatchedRow]], text: str
) -> list[Beginnings]:
    """Returns the beginnings of the items of each array, with the lines that begin items of lists around others.

    matched: the rows of arrays in tables; those that are the first of an item around them are added, in place.
    """
    found = [*anchors]
    for inner, outer in enclosing_arrays(form).items():
        if outer < 0 or enclosing_arrays(form)[outer] >= 0:
            continue
        lines = parent_lines(form, form.arrays[outer], form.arrays[inner], [at for at, _ in found[inner]], text)
        if lines and matched.get(outer):
            found[outer] = _told_parents(lines, found[outer], matched[outer], matched[inner], text)
        elif lines:
            chances = [max((c for at, c in found[outer] if start <= at < end), default=0.0) for start, end in lines]
            starts = _block_starts(lines, [at for at, _ in found[inner]], text)
            found[outer] = [(start, max(PARENT_SURE, c)) for start, c in zip(starts, chances, strict=True)]
            found[inner] = [one for one in found[inner] if not any(start <= one[0] < end for start, end in lines)]
    return found


def _block_starts(lines: Sequence[Span], rows: Sequence[int], text: str) -> list[int]:
    """Returns where the items of these lines begin: at the first line behind a blank one, if no row stands between."""
    found, rows, before = list[int](), sorted(rows), 0
    for start, end in lines:
        blank = max((one.end() for one in _BLANK.finditer(text, before, start)), default=start)
        found.append(blank if bisect_left(rows, blank) == bisect_left(rows, start) else start)
        before = end
    return found


def _told_parents(
    lines: Sequence[Span], begun: Beginnings, outer: dict[int, MatchedRow], told: Mapping[int, MatchedRow], text: str
) -> Beginnings:
    """Returns the beginnings of items whose rows stand in tables, with those that say the same and those without rows.

    A line that stands again goes on with its item on another page.
    """
    known, rows, last, empty = dict(begun), sorted(told), "", list[Span]()
    like: tuple[Span, MatchedRow] | None = None
    for (start, end), (behind, _) in pairwise([*lines, (len(text), len(text))]):
        at = bisect_left(rows, end)
        if at == len(rows) or rows[at] >= behind:
            known[start] = PARENT_SURE
            empty.append((start, end))
        elif text[start:end] != last and rows[at] not in known:
            known[rows[at]], outer[rows[at]] = told[rows[at]].chance, told[rows[at]]
        elif rows[at] in outer:
            like = (start, end), outer[rows[at]]
        last = text[start:end]
    if like is not None:
        outer |= {line[0]: _row_like(line, like[0], like[1], text) for line in empty}
    return sorted(known.items())


def _row_like(line: Span, other: Span, row: MatchedRow, text: str) -> MatchedRow:
    """Returns the row of a line with the values between the same words as in another line, `other`, of a row."""
    cells = dict(row.cells)
    for index, (cell, chance) in row.cells.items():
        if not cell or not other[0] <= cell[0][0] < cell[-1][1] <= other[1]:
            del cells[index]
            continue
        before, behind = text[other[0] : cell[0][0]].split()[-1:], text[cell[-1][1] : other[1]].split()[:1]
        between = rf"{re.escape(*before) if before else '^'}\s+(\S.*?)\s*(?:{re.escape(*behind) if behind else '$'})"
        found = re.search(between, text[slice(*line)])
        cells[index] = (((line[0] + found.start(1), line[0] + found.end(1)),) if found else ()), chance
    return replace(row, cells=cells, taken=(), is_closed=False)


def parent_lines(form: Form, outer: ArrayNode, inner: ArrayNode, rows: Sequence[int], text: str) -> list[Span]:
    """Returns the lines of the kind that begins the items of a list around another one, empty if there is none.

    rows: the first characters of the inner items. The lines of a kind have one label. Its words name the outer items or
    a field of them, and no field of the inner ones; inner items stand below at least half of the lines.
    """
    kinds: dict[str, list[Span]] = {}
    for printed in re.finditer(r"^.*\S.*$", text, re.MULTILINE):
        if begins := _LABEL.match(printed[0]):
            kinds.setdefault(begins[1].lower(), []).append(printed.span())
    kinds = {label: lines for label, lines in kinds.items() if len({text[a:b] for a, b in lines}) > 1}
    slots, asked = form.slots, form_questions(form)
    within = [asked_of(s.path, asked.slots[s.index]) for s in slots if s.path.startswith(f"{inner.path}/*/")]
    around = [
        asked_of(slot.path, asked.slots[slot.index])
        for slot in slots if slot.path.startswith(f"{outer.path}/*/") and not slot.path.startswith(f"{inner.path}/*/")
    ] + [asked_of(outer.path, asked.arrays[outer.index])]  # fmt: skip
    rows, best = sorted(rows), list[Span]()
    for label, lines in kinds.items():
        named = [float(name_shares(fields, [label]).max(initial=0.0)) for fields in (around, within)]
        ends = [end for _, end in lines]
        filled = sum(bisect_left(rows, two) > bisect_left(rows, one) for one, two in pairwise([*ends, len(text)]))
        is_parent = named[0] >= PARENT_NAMED and named[0] > named[1] and filled >= PARENT_FILLED * len(lines)
        if is_parent and len(words_in(label)) and len(lines) > len(best):
            best = lines
    return best
