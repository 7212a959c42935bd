"""Items of several lines without labels: the same number of lines again and again, each with columns of its own.

The cells of lines in the columns of a grid, and the gaps of a grid that are within a column.

Items in blocks of labels and values, with the same labels again and again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, permutations
from statistics import median

from cinnabar.engine.tables.grid import Gap, Grid, grids_of
from cinnabar.engine.tables.heads import Cells, Span, is_figure
from cinnabar.engine.tables.lines import PART, Line, character_width, line_end

#: The fewest items, the most lines of one, and the share of all that have the usual number of lines.
ITEMS_FEWEST, ITEM_LINES, ITEM_USUAL = 6, 6, 0.8
#: How far lines that begin at one place may lie apart, in characters.
ITEM_INDENT = 0.8
#: The share of items whose first line fills a column, for all that lack lines to do so.
ITEM_FILLED = 0.9
#: The parts of a line from which on it has several columns.
ITEM_PARTS = 2
#: The share of a column's cells that are figures, for it to be one of figures.
ITEM_FIGURES = 0.7
#: A gap of at most so many blanks, in this share of the rows, is one within a column.
GAP_BLANKS, GAP_ROWS = 1.5, 0.9
#: The fewest blocks, and labels of a block; the share of the blocks that have a label, for it to be one of theirs; the
#: share of a label's places that are in blocks of their own.
BLOCKS_FEWEST, BLOCK_LABELS, BLOCK_USUAL, BLOCK_ONCE = 3, 3, 0.2, 0.8
#: The most characters of a label, of a value, and before a label on its line.
BLOCK_LABEL_LENGTH, BLOCK_VALUE_LENGTH, BLOCK_DEEPEST = 40, 300, 100


@dataclass(frozen=True, slots=True)
class LineItems:
    """Items of several lines: the lines of each, the words above their columns, and the cells of each item."""

    lines: tuple[tuple[int, ...], ...]
    heads: Cells
    cells: tuple[Cells, ...]


def items_of(lines: Sequence[Line], text: str) -> LineItems | None:
    """Returns the items of a text that have the same number of lines each; None if it has too few or no figures.

    The first line of an item stands out to the left, or below an empty line. An item may lack lines behind its first.
    Lines in the columns of others are rows of their own, unless each of them has a head.
    """
    near = ITEM_INDENT * character_width(lines)
    edges = Counter(round(line.words[0].left / near) for line in lines)
    outer = min((edge for edge, times in edges.items() if times >= ITEMS_FEWEST), default=0)
    outdented = [abs(line.words[0].left - outer * near) <= near for line in lines]
    for begins in ([line.blank > 0 or at == 0 for at, line in enumerate(lines)], outdented):
        stretches, many = _stretches(begins)
        found = [item for item in stretches if len(item) == many]
        grids = [_grid([lines[item[k]] for item in found], text) for k in range(many)]
        whole = [grid for grid in grids if grid is not None]
        if len(whole) < many or not any(grid.gaps for grid in whole):
            continue
        cells = [[cells_in(lines[at], grid, text) for at, grid in zip(item, whole, strict=True)] for item in found]
        figures = [_figures([own[k] for own in cells], text) for k in range(many)]
        if not any(figures):
            continue
        # Below an empty line begins a title as well, and what has more lines than an item.
        own = stretches if begins is outdented else [one for one in stretches if len(one) <= many]
        items = _below_heads(own, whole, figures, lines, text)
        if items is None or (_share_columns(whole) and not all(map(any, _by_line(items.heads, whole)))):
            continue
        return items
    return None


def _stretches(begins: Sequence[bool]) -> tuple[list[range], int]:
    """Returns the lines from one first line to the next, and their usual number; 0 if few have it."""
    starts = [at for at, is_first in enumerate(begins) if is_first]
    stretches = [range(one, two) for one, two in pairwise([*starts, len(begins)])]
    lengths = [len(one) for one in stretches if len(one) > 1]
    usual, times = Counter(lengths).most_common(1)[0] if lengths else (0, 0)
    return stretches, usual if usual <= ITEM_LINES and times >= max(ITEMS_FEWEST, ITEM_USUAL * len(lengths)) else 0


def _grid(own: Sequence[Line], text: str) -> Grid | None:
    """Returns the columns of lines that say the same of each item; None if they have several parts but no columns."""
    grids = grids_of([replace(line, blank=0) for line in own])
    best = max(grids, key=lambda grid: len(grid.lines), default=None)
    whole = Grid(0, len(own), tuple(range(len(own))), ())
    if best is None or len(best.lines) < ITEM_USUAL * len(own):
        return whole if median(len(line.cells) for line in own) < ITEM_PARTS else None
    return coarser_grid(own, replace(whole, gaps=best.gaps), text)


def _share_columns(grids: Sequence[Grid]) -> bool:
    """Returns whether all gaps of a line's columns are gaps of another line's, too."""
    return any(
        one.gaps and two.gaps and all(any(a < d and c < b for c, d in two.gaps) for a, b in one.gaps)
        for one, two in permutations(grids, 2)
    )


def _by_line(cells: Cells, grids: Sequence[Grid]) -> list[Cells]:
    """Returns cells of an item by its lines."""
    left = iter(cells)
    return [tuple(islice(left, len(grid.gaps) + 1)) for grid in grids]


def _figures(cells: Sequence[Cells], text: str) -> list[int]:
    """Returns the columns of figures."""
    found = []
    for column in range(len(cells[0])):
        filled = [own[column] for own in cells if own[column]]
        if filled and sum(is_figure(cell, text) for cell in filled) >= ITEM_FIGURES * len(filled):
            found.append(column)
    return found


def _below_heads(
    stretches: Sequence[range],
    grids: Sequence[Grid],
    figures: Sequence[Sequence[int]],
    lines: Sequence[Line],
    text: str,
) -> LineItems | None:
    """Returns the items without the lines that are the head of the columns, which may stand on each page.

    None if few have all lines. figures: the columns of figures in each line of an item. A line of less than half of its
    columns begins none.
    """
    kept, cells = list[tuple[int, ...]](), list[Cells]()
    head: list[Cells] = []
    empty: list[Cells] = [((),) * (len(grid.gaps) + 1) for grid in grids]
    whole = [cells_in(lines[one[0]], grids[0], text) for one in stretches if len(one) == len(grids)]
    usual = [c for c in range(len(whole[0])) if sum(bool(own[c]) for own in whole) >= ITEM_FILLED * len(whole)]
    for stretch in stretches:
        # Which of too many lines is which nothing tells.
        at_hand = stretch if len(stretch) <= len(grids) else stretch[:1]
        own = [cells_in(lines[at], grid, text) for at, grid in zip(at_hand, grids, strict=False)]
        parts = [(line[c], c in known) for line, known in zip(own, figures, strict=False) for c in range(len(line))]
        counted = [is_figure(cell, text) for cell, is_counted in parts if cell and is_counted]
        is_whole = len(stretch) == len(grids)
        # A sum, or a heading, fills less than the first line of an item.
        many = sum(map(bool, own[0]))
        begins = 2 * many >= len(own[0]) and (is_whole or (many > 1 and all(own[0][c] for c in usual)))
        if begins and (any(counted) or not (counted or figures[0])):
            own += empty[len(own) :]
            kept.append(tuple(at_hand))
            cells.append(tuple(cell for line in own for cell in line))
        elif begins and is_whole and counted and not kept:
            head = own
    if not kept or sum(len(item) == len(grids) for item in kept) < ITEM_USUAL * len(kept):
        return None
    for many in (len(grids), 1):
        above = range(kept[0][0] - many, kept[0][0])
        if not head and above.start >= 0:
            named = [cells_in(lines[at], grid, text) for at, grid in zip(above, grids, strict=False)]
            over = [line[c] for line, known in zip(named, figures, strict=False) for c in known]
            # A head has words above figures.
            is_head = any(over) and all(cell and not is_figure(cell, text) for cell in over)
            head = [*named, *empty[many:]] if is_head else []
    heads = tuple(cell for line in head for cell in line) or ((),) * len(cells[0])
    return LineItems(tuple(kept), heads, tuple(cells))


def coarser_grid(lines: Sequence[Line], grid: Grid, text: str) -> Grid:
    """Returns a grid without all gaps that may be within a column: "Part 1" is no figure in the column of the 1."""
    blank = GAP_BLANKS * blank_width([lines[at] for at in grid.lines], text)
    gaps = [gap for at, gap in enumerate(grid.gaps) if not is_narrow_gap(lines, grid, at, blank)]
    return replace(grid, gaps=tuple(gaps)) if gaps else grid


def without_gap(grid: Grid, gap: int) -> Grid:
    """Returns a grid without one of its gaps."""
    return replace(grid, gaps=(*grid.gaps[:gap], *grid.gaps[gap + 1 :]))


def is_narrow_gap(lines: Sequence[Line], grid: Grid, gap: int, blank: float) -> bool:
    """Returns whether a gap is at most so wide in nearly all rows that have words on both of its sides."""
    widths = []
    for at in grid.lines:
        left, right = extent_in(lines[at], grid, gap), extent_in(lines[at], grid, gap + 1)
        if left is not None and right is not None:
            widths.append(right[0] - left[1])
    return bool(widths) and sum(width <= blank for width in widths) >= GAP_ROWS * len(widths)


def extent_in(line: Line, grid: Grid, column: int) -> Gap | None:
    """Returns the edges of a line's words in a column."""
    own = [word for word in line.words if grid.column(word.middle) == column]
    return (own[0].left, own[-1].right) if own else None


def blank_width(lines: Sequence[Line], text: str) -> float:
    """Returns the usual width of a blank between two words of a line."""
    widths = [
        two.left - one.right
        for line in lines
        for one, two in zip(line.words, line.words[1:], strict=False)
        if text[one.end : two.start] == " "
    ]
    narrow = sorted(widths)
    return median(narrow[: max(1, len(narrow) // 2)]) if narrow else 0.0


def cells_in(line: Line, grid: Grid, text: str) -> Cells:
    """Returns the spans of a line's words in each column: words with nothing but blanks between them are one span."""
    cells: list[list[Span]] = [[] for _ in range(len(grid.gaps) + 1)]
    for word in line.words:
        own = cells[grid.column(word.middle)]
        if own and own[-1][1] <= word.start and not text[own[-1][1] : word.start].strip():
            own[-1] = own[-1][0], word.end
        else:
            own.append((word.start, word.end))
    return tuple(tuple(own) for own in cells)


#: A label that begins a part of a line.
_LEAD = re.compile(rf"(?P<label>[^\W\d][^:\n]{{0,{BLOCK_LABEL_LENGTH}}}?) ?:(?!\S)\s?")


# The words of a label, and the spans of its value.
_Labelled = tuple[tuple[Span, ...], tuple[Span, ...]]


@dataclass(frozen=True, slots=True)
class Blocks:
    """The first place of each label, and the blocks: the first character of each, and its values by label."""

    labels: Cells
    starts: tuple[int, ...]
    values: tuple[Cells, ...]


def blocks_of(text: str) -> Blocks | None:
    """Returns the blocks of a text; None if it has too few that are alike.

    A label without a value names the deeper ones below it where their own names occur again within a block. Time is in
    proportion to the text.
    """
    found = [((label,), value) for label, value in _labelled_values(text)]
    return _blocks(text, found) or _blocks(text, list(_below_groups(text, found)))


def _below_groups(text: str, found: Iterable[_Labelled]) -> Iterator[_Labelled]:
    """Yields the labels with a value, each behind the nearest label without one that it stands deeper below."""
    above: list[tuple[int, Span]] = []
    for labels, value in found:
        start = labels[0][0]
        depth = start - text.rfind("\n", max(0, start - BLOCK_DEEPEST), start)
        while above and above[-1][0] >= depth:
            above.pop()
        if value:
            yield (*(label for _, label in above[-1:]), *labels), value
        else:
            above.append((depth, labels[0]))


def _blocks(text: str, found: Sequence[_Labelled]) -> Blocks | None:
    names = [" ".join(text[slice(*label)] for label in labels) for labels, _ in found]
    times = Counter(names)
    first = next((name for name in names if times[name] >= BLOCKS_FEWEST), None)
    if first is None:
        return None
    begins = [at for at, name in enumerate(names) if name == first]
    spans = [range(one, two) for one, two in pairwise([*begins, len(found)])]
    # Behind the last block may stand something else.
    spans[-1] = spans[-1][: max(map(len, spans[:-1]))]
    values = [{names[at]: found[at][1] for at in reversed(own)} for own in spans]
    having = Counter(name for own in values for name in own)
    heads = [name for name in dict.fromkeys(names[begins[0] :]) if having[name] >= BLOCK_USUAL * len(values)]
    alone = all(having[name] >= BLOCK_ONCE * times[name] for name in heads)
    if len(heads) < BLOCK_LABELS or not alone or median(map(len, values)) < BLOCK_LABELS:
        return None
    place = dict(reversed([(name, labels) for name, (labels, _) in zip(names, found, strict=True)]))
    cells = tuple(tuple(own.get(name, ()) for name in heads) for own in values)
    return Blocks(tuple(place[name] for name in heads), tuple(found[at][0][0][0] for at in begins), cells)


def _labelled_values(text: str) -> Iterator[tuple[Span, tuple[Span, ...]]]:
    """Yields each label with the spans of its value, which may go on in the lines right below."""
    label: Span | None = None
    value: list[Span] = []
    at = 0
    while at < len(text):
        end = line_end(text, at)
        parts = [match.span() for match in PART.finditer(text, at, end)]
        if label is not None and (not parts or sum(b - a for a, b in value) > BLOCK_VALUE_LENGTH):
            yield label, tuple(value)
            label = None
        for start, stop in parts:
            lead = _LEAD.match(text, start, stop)
            if lead is not None:
                if label is not None:
                    yield label, tuple(value)
                label, value, start = lead.span("label"), [], lead.end()
            if label is not None and start < stop:
                value.append((start, stop))
        at = end + 1
    if label is not None:
        yield label, tuple(value)
