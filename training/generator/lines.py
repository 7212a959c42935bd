"""Sets pieces of text into lines: columns, wrapped cells, and wrapped running text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

#: The least width of a cell's text in characters, however narrow its cell.
NARROWEST = 8


@dataclass(slots=True)
class Piece:
    """A run of text.

    `print_id` is the printing of a value, -1 elsewhere. `row` is the item that begins here. `tab` moves to a column
    first. `width` with `align` sets the text in a cell. `columns` holds two blocks."""

    text: str
    print_id: int = -1
    row: str = ""
    tab: int = -1
    width: int = 0
    align: str = "<"
    columns: tuple[int, list[Piece], list[Piece]] | None = None


@dataclass(slots=True)
class Line:
    """Segments (column, text, print_id), and rows as (index of their first segment, item)."""

    segments: list[tuple[int, str, int]] = field(default_factory=list)
    rows: list[tuple[int, str]] = field(default_factory=list)

    def length(self) -> int:
        return self.segments[-1][0] + len(self.segments[-1][1]) if self.segments else 0


@dataclass(frozen=True, slots=True)
class Style:
    """The style of a document's lines.

    wrap: characters after which running text is broken, 0 for never.
    width: characters of a line, for centred and right-aligned lines.
    gap: the text of a wide gap, or `keep` for its blanks.
    indent: blanks before every line.
    page: whether words get boxes.
    noise: share of the characters outside of values that a bad scan changes.
    narrow: share of a cell's width that its text may take before it wraps.
    """

    wrap: int = 0
    width: int = 78
    gap: str = "keep"
    indent: int = 0
    page: bool = False
    noise: float = 0.0
    upper: bool = False
    quote: str = ""
    narrow: float = 1.0


def _break(text: str, width: int) -> list[str]:
    out, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            out.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*out, line]


def to_lines(pieces: Sequence[Piece], style: Style) -> list[Line]:
    """Returns the pieces as lines with columns; wrapped cells continue below their first line."""
    lines = [Line()]
    below: list[tuple[int, str, int]] = []
    tabbed = False

    def flush() -> None:
        nonlocal tabbed
        line = lines[-1]
        if line.segments and line.segments[0][1].startswith("@c "):
            col, text, pid = line.segments[0]
            line.segments[0] = (col, text[3:], pid)
            _shift(line, -3, 1)
            _shift(line, max(0, (style.width - line.length()) // 2), 0)
        elif line.segments and line.segments[0][1].startswith("@r "):
            col, text, pid = line.segments[0]
            line.segments[0] = (col, text[3:], pid)
            _shift(line, -3, 1)
            _shift(line, max(0, style.width - line.length()), 0)
        elif style.wrap and not tabbed and line.length() > style.wrap:
            lines[-1:] = _wrap(line, style.wrap)
        while below:
            extra = Line()
            rest = []
            for col, text, pid in below:
                chunk, _, more = text.partition("\n")
                if chunk:
                    extra.segments.append((col, chunk, pid))
                if more:
                    rest.append((col, more, pid))
            lines.append(extra)
            below[:] = rest
        lines.append(Line())
        tabbed = False

    for p in pieces:
        line = lines[-1]
        if p.columns is not None:
            start, left, right = p.columns
            a, b = to_lines(left, style), to_lines(right, style)
            while a and not a[-1].segments:
                a.pop()
            while b and not b[-1].segments:
                b.pop()
            start = max([start, *(x.length() + 2 for x in a)])
            for i in range(max(len(a), len(b))):
                both = a[i] if i < len(a) else Line()
                if i < len(b):
                    base = len(both.segments)
                    both.segments += [(c + start, t, k) for c, t, k in b[i].segments]
                    both.rows += [(k + base, r) for k, r in b[i].rows]
                if not lines[-1].segments:
                    lines.pop()
                lines += [both, Line()]
            tabbed = False
            continue
        at = line.length()
        if p.tab >= 0:
            tabbed = True
            line.segments.append((max(p.tab, at + (2 if at else 0)), "", -1))
            continue
        if p.row:
            line.rows.append((len(line.segments), p.row))
        if p.width:
            tabbed = True
            text = p.text.replace("\n", " ")
            room = max(NARROWEST, int(p.width * style.narrow)) if style.narrow < 1 else p.width
            broken = p.print_id >= 0 and len(text) > room and p.align == "<"
            chunks = _break(text, room) if broken else [text]
            first = chunks[0]
            col = at + max(0, p.width - len(first)) if p.align == ">" else at
            line.segments.append((col, first, p.print_id))
            if len(chunks) > 1:
                below.append((col, "\n".join(chunks[1:]), p.print_id))
            if p.align == "<":
                end = max(at + p.width, col + len(first))
                line.segments.append((end, "", -1))
            continue
        parts = p.text.split("\n")
        for i, part in enumerate(parts):
            if i:
                flush()
                line = lines[-1]
            if part:
                line.segments.append((line.length(), part, p.print_id))
    flush()
    lines.pop()
    return lines


def _shift(line: Line, by: int, start: int) -> None:
    line.segments[start:] = [(c + by, t, k) for c, t, k in line.segments[start:]]


def _wrap(line: Line, width: int) -> list[Line]:
    """Returns one long line of running text as several, broken at blanks; segments are cut with the line."""
    text = [" "] * line.length()
    for col, t, _ in line.segments:
        text[col : col + len(t)] = t
    whole = "".join(text)
    cuts, at = [0], 0
    while len(whole) - at > width:
        cut = whole.rfind(" ", at + 1, at + width + 1)
        if cut <= at:
            cut = whole.find(" ", at + width)
            if cut < 0:
                break
        at = cut + 1
        cuts.append(at)
    cuts.append(len(whole) + 1)
    out = [Line() for _ in cuts[1:]]
    rows = dict(line.rows)
    k = 0
    for i, (col, t, pid) in enumerate(line.segments):
        if not t:
            continue
        while col >= cuts[k + 1]:
            k += 1
        if i in rows:
            out[k].rows.append((len(out[k].segments), rows[i]))
        start, end, j = col, col + len(t), k
        while start < end:
            stop = min(end, cuts[j + 1] - 1)
            if stop > start:
                out[j].segments.append((start - cuts[j], whole[start:stop], pid))
            start = cuts[j + 1]
            if start < end:
                j += 1
        k = j
    return out


def without_gaps(lines: list[Line], most: int) -> list[Line]:
    """Returns the lines with at most `most` empty ones in a row, because omitted sections leave runs of them."""
    out: list[Line] = []
    empty = most
    for line in lines:
        empty = 0 if any(t.strip() for _, t, _ in line.segments) else empty + 1
        if empty <= most or line.rows:
            out.append(line)
    return out
