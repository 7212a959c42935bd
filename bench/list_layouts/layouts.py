"""The layouts of the two parts: a subject, and how its documents are drawn."""

from __future__ import annotations

from dataclasses import dataclass

from bench.list_layouts.stored_subjects import subjects
from bench.list_layouts.subjects import Subject


@dataclass(frozen=True, slots=True)
class Layout:
    """How the documents of one set are drawn; its subject decides the rest.

    rules: "grid", "lines" (below each row), "zebra" or "none". `gap`: the blanks between columns; `spread`: the columns
    take the whole width. `sizes`: the smallest and the largest font, in points. `head_lines`: the most lines of a
    header; `band`: with headers that span columns; `repeat`: on each page.
    group: "heading" (a line above the rows), "section" (a title with a new table), "merged" (in a group's first row
    only) or "column" (in each row); `continued`: after a page's edge the group is named again. `nested`: the schema has
    a list of groups with their rows.
    subtotals, total, carried: lines of sums after a group, at the end and at the edges of pages. `count`: the number of
    rows is printed at the "top", at the "end", after each "group", or nowhere (""). `none`: what stands for no value.
    """

    name: str
    subject: Subject
    rules: str = "none"
    font: str = "Helvetica"
    sizes: tuple[int, int] = (7, 9)
    gap: float = 2.0
    spread: bool = False
    landscape: bool = False
    head_lines: int = 1
    capitals: bool = False
    band: bool = False
    repeat: bool = True
    page_head: bool = True
    group: str = "column"
    continued: bool = False
    nested: bool = False
    subtotals: bool = False
    total: bool = False
    carried: bool = False
    count: str = ""
    none: str = ""
    negative: str = "-{}"
    sign: bool = False
    side: str = ""


_TUNED, _HELD = subjects("tuning"), subjects("held_back")
_TUNING = (
    Layout("loss_grid", _TUNED["LOSSES"], "grid", landscape=True, head_lines=2, band=True, group="heading",
           continued=True, subtotals=True, total=True, count="end", negative="({})", sign=True, side="summary"),
    Layout("loss_printer", _TUNED["LOSSES"], font="Courier", sizes=(6, 7), gap=1.0, landscape=True, capitals=True,
           subtotals=True, total=True, none="-", negative="{}-", side="legend"),
    Layout("vehicles_plain", _TUNED["VEHICLES"], sizes=(7, 9), gap=1.0, group="heading", total=True, count="group"),
    Layout("vehicles_zebra", _TUNED["VEHICLES"], "zebra", spread=True, landscape=True, head_lines=2, band=True,
           repeat=False, page_head=False, count="top", none="-", sign=True),
    Layout("drivers_lines", _TUNED["DRIVERS"], "lines", "Times", (8, 10), 2.5, head_lines=3, group="section",
           count="end", none="n/a", band=True),
    Layout("prices_german", _TUNED["PRICES"], "lines", gap=2.0, spread=True, group="heading", page_head=False),
    Layout("ledger_nested", _TUNED["LEDGER"], font="Courier", sizes=(7, 8), gap=1.5, group="heading", continued=True,
           nested=True, subtotals=True, carried=True, negative="({})"),
    Layout("stock_merged", _TUNED["STOCK"], "grid", head_lines=2, band=True, group="merged", total=True, count="end"),
    Layout("exams_zebra", _TUNED["EXAMS"], "zebra", "Times", (8, 10), 3.0, band=True, group="merged", continued=True,
           none="-", repeat=False, count="group"),
    Layout("payroll_french", _TUNED["PAYROLL"], sizes=(7, 9), gap=3.0, head_lines=3, group="heading", subtotals=True,
           total=True, carried=True),
    Layout("samples_narrow", _TUNED["SAMPLES"], font="Times", sizes=(7, 9), gap=1.0, head_lines=2, band=True,
           group="section", side="legend", page_head=False),
    Layout("cargo_lines", _TUNED["CARGO"], "lines", landscape=True, head_lines=2, capitals=True, group="heading",
           continued=True, subtotals=True, total=True, carried=True, count="end", none="-"),
)  # fmt: skip
_HELD_BACK = (
    Layout("buildings_lines", _HELD["BUILDINGS"], "lines", sizes=(6, 8), gap=1.5, landscape=True, head_lines=2,
           band=True, group="merged", continued=True, subtotals=True, total=True, count="top", sign=True),
    Layout("buildings_section", _HELD["BUILDINGS"], font="Courier", sizes=(6, 7), gap=1.0, landscape=True, head_lines=3,
           capitals=True, group="section", repeat=False, none="-", total=True, side="summary"),
    Layout("account_carried", _HELD["ACCOUNT"], sizes=(8, 10), gap=2.0, spread=True, carried=True, page_head=False,
           negative="({})"),
    Layout("trees_grid", _HELD["TREES"], "grid", "Times", (8, 10), head_lines=2, band=True, group="heading",
           count="group", none="-", side="legend"),
    Layout("books_zebra", _HELD["BOOKS"], "zebra", gap=1.5, group="column", count="end", total=True, sign=True),
    Layout("stations_narrow", _HELD["STATIONS"], font="Courier", sizes=(7, 8), gap=1.0, band=True, group="heading",
           page_head=False, continued=True, none="-"),
    Layout("departures_nested", _HELD["DEPARTURES"], "zebra", "Times", (8, 10), 3.0, group="section", nested=True,
           continued=True, count="group", side="legend"),
    Layout("gifts_plain", _HELD["GIFTS"], "none", sizes=(7, 9), gap=1.0, head_lines=2, band=True, group="merged",
           subtotals=True, total=True, carried=True, negative="({})", side="summary"),
    Layout("rents_grid", _HELD["RENTS"], "grid", landscape=True, head_lines=3, band=True, group="heading",
           subtotals=True, total=True, negative="({})", sign=True, count="end", repeat=False),
    Layout("rents_nested", _HELD["RENTS"], "lines", "Times", (7, 9), 2.0, landscape=True, head_lines=2, group="heading",
           nested=True, subtotals=True, negative="{}-", none="-"),
    Layout("meters_french", _HELD["METERS"], gap=2.5, spread=True, head_lines=2, band=True, group="heading", total=True,
           carried=True, none="-", capitals=True),
    Layout("runners_wide", _HELD["RUNNERS"], sizes=(8, 10), gap=3.0, group="column", count="top", repeat=False,
           none="-"),
)  # fmt: skip
#: The layouts of each part.
PARTS = {"tuning": _TUNING, "held_back": _HELD_BACK}
