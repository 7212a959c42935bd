"""From a layout's text to a document's text, with the place of every printed value known by construction.

The small language of layouts is described in `families/README.md`. A layout is parsed once into nodes; a
writer (generator.py) turns nodes into pieces, and `lay_out` sets pieces into lines, wraps, aligns, joins
columns and gives the text, the spans and the boxes of words.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Node = tuple[Any, ...]
#: An option of a choice that is for one language only.
LANGUAGE_TAG = re.compile(r"(en|de|fr|es|it|nl|pt|sv|pl):")
_TOKEN = re.compile(r"\{\{|\}\}|\[\[|\]\]|<<|>>|\||\{(\d+)\}|[\x02\x04\x05]")
_VALUE = re.compile(r"^(?P<path>[^|:]+)(?::(?P<align>[<>]?)(?P<width>\d+))?(?:\|(?P<form>.*))?$", re.S)
_CONDITION = re.compile(
    r"(?:\?(?P<path>[.\w\[\]]+)(?:(?P<op>!?=)(?P<want>[^:\n]*?))?|!(?P<miss>[.\w\[\]]+)|%(?P<share>\d+)):[ ]?"
)


class LayoutError(ValueError):
    """A layout that does not follow the language."""


@lru_cache(maxsize=20000)
def parse(text: str) -> tuple[Node, ...]:
    """The nodes of a layout's text; block directives (`@rows`, `@columns`) stand on lines of their own."""
    text = re.sub(r"@rows ([.\w]+)\n", "\x02rows \\1\n", text)
    text = re.sub(r"^@columns (\d+)\n", "\x02columns \\1\n", text, flags=re.M)
    text = re.sub(r"^@col\n", "\x04", text, flags=re.M)
    text = re.sub(r"@end\n?", "\x05", text)
    nodes, rest = _parse_until(text, 0, ())
    if rest != len(text):
        raise LayoutError(f"unmatched {text[rest : rest + 20]!r}")
    return tuple(nodes)


def _parse_until(text: str, at: int, stop: tuple[str, ...]) -> tuple[list[Node], int]:
    nodes: list[Node] = []
    while True:
        m = _TOKEN.search(text, at)
        if m is None:
            if stop:
                raise LayoutError(f"{stop[0]!r} is missing after {text[max(0, at - 40) : at + 40]!r}")
            if at < len(text):
                nodes.append(("text", text[at:]))
            return nodes, len(text)
        if m.start() > at:
            nodes.append(("text", text[at : m.start()]))
        token = m[0]
        if token in stop:
            return nodes, m.start()
        at = m.end()
        if token == "{{":
            end = text.find("}}", at)
            if end < 0:
                raise LayoutError(f"'}}}}' is missing after {text[at : at + 40]!r}")
            while text[end : end + 3] == "}}}":  # a form of a date ends with a brace of its own
                end += 1
            nodes.append(_value(text[at:end]))
            at = end + 2
        elif token == "[[":
            node, at = _section(text, at)
            nodes.append(node)
        elif token == "<<":
            options = []
            while True:
                inner, at = _parse_until(text, at, ("|", ">>"))
                options.append(tuple(inner))
                at += 1 if text[at] == "|" else 2
                if text[at - 1] != "|":
                    break
            fresh = bool(options[0]) and options[0][0][0] == "text" and options[0][0][1].startswith("~")
            if fresh:
                options[0] = (("text", options[0][0][1][1:]), *options[0][1:])
            tagged = any(o and o[0][0] == "text" and LANGUAGE_TAG.match(o[0][1]) for o in options)
            nodes.append(("choice", tuple(options), fresh, m.start(), tagged))
        elif m[1]:
            nodes.append(("tab", int(m[1])))
        elif token == "\x02":
            head, _, _ = text[at:].partition("\n")
            kind, arg = head.split(" ")
            at += len(head) + 1
            if kind == "rows":
                inner, at = _parse_until(text, at, ("\x05",))
                nodes.append(("rows", arg, "", "", tuple(inner)))
            else:
                left, at = _parse_until(text, at, ("\x04",))
                right, at = _parse_until(text, at + 1, ("\x05",))
                nodes.append(("columns", int(arg), tuple(left), tuple(right)))
            at += 1
        elif token == "|":
            nodes.append(("text", "|"))
        else:
            raise LayoutError(f"unmatched {token!r} after {text[max(0, at - 60) : at]!r}")


def _value(inner: str) -> Node:
    if inner.startswith("="):
        spec, _, form = (
            inner[1:].partition("|") if not inner.startswith(("=code", "=pick")) else (inner[1:], "", "")
        )
        return ("draw", spec.strip(), form)
    if inner.startswith("#"):
        key, _, form = inner[1:].partition("|")
        return ("label", key, form)
    if inner.startswith(">"):
        name, _, count = inner[1:].partition("*")
        return ("pool", name, count or "1")
    m = _VALUE.match(inner)
    if m is None:
        raise LayoutError(f"{{{{{inner}}}}} is not a value: expected path, then :width and |form")
    return ("value", m["path"].strip(), (m["form"] or "").strip(), m["align"] or "<", int(m["width"] or 0))


def _section(text: str, at: int) -> tuple[Node, int]:
    if re.compile(r"\*[.\w]+\|").match(text, at):  # [[*items|, | and |template]]
        head = re.compile(r"\*([.\w]+)\|([^|]*)\|([^|]*)\|").match(text, at)
        if head is None:
            raise LayoutError(
                f"rows want [[*path|separator|last separator|text]], not {text[at : at + 40]!r}"
            )
        inner, end = _parse_until(text, head.end(), ("]]",))
        unescape = [head[2].replace("\\n", "\n"), head[3].replace("\\n", "\n")]
        return ("rows", head[1], unescape[0], unescape[1], tuple(inner)), end + 2
    m = _CONDITION.match(text, at)
    inner, end = _parse_until(text, m.end() if m else at, ("]]",))
    if m is None:
        needs = tuple(n[1] for n in inner if n[0] == "value" and not n[1].endswith("@")) + tuple(
            n[1] for n in inner if n[0] == "rows"
        )
        return ("section", needs, tuple(inner)), end + 2
    if m["share"]:
        return ("maybe", int(m["share"]), tuple(inner)), end + 2
    if m["miss"]:
        return ("miss", m["miss"], tuple(inner)), end + 2
    return ("if", m["path"], m["op"] or "", (m["want"] or "").strip(), tuple(inner)), end + 2


# --- pieces to lines
# -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Piece:
    """A run of text. `print_id` names the printing of a value, -1 elsewhere; `row` marks that an item begins
    here. `tab` moves to a column first; `width` with `align` sets it in a cell; `columns` holds two
    blocks."""

    text: str
    print_id: int = -1
    row: str = ""
    tab: int = -1
    width: int = 0
    align: str = "<"
    columns: tuple[int, list[Piece], list[Piece]] | None = None


@dataclass(slots=True)
class Line:
    """Segments (column, text, print_id), and the rows that begin at a segment's index."""

    segments: list[tuple[int, str, int]] = field(default_factory=list)
    rows: list[tuple[int, str]] = field(default_factory=list)

    def length(self) -> int:
        return self.segments[-1][0] + len(self.segments[-1][1]) if self.segments else 0


#: Characters that a cell's text may take at least, however narrow its cell.
NARROWEST = 8


@dataclass(frozen=True, slots=True)
class Style:
    """How a document's lines are set.

    wrap: characters after which running text is broken, 0 for never.
    width: characters of a line, for centred and right-aligned lines.
    gap: how a wide gap is written: `keep` its blanks, or one of the texts that stand for it.
    indent: blanks before every line.
    page: whether words get boxes; lines_per_page and cell (width and height as shares of the page).
    noise: share of the unprinted-value characters that a bad scan changes.
    narrow: share of a cell's width that its text may take before it goes on below.
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
    """Pieces as lines with columns; wrapped cells continue below their first line."""
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
    """One long line of running text as several, broken at blanks; segments are cut where the line is."""
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


# --- lines to text
# -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Laid:
    """A document's text, where each printing of a value stands (pieces in order), where rows begin, and
    boxes."""

    text: str
    prints: dict[int, list[tuple[int, int]]]
    rows: dict[str, int]
    boxes: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]] | None


_SCAN = {
    "0": "O",
    "O": "0",
    "l": "1",
    "1": "l",
    "5": "S",
    "S": "5",
    "i": "l",
    "e": "c",
    "m": "rn",
    "B": "8",
    ",": ".",
}


def _spoil(rng: random.Random, text: str, share: float) -> str:
    return "".join(_SCAN.get(c, c) if rng.random() < share else c for c in text)


def lay_out(lines: Sequence[Line], style: Style, rng: random.Random) -> Laid:
    """Lines as one text. Values' own characters are never spoilt by noise."""
    out: list[str] = []
    at = 0
    prints: dict[int, list[tuple[int, int]]] = {}
    rows: dict[str, int] = {}
    starts: list[int] = []
    ends: list[int] = []
    boxes: list[tuple[float, float, float, float]] = []
    cell_w, cell_h = 0.88 / max(60, style.width + 6), 1 / 64
    left, top = 0.05 + rng.random() * 0.04, 0.04 + rng.random() * 0.08
    prefix = style.quote + " " * style.indent
    for number, line in enumerate(lines):
        begin = at
        if prefix and (line.segments or style.quote):
            out.append(prefix)
            at += len(prefix)
        col = 0
        row_at = dict(line.rows)
        pending: list[str] = []
        columns: list[tuple[int, int, int]] = []
        for i, (want, text, pid) in enumerate(line.segments):
            if i in row_at:
                pending.append(row_at[i])
            if not text:
                continue
            if want > col:
                blanks = want - col
                gap = " " * blanks if blanks < 2 or style.gap == "keep" or not col else style.gap
                out.append(gap)
                at += len(gap)
                col = want
            if pid < 0 and style.noise:
                text = _spoil(rng, text, style.noise)
            if style.upper:
                text = "".join(u if len(u := c.upper()) == 1 else c for c in text)
            lead = len(text) - len(text.lstrip())
            if pending and lead < len(text):
                for row in pending:
                    rows[row] = at + lead
                pending = []
            if pid >= 0:
                prints.setdefault(pid, []).append((at, at + len(text)))
            out.append(text)
            columns.append((at, col, len(text)))
            at += len(text)
            col += len(text)
        for row in pending:
            rows[row] = at
        if style.page:
            _line_boxes(out, begin, at, columns, number, left, top, cell_w, cell_h, starts, ends, boxes)
        out.append("\n")
        at += 1
    text = "".join(out)
    found = None
    if style.page:
        found = (
            np.array(starts, np.int32),
            np.array(ends, np.int32),
            np.array(boxes, np.float32).reshape(-1, 4),
        )
    return Laid(text, prints, rows, found)


def _line_boxes(
    out: list[str], begin: int, end: int, columns: list[tuple[int, int, int]], number: int, left: float,
    top: float, cell_w: float, cell_h: float, starts: list[int], ends: list[int], boxes: list[tuple[float,
    float, float, float]],
) -> None:  # fmt: skip
    """Appends the words of one line with their boxes; a word takes its column from the segment it begins
    in."""
    size, k = 0, len(out)
    while k and size < end - begin:
        k -= 1
        size += len(out[k])
    line = "".join(out[k:])[size - (end - begin) :]
    y = (top + number * cell_h) % 0.93 + 0.02
    c = 0
    for m in re.finditer(r"\S+", line):
        a = begin + m.start()
        while c + 1 < len(columns) and columns[c + 1][0] <= a:
            c += 1
        if not columns:
            col = m.start()
        else:
            col = columns[c][1] + a - columns[c][0]
        x0 = min(0.97, left + max(0, col) * cell_w)
        x1 = min(0.99, x0 + len(m[0]) * cell_w)
        starts.append(a)
        ends.append(begin + m.end())
        boxes.append((x0, y, x1, y + cell_h * 0.8))


def join_intervals(pieces: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Intervals with nothing but white space between them become one."""
    out: list[tuple[int, int]] = []
    for a, b in pieces:
        if out and not text[out[-1][1] : a].strip(" \n\t>|"):
            out[-1] = (out[-1][0], b)
        else:
            out.append((a, b))
    return out
