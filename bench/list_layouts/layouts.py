"""The layouts of the two parts: a subject, and how its documents are drawn."""

from __future__ import annotations

from dataclasses import dataclass

from bench.list_layouts import held_back_subjects as held
from bench.list_layouts import tuning_subjects as tuning
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


_TUNING = (
    Layout("loss_grid", tuning.LOSSES, "grid", landscape=True, head_lines=2, band=True, group="heading", continued=True,
           subtotals=True, total=True, count="end", negative="({})", sign=True, side="summary"),
    Layout("loss_printer", tuning.LOSSES, font="Courier", sizes=(6, 7), gap=1.0, landscape=True, capitals=True,
           subtotals=True, total=True, none="-", negative="{}-", side="legend"),
    Layout("vehicles_plain", tuning.VEHICLES, sizes=(7, 9), gap=1.0, group="heading", total=True, count="group"),
    Layout("vehicles_zebra", tuning.VEHICLES, "zebra", spread=True, landscape=True, head_lines=2, band=True,
           repeat=False, page_head=False, count="top", none="-", sign=True),
    Layout("drivers_lines", tuning.DRIVERS, "lines", "Times", (8, 10), 2.5, head_lines=3, group="section", count="end",
           none="n/a", band=True),
    Layout("prices_german", tuning.PRICES, "lines", gap=2.0, spread=True, group="heading", page_head=False),
    Layout("ledger_nested", tuning.LEDGER, font="Courier", sizes=(7, 8), gap=1.5, group="heading", continued=True,
           nested=True, subtotals=True, carried=True, negative="({})"),
    Layout("stock_merged", tuning.STOCK, "grid", head_lines=2, band=True, group="merged", total=True, count="end"),
    Layout("exams_zebra", tuning.EXAMS, "zebra", "Times", (8, 10), 3.0, band=True, group="merged", continued=True,
           none="-", repeat=False, count="group"),
    Layout("payroll_french", tuning.PAYROLL, sizes=(7, 9), gap=3.0, head_lines=3, group="heading", subtotals=True,
           total=True, carried=True),
    Layout("samples_narrow", tuning.SAMPLES, font="Times", sizes=(7, 9), gap=1.0, head_lines=2, band=True,
           group="section", side="legend", page_head=False),
    Layout("cargo_lines", tuning.CARGO, "lines", landscape=True, head_lines=2, capitals=True, group="heading",
           continued=True, subtotals=True, total=True, carried=True, count="end", none="-"),
)  # fmt: skip
_HELD_BACK = (
    Layout("buildings_lines", held.BUILDINGS, "lines", sizes=(6, 8), gap=1.5, landscape=True, head_lines=2, band=True,
           group="merged", continued=True, subtotals=True, total=True, count="top", sign=True),
    Layout("buildings_section", held.BUILDINGS, font="Courier", sizes=(6, 7), gap=1.0, landscape=True, head_lines=3,
           capitals=True, group="section", repeat=False, none="-", total=True, side="summary"),
    Layout("account_carried", held.ACCOUNT, sizes=(8, 10), gap=2.0, spread=True, carried=True, page_head=False,
           negative="({})"),
    Layout("trees_grid", held.TREES, "grid", "Times", (8, 10), head_lines=2, band=True, group="heading", count="group",
           none="-", side="legend"),
    Layout("books_zebra", held.BOOKS, "zebra", gap=1.5, group="column", count="end", total=True, sign=True),
    Layout("stations_narrow", held.STATIONS, font="Courier", sizes=(7, 8), gap=1.0, band=True, group="heading",
           page_head=False, continued=True, none="-"),
    Layout("departures_nested", held.DEPARTURES, "zebra", "Times", (8, 10), 3.0, group="section", nested=True,
           continued=True, count="group", side="legend"),
    Layout("gifts_plain", held.GIFTS, "none", sizes=(7, 9), gap=1.0, head_lines=2, band=True, group="merged",
           subtotals=True, total=True, carried=True, negative="({})", side="summary"),
    Layout("rents_grid", held.RENTS, "grid", landscape=True, head_lines=3, band=True, group="heading", subtotals=True,
           total=True, negative="({})", sign=True, count="end", repeat=False),
    Layout("rents_nested", held.RENTS, "lines", "Times", (7, 9), 2.0, landscape=True, head_lines=2, group="heading",
           nested=True, subtotals=True, negative="{}-", none="-"),
    Layout("meters_french", held.METERS, gap=2.5, spread=True, head_lines=2, band=True, group="heading", total=True,
           carried=True, none="-", capitals=True),
    Layout("runners_wide", held.RUNNERS, sizes=(8, 10), gap=3.0, group="column", count="top", repeat=False, none="-"),
)  # fmt: skip
#: The layouts of each part.
PARTS = {"tuning": _TUNING, "held_back": _HELD_BACK}
