"""Renders a drawing as a document: its layout written out in a style, and the spans of every value.

A layout is parsed into nodes (layout_language.py), nodes are written as pieces (writing.py), pieces are set into lines
(lines.py), and lines are laid out as the text (laying_out.py).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from training.generator.drawing import Drawing
from training.generator.laying_out import Laid, lay_out
from training.generator.lines import Piece, Style, to_lines, without_gaps
from training.generator.values import draw
from training.generator.writing import Writer


def render(drawing: Drawing) -> tuple[Laid, dict[str, list[tuple[int, int]]], set[str]]:
    """Returns the document, spans by concrete path (one interval a printing), and the paths printed in pieces."""
    r = drawing.rng
    pieces: list[Piece] = []
    if r.random() < 0.12:
        pieces.append(Piece(draw(drawing, "pick noise").raw + "\n" * r.randint(1, 2)))
    for path, f in drawing.family.fields.items():
        if f.told and not drawing.absent(path):
            drawing.value(path)
            drawing.told.add(path)
    Writer(drawing).write(drawing.layout.nodes, pieces)
    if r.random() < 0.18:
        pieces.append(Piece("\n" + draw(drawing, "pick noise").raw))
    style = _draw_style(r, drawing.layout.flags)
    laid = lay_out(without_gaps(to_lines(pieces, style), r.choice((1, 1, 2))), style, r)
    spans: dict[str, list[tuple[int, int]]] = {}
    broken: set[str] = set()
    for path, ids in drawing.prints.items():
        found: list[tuple[int, int]] = []
        for k in ids:
            joined = join_intervals(laid.prints.get(k, ()), laid.text)
            if len(joined) == 1:
                found += joined
            elif joined and not found and len(ids) == 1:
                found = joined
                broken.add(path)
        if found:
            spans[path] = found
    return laid, spans, broken


def _draw_style(r: random.Random, flags: Mapping[str, str]) -> Style:
    wrap = 0
    if "wrap" in flags:
        low, _, high = (flags["wrap"] or "60-100").partition("-")
        wrap = r.randint(int(low), int(high or low)) if r.random() < 0.75 else 0
    gap = "keep"
    if "page" in flags or "gaps" in flags:
        gap = r.choice(("keep", "keep", "keep", "  ", "   ", " ", "\t"))
    return Style(
        wrap=wrap,
        width=int(flags.get("width", "78")),
        gap=gap,
        indent=r.choice((0, 0, 0, 2, 4)) if "page" in flags else 0,
        page="page" in flags,
        noise=0.05 * r.random() if r.random() < float(flags.get("noise") or 0) else 0.0,
        upper=r.random() < float(flags.get("upper") or 0),
        quote="> " if "wrap" in flags and r.random() < 0.02 else "",
        narrow=r.uniform(0.35, 0.8) if gap != " " and r.random() < 0.4 else 1.0,
    )


def join_intervals(pieces: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Joins intervals with only white space between them."""
    out: list[tuple[int, int]] = []
    for a, b in pieces:
        if out and not text[out[-1][1] : a].strip(" \n\t>|"):
            out[-1] = (out[-1][0], b)
        else:
            out.append((a, b))
    return out
