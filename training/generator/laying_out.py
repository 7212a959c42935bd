"""Lays lines out as one text, with the places of printings and rows and the boxes of words."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from training.generator.lines import Line, Style


@dataclass(slots=True)
class Laid:
    """A document's text, the places of each printing of a value (pieces in order), rows' beginnings, and boxes."""

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
    """Returns the lines as one text. Noise never changes the characters of values."""
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
    page = (np.array(starts, np.int32), np.array(ends, np.int32), np.array(boxes, np.float32).reshape(-1, 4))
    return Laid(text, prints, rows, page if style.page else None)


def _line_boxes(
    out: list[str], begin: int, end: int, columns: list[tuple[int, int, int]], number: int, left: float,
    top: float, cell_w: float, cell_h: float, starts: list[int], ends: list[int], boxes: list[tuple[float,
    float, float, float]],
) -> None:  # fmt: skip
    """Appends the words of one line with their boxes; a word takes the column of the segment in which it begins."""
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
