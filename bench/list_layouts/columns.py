"""The columns of a table on paper: their texts, their places, and the font and the page on which they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from reportlab.lib.pagesizes import A4, LETTER, landscape
from reportlab.pdfbase.pdfmetrics import stringWidth

from bench.list_layouts.contents import Contents, Group
from bench.list_layouts.values import Field, Row

#: The margin of a page, and what lines take on either side of a cell, in points.
MARGIN, PAD = 36.0, 3.0
#: The fonts of text and of bold text.
FACES = {
    "Helvetica": ("Helvetica", "Helvetica-Bold"),
    "Times": ("Times-Roman", "Times-Bold"),
    "Courier": ("Courier", "Courier-Bold"),
}
# A column of texts that wrap is at least this many font sizes wide.
_NARROWEST = 9.0


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns on a page of width x height; `lefts` and `widths` are their places, all in points; `gap` lies between.

    heads: the lines of each header.
    """

    fields: tuple[Field, ...]
    width: float
    height: float
    size: float
    gap: float
    lefts: tuple[float, ...]
    widths: tuple[float, ...]
    heads: tuple[tuple[str, ...], ...]

    def banner(self, at: int, capitals: bool) -> str:
        """Returns the header that spans this column and its neighbours."""
        return _banner(self.fields[at], capitals)

    @property
    def right(self) -> float:
        """The right end of the last column."""
        return self.lefts[-1] + self.widths[-1]


def fields_of(contents: Contents) -> tuple[Field, ...]:
    """Returns the fields that stand in columns."""
    subject = contents.layout.subject
    columns = [subject.columns[at] for at in contents.order]
    return (*(subject.group if contents.layout.group in ("merged", "column") else ()), *columns)


def cells_of(contents: Contents, fields: Sequence[Field], group: Group, row: Row, named: bool) -> list[str]:
    """Returns the printed cells of a row; `named`: with those of its group."""
    shared = {one.key for one in contents.layout.subject.group}
    every = group.values | row
    return ["" if one.key in shared and not named else one.shown(every[one.key], contents.look) for one in fields]


def fit(contents: Contents, size: float) -> Columns:
    """Returns the columns in a font of this size, or of a smaller one or across the long side if they need it."""
    layout = contents.layout
    paper = LETTER if layout.subject.locale == "us" else A4
    fields = fields_of(contents)
    rows = [cells_of(contents, fields, group, row, True) for group in contents.groups for row in group.rows]
    tries = [(one, layout.landscape) for one in (size, size - 1) if one >= 6] + [(size, True), (size - 1, True)]
    for points, across in [*tries, (6.0, True), (5.0, True), (4.0, True)]:
        width, height = landscape(paper) if across else paper
        found = _placed(contents, fields, rows, points, width, height)
        if found is not None:
            return found
    raise ValueError(f"{layout.name}: the columns fit no page")


def _placed(
    contents: Contents,
    fields: tuple[Field, ...],
    rows: Sequence[Sequence[str]],
    size: float,
    width: float,
    height: float,
) -> Columns | None:
    """Returns the columns on a page of this size; None if they do not fit."""
    layout = contents.layout
    face, bold = FACES[layout.font]
    gap = layout.gap * stringWidth(" ", face, size) if layout.rules != "grid" else 2 * PAD
    heads = [_head(contents.headers[one.key], bold, size, layout.head_lines) for one in fields]
    least, most = list[float](), list[float]()
    for at, one in enumerate(fields):
        texts = {row[at] for row in rows}
        head = max(stringWidth(line, bold, size) for line in heads[at])
        natural = max(head, *(stringWidth(text, face, size) for text in texts))
        if one.sums:
            natural = max(natural, stringWidth(_largest_sum(contents, one), bold, size))
        word = max((stringWidth(word, face, size) for text in texts for word in text.split()), default=0.0)
        least.append(min(natural, max(head, word, _NARROWEST * size)) if one.kind.wraps else natural)
        most.append(natural)
    for first, last in bands(fields) if layout.band else ():
        span = sum(least[first : last + 1]) + gap * (last - first)
        more = max(0.0, stringWidth(_banner(fields[first], layout.capitals), bold, size) - span)
        least[last], most[last] = least[last] + more, max(most[last], least[last] + more)
    spare = width - 2 * MARGIN - gap * (len(fields) - 1) - sum(least)
    if spare < 0:
        return None
    wish = [high - low for low, high in zip(least, most, strict=True)]
    share = min(1.0, spare / sum(wish)) if sum(wish) else 0.0
    widths = [low + share * more for low, more in zip(least, wish, strict=True)]
    if layout.spread:
        gap += (width - 2 * MARGIN - gap * (len(fields) - 1) - sum(widths)) / max(1, len(fields) - 1)
    lefts = [MARGIN + sum(widths[:at]) + gap * at for at in range(len(fields))]
    return Columns(fields, width, height, size, gap, tuple(lefts), tuple(widths), tuple(heads))


def _largest_sum(contents: Contents, one: Field) -> str:
    """Returns a text at least as wide as that of any sum of a column."""
    most = round(sum(abs(row[one.key] or 0) for group in contents.groups for row in group.rows), 2)
    negative = any((row[one.key] or 0) < 0 for group in contents.groups for row in group.rows)
    return one.shown(-most if negative else most, contents.look)


def bands(fields: Sequence[Field]) -> list[tuple[int, int]]:
    """Returns the first and the last column of each header that spans columns."""
    found: list[tuple[int, int]] = []
    for at, one in enumerate(fields):
        if one.band and at and fields[at - 1].band == one.band:
            found[-1] = found[-1][0], at
        elif one.band:
            found.append((at, at))
    return found


def _banner(one: Field, capitals: bool) -> str:
    return one.band.upper() if capitals else one.band


def _head(header: str, face: str, size: float, most: int) -> tuple[str, ...]:
    """Returns a header in at most so many lines, as narrow as they allow."""
    words = header.split()
    widths = sorted(
        stringWidth(" ".join(words[i:j]), face, size) for i in range(len(words)) for j in range(i + 1, len(words) + 1)
    )
    return next(lines for one in widths if len(lines := wrapped(header, face, size, one)) <= most)


@lru_cache(maxsize=1 << 14)
def wrapped(text: str, face: str, size: float, width: float) -> tuple[str, ...]:
    """Returns a text in lines of at most this width, where its words allow it."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and stringWidth(f"{lines[-1]} {word}", face, size) <= width + 0.01:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return tuple(lines)
