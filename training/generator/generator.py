"""Generates labelled synthetic documents; the default model is trained on them beside real ones.

Everything particular to a kind of document is data in `families/` (its README describes the format). The generator
draws values, prints them and varies the schemas. `python -m training.generator.generator --show FAMILY --seed N`
prints one document with its schema, record and spans.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cinnabar.schemas.pointers import unescape
from training.generator import random_forms, random_pages, random_sections
from training.generator.drawing import Drawing
from training.generator.family import Family, family_names, load_family
from training.generator.laying_out import Laid, lay_out
from training.generator.lines import Piece, Style, to_lines, without_gaps
from training.generator.locale import locales
from training.generator.records import PrintedDrawing, make_record
from training.generator.schema_plan import library_plan, to_schema
from training.generator.schema_variation import draw_plan
from training.generator.values import draw
from training.generator.writing import Writer

WordBoxes = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Example:
    """A document, its schema and its record.

    `truth` validates against `schema`. `spans` maps JSON pointers of `truth` to the printings of the value as [start,
    end) in characters of `text`. Every interval is one whole printing; only for pointers in `broken` the intervals are
    the pieces of one printing (a wrapped cell) in order. Values that the text only implies have no span. `rows` maps
    the pointer of each array item to the character at which it begins. `word_boxes` is (word_start [W], word_end [W],
    box [W, 4] as shares of the page) for page-like layouts.
    """

    text: str
    schema: dict[str, Any]
    truth: Any
    spans: dict[str, list[tuple[int, int]]]
    rows: dict[str, int]
    family: str
    layout: str = ""
    word_boxes: WordBoxes | None = None
    broken: frozenset[str] = field(default_factory=frozenset)


FAMILIES: tuple[str, ...] = family_names()
#: The functions that draw fields and layout of a family without layouts.
GENERIC = {
    "random_form": random_forms.draw_form_family,
    "random_pages": random_pages.draw_page_family,
    "random_sections": random_sections.draw_section_family,
}


def _draw_layout(r: random.Random, family: Family) -> Drawing:
    layout = r.choices(family.layouts, [x.weight for x in family.layouts])[0]
    names = [n for n in family.locales if n[:2] in layout.languages or "*" in layout.languages]
    if not names:
        names = [n for n in locales() if n[:2] in layout.languages] or ["en_US"]
    return Drawing(family, layout, locales()[r.choice(names)], r)


def make_example(name: str, seed: int | str) -> Example:
    """Returns the example of this family and seed; it is the same as long as the data stays the same."""
    r = random.Random(f"{name}/{seed}")
    family = load_family(name)
    if family.generic:
        family = GENERIC[family.name](r, family)
    drawing = _draw_layout(r, family)
    laid, spans, broken = render(drawing)
    source = PrintedDrawing(drawing, laid.text, spans, broken, laid.rows)
    if family.library and r.random() < 0.33:
        plan, schema = library_plan(family.library, name)
    else:
        plan = draw_plan(r, family)
        schema = to_schema(plan)
    record = make_record(plan, source)
    return Example(
        text=laid.text, schema=schema, truth=record.truth, spans=record.spans, rows=record.rows, family=name,
        layout=drawing.layout.name, word_boxes=laid.boxes, broken=frozenset(record.broken),
    )  # fmt: skip


def generate(seed: int, families: Sequence[str] | None = None) -> Iterator[Example]:
    """Yields examples without end, deterministic in seed and families; the default is all that are not held out."""
    names = tuple(families) if families is not None else tuple(n for n in FAMILIES if not load_family(n).held_out)
    weights = [float(load_family(n).extra.get("weight", 1.0)) for n in names]
    r = random.Random(seed)
    while True:
        name = r.choices(names, weights)[0]
        yield make_example(name, f"{seed}/{r.getrandbits(48)}")


def check(example: Example) -> list[str]:
    """Returns the problems of an example: spans that do not hold the value, truth that does not fit the schema."""
    import jsonschema_rs

    problems = [
        f"{e.instance_path}: {e.message}"
        for e in jsonschema_rs.validator_for(example.schema).iter_errors(example.truth)
    ]
    for pointer, spans in example.spans.items():
        value = example.truth
        for part in pointer.split("/")[1:]:
            key = unescape(part)
            value = value[int(key)] if isinstance(value, list) else value[key]
        texts = [" ".join(example.text[a:b].split()) for a, b in spans]
        if any(not t for t in texts):
            problems.append(f"{pointer}: an empty span")
        if (
            isinstance(value, str)
            and pointer in example.broken
            and "".join(texts).replace(" ", "") != value.replace(" ", "")
        ):
            problems.append(f"{pointer}: pieces {texts} do not make {value!r}")
    return problems


# Renders a drawing as a document: its layout written out in a style, and the spans of every value.
#
# A layout is parsed into nodes (layout_language.py), nodes are written as pieces (writing.py), pieces are set into
# lines (lines.py), and lines are laid out as the text (laying_out.py).


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


def main() -> None:
    """Prints one example of a family, or checks all families."""
    p = argparse.ArgumentParser(description=main.__doc__)
    p.add_argument(
        "--show", required=True, metavar="FAMILY", help="a family's name, or `all` to check them all"
    )
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--count", type=int, default=50, help="examples a family with `--show all`")
    a = p.parse_args()
    if a.show == "all":
        for name in FAMILIES:
            problems = [x for i in range(a.count) for x in check(make_example(name, a.seed + i))]
            layouts = len(load_family(name).layouts)
            print(
                f"{name:28} {layouts:2} layouts  {len(problems)} problems {problems[:2] if problems else ''}"
            )
        return
    e = make_example(a.show, a.seed)
    print(e.text)
    print("-" * 60, e.layout)
    print(json.dumps(e.schema, ensure_ascii=False, indent=1))
    print(json.dumps(e.truth, ensure_ascii=False, indent=1))
    for pointer, spans in e.spans.items():
        print(f"{pointer:32}", [e.text[s:t] for s, t in spans], "(pieces)" if pointer in e.broken else "")
    print("rows", {k: e.text[v : v + 20] for k, v in e.rows.items()})
    print("problems", check(e))


if __name__ == "__main__":
    main()
