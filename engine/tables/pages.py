"""Lines of a page that the text has in parts: a wide gap between columns may have its parts read one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from cinnabar.engine.tables.lines import Line, cells_of

#: How far the middles of two parts of a line may lie from each other, in the line's height; a line that begins this far
#: above the one before it begins another part.
_APART = 0.35
#: The share of the lines of a part that must stand beside others, and the median of cells of one of the two parts: two
#: columns of running text stay apart.
_BESIDE, _CELLS = 0.5, 2


class _Page:
    """The lines of a page by their places down the page."""

    def __init__(self, part: Sequence[Line]) -> None:
        self.lines: dict[int, Line] = dict(enumerate(part))
        self.cells = median(len(line.cells) for line in part)
        self.step = max(1e-4, median(line.bottom - line.top for line in part))
        self.at: dict[int, set[int]] = {}
        for number, line in self.lines.items():
            self._place(number, line)

    def _place(self, number: int, line: Line) -> None:
        for place in range(int(line.top / self.step), int(line.bottom / self.step) + 1):
            self.at.setdefault(place, set()).add(number)

    def _near(self, line: Line) -> set[int]:
        """Returns the lines that this one overlaps down the page."""
        places = range(int(line.top / self.step), int(line.bottom / self.step) + 1)
        numbers = set[int]().union(*(self.at.get(place, ()) for place in places))
        least = _APART * (line.bottom - line.top)
        return {n for n in numbers if min(line.bottom, (own := self.lines[n]).bottom) - max(line.top, own.top) > least}

    def takes(self, part: Sequence[Line]) -> bool:
        """Returns whether a part of the text stands beside the lines of the page."""
        if max(self.cells, median(len(line.cells) for line in part)) < _CELLS:
            return False
        beside = within = 0
        bottom = max(line.bottom for line in self.lines.values())
        for line in part:
            near = [self.lines[number] for number in self._near(line)]
            if any(_collide(line, other) for other in near):
                return False
            within += line.top < bottom
            beside += any(_level(line, other) for other in near)
        return beside > 0 and beside >= _BESIDE * within

    def add(self, part: Sequence[Line], text: str) -> None:
        """Joins the lines of a part to those at their height."""
        for line in part:
            level = next((n for n in sorted(self._near(line)) if _level(line, self.lines[n])), None)
            number = len(self.lines) if level is None else level
            self.lines[number] = line if level is None else _join_lines(self.lines[number], line, text)
            self._place(number, self.lines[number])

    def sorted_lines(self) -> list[Line]:
        """Returns the lines from top to bottom."""
        return sorted(self.lines.values(), key=lambda line: line.top + line.bottom)


def whole_lines(lines: Sequence[Line], text: str) -> list[Line]:
    """Returns lines with the parts joined that stand beside each other on their page, in the order down the page."""
    found: list[Line] = []
    page: _Page | None = None
    for part in _parts(lines):
        if page is not None and part[0].boxed and page.takes(part):
            page.add(part, text)
            continue
        found += page.sorted_lines() if page is not None else []
        page = _Page(part) if part[0].boxed else None
        found += part if page is None else []
    return found + (page.sorted_lines() if page is not None else [])


def _parts(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yields the runs of lines that go down the page, and those without boxes."""
    part: list[Line] = []
    for line in lines:
        back = _APART * (line.bottom - line.top)
        if part and (part[-1].boxed != line.boxed or (line.boxed and line.top < part[-1].top - back)):
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def _collide(one: Line, two: Line) -> bool:
    return any(a.left < b.right and b.left < a.right for a in one.cells for b in two.cells)


def _level(one: Line, two: Line) -> bool:
    apart = abs((one.top + one.bottom) - (two.top + two.bottom)) / 2
    return apart <= _APART * min(one.bottom - one.top, two.bottom - two.top)


def _join_lines(one: Line, two: Line, text: str) -> Line:
    words = tuple(sorted((*one.words, *two.words), key=lambda word: word.left))
    top, bottom = min(one.top, two.top), max(one.bottom, two.bottom)
    return replace(one, words=words, cells=cells_of(words, text), top=top, bottom=bottom)
