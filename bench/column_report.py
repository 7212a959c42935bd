"""Measures how often a wrong one of several columns of numbers is told as a field's, and how surely.

    python -m bench column_report [--tables N] [--first SEED]

Each table is drawn: two to four columns of numbers under one upper head, or with heads of their own in one or two
lines, in any order, as HTML or as text of 4 to 20 rows. The description of one field names one of these columns in its
words ("named") or in others ("said"), or one that the table lacks, or none of them. A column is told as sure if its
values have a mean confidence of .9 or more; it is wrong if less than half of them are those of the column named.
"""

from __future__ import annotations

import argparse
import html
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.labelled_sets import job_of, read_text
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.filling.pipeline import OpenedInput, run_batch
from cinnabar.extraction.learning.evaluation import prediction_of

#: The least mean confidence of a column that is told as sure.
SURE = 0.9
#: What rows are, with the head of their names; the upper head, the unit price or rate beside it; and the heads of the
#: columns of numbers with what says each of them in a description, in its words and in others.
SUBJECTS = (
    ("parts", "Part", "Quantity", "Price", {
        "min|minimum|min.": ("minimum to keep", "least to keep in store"),
        "max|maximum|max.": ("maximum to keep", "most to keep in store"),
        "on hand": ("on hand, in stock", "present in the store"),
        "ordered|on order": ("ordered, still to come", "still to come from the supplier"),
        "reserved": ("reserved for customers", "set aside for customers")}),
    ("staff", "Employee", "Hours", "Rate", {
        "planned": ("planned for the month", "foreseen for the month"),
        "worked|worked hrs": ("worked in the month", "spent at work"),
        "overtime": ("of overtime", "beyond the contract"), "sick": ("of absence, sick", "absent by illness"),
        "billed": ("billed to clients", "charged to clients")}),
    ("parcels", "Parcel", "Weight", "Postage", {
        "gross": ("gross, with its packing", "with its packing"), "net": ("net, without packing", "of the goods alone"),
        "tare": ("of the packing, tare", "of the empty box")}),
    ("clubs", "Club", "Members", "Fee", {
        "active": ("who are active", "who take part"), "passive": ("who are passive", "who only support"),
        "youth|under 18": ("under 18, youth", "who are minors"),
        "left|left in year": ("who left in the year", "who quit in the year")}),
    ("meters", "Meter", "Energy", "Tariff", {
        "day": ("used by day", "used while the sun is up"), "night": ("used at night", "used in the dark"),
        "fed in": ("fed in to the grid", "given back to the grid"), "lost": ("lost on the way", "leaked on the way")}),
    ("villages", "Village", "Population", "Area", {
        "men": ("men only", "of males"), "women": ("women only", "of females"),
        "children": ("children only", "of minors"),
        "last census": ("at the last census", "as counted officially")}),
    ("flights", "Flight", "Seats", "Fare", {
        "sold": ("sold to passengers", "taken by passengers"), "blocked": ("blocked by the crew", "kept by the crew"),
        "free|still free": ("that are still free", "to be had")}),
    ("wells", "Well", "Depth", "Cost", {
        "drilled": ("drilled so far", "reached so far"), "planned": ("planned at the start", "intended at the start"),
        "cased": ("cased with pipe", "lined with pipe")}),
)  # fmt: skip
KINDS = ("named", "said", "lacking", "none")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A document with its schema, the name of its list and of the field asked for, and the values of each column.

    truth: the values of the column that the field's description names; empty if none is.
    """

    kind: str
    name: str
    content: bytes
    schema: dict[str, Any]
    rows: str
    field: str
    truth: list[int]


def drawn(seed: int) -> Drawn:
    """Returns a table of this seed."""
    rng = random.Random(seed)
    rows, first, upper, last, columns = rng.choice(SUBJECTS)
    kind = rng.choices(KINDS, (4, 2, 1, 1))[0]
    names = rng.sample([*columns], rng.randint(2, min(4, len(columns))))
    count = rng.randint(4, 20)
    asked = rng.choice(names)
    if kind == "lacking":
        names.remove(asked)
        names += [] if len(names) > 1 else [rng.choice([one for one in columns if one not in (asked, *names)])]
    close = rng.random() < 0.5
    starts = {name: 100 if close else rng.choice((10, 100, 300, 700)) for name in names}
    numbers = {name: [starts[name] + rng.randint(0, 80) for _ in range(count)] for name in names}
    heads = {name: rng.choice(name.split("|")) for name in names}
    layout = rng.choice(("group", "group", "plain", "before", "broken"))
    plain = layout in ("plain", "broken")
    lower = [heads[name] if plain or layout == "group" else f"{upper} {heads[name]}" for name in names]
    lower = [one.capitalize() if layout != "group" else one for one in lower]
    ids = [f"{first[0]}{rng.randint(1, 9)}{at:02}" for at in range(count)]
    prices = [f"{rng.randint(1, 90)}.{rng.randint(0, 99):02}" for _ in range(count)]
    cells = [[ids[at], *(str(numbers[name][at]) for name in names), prices[at]] for at in range(count)]
    own, other = columns[asked]
    about = {"none": upper, "said": f"{upper} {other}"}.get(kind, f"{upper} {own}")
    if kind in ("named", "said") and rng.random() < 0.2:
        about += f", not {rng.choice([heads[name] for name in names if name != asked])}"
    field = upper.lower()
    properties = {
        first.lower(): {"type": ["string", "null"], "description": f"Name or number of the {first.lower()}"},
        field: {"type": ["integer", "null"], "description": about},
        last.lower(): {"type": ["number", "null"], "description": last},
    }
    item = {"type": "object", "properties": properties, "required": [*properties]}
    schema: dict[str, Any] = {"title": rows, "type": "object", "required": [rows]}
    schema |= {"properties": {rows: {"type": "array", "items": item}}}
    lines = [(first, *lower, last)]
    if layout == "group":
        lines = [(first, upper, *[""] * (len(names) - 1), last), ("", *lower, "")]
    elif layout != "plain":
        parts = [one.rpartition(" ") for one in lines[0]]
        lines = [tuple(one[0] for one in parts), tuple(one[2] for one in parts)]
        lines = [one for one in lines if any(one)]
    title = f"List of {rows}"
    truth = numbers[asked] if kind in ("named", "said") else []
    if rng.random() < 0.5:
        content = _as_html(title, lines, cells, layout == "group").encode()
        return Drawn(kind, f"{seed}.html", content, schema, rows, field, truth)
    content = _as_text(title, lines, cells, layout == "group").encode()
    return Drawn(kind, f"{seed}.txt", content, schema, rows, field, truth)


def _as_html(title: str, heads: Sequence[Sequence[str]], cells: Sequence[Sequence[str]], group: bool) -> str:
    if group:
        upper, lower = heads
        top = f"<th rowspan=2>{upper[0]}</th><th colspan={len(upper) - 2}>{upper[1]}</th><th rowspan=2>{upper[-1]}</th>"
        head = f"<tr>{top}</tr><tr>{''.join(f'<th>{one}</th>' for one in lower[1:-1])}</tr>"
    else:
        joined = ["<br>".join(filter(None, own)) for own in zip(*heads, strict=True)]
        head = f"<tr>{''.join(f'<th>{one}</th>' for one in joined)}</tr>"
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(one)}</td>' for one in row)}</tr>" for row in cells)
    return f"<h1>{title}</h1><table>{head}{body}</table>"


def _as_text(title: str, heads: Sequence[Sequence[str]], cells: Sequence[Sequence[str]], group: bool) -> str:
    wide = [max(map(len, own)) + 3 for own in zip(*heads, *cells, strict=True)]
    lines = [[one.ljust(width) for one, width in zip(own, wide, strict=True)] for own in (*heads, *cells)]
    if group:
        lines[0][1:-1] = [heads[0][1].center(sum(wide[1:-1]))]
    return "\n".join([title, "", *("".join(line).rstrip() for line in lines), ""])


def told(engine: Engine, one: Drawn) -> tuple[float, bool]:
    """Returns the mean confidence of the values that a field has, 0 if it has none, and whether most are right."""
    document = parse(one.content, one.name)
    read = (
        OpenedInput(one.name, document.digest, document)
        if one.name.endswith("html")
        else read_text(one.content.decode())
    )
    (outcome,) = run_batch([read], job_of(one.schema, engine)).outcomes
    found = prediction_of(outcome)
    items = (found.get("record") or {}).get(one.rows, [])
    values = {at: item[one.field] for at, item in enumerate(items) if item.get(one.field) is not None}
    if not values:
        return 0.0, not one.truth
    sure = [found["confidence"].get(f"/{one.rows}/{at}/{one.field}", 0.0) for at in values]
    left = Counter(one.truth) & Counter(values.values())
    return sum(sure) / len(sure), 2 * left.total() >= len(values)


def main() -> None:
    """Prints how many columns of each kind are told as sure, and how many of them are wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    engine = Engine(load_model("default"), "medium")
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for seed in range(asked.first, asked.first + asked.tables):
        one = drawn(seed)
        chance, right = told(engine, one)
        counts[one.kind] += Counter(tables=1, right=right, sure=chance >= SURE, wrong=chance >= SURE and not right)
    total = sum(counts.values(), Counter[str]())
    for kind, own in {**counts, "all": total}.items():
        shares = f"right {own['right']}, told at {SURE} or more {own['sure']}, of these wrong {own['wrong']}"
        print(f"{kind}: {own['tables']} tables, {shares}, {own['wrong'] / max(1, own['tables']):.1%} of tables")


if __name__ == "__main__":
    main()
