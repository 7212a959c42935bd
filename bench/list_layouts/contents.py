"""The contents of a document: its rows with their groups, what stands around them, and their truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.list_layouts.layouts import Layout
from bench.list_layouts.values import Field, Look, Row, money

#: The ways of a language or country to print a day, its marks, and its currency.
_DAYS = {
    "us": ("%m/%d/%Y", "%m/%d/%y", "%-m/%-d/%Y", "%b %d, %Y", "%Y-%m-%d", "%d-%b-%Y"),
    "gb": ("%d/%m/%Y", "%d %b %Y", "%d-%b-%y", "%d.%m.%y"),
    "de": ("%d.%m.%Y", "%d.%m.%y", "%-d.%-m.%Y"),
    "fr": ("%d/%m/%Y", "%d/%m/%y"),
}
_MARKS = {"us": (".", ","), "gb": (".", ","), "de": (",", "."), "fr": (",", "\u00a0")}
_CURRENCY = {"us": "${}", "gb": "£{}", "de": "{} €", "fr": "{} €"}
_FIRMS = "Northgate Services|Bellweather & Sons|Quill Administration|Orchard Group|Meridian Office|Tarn Bros."


@dataclass(frozen=True, slots=True)
class Group:
    """Rows with the values that hold for all of them."""

    values: Row
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Contents:
    """What a document prints.

    `headers` has the chosen header of each field by its key, `order` the places of the subject's columns from left to
    right.
    """

    layout: Layout
    look: Look
    title: str
    firm: str
    things: str
    headers: dict[str, str]
    root: Row
    page: Row
    groups: list[Group]
    order: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(len(group.rows) for group in self.groups)

    def facts(self, fields: Sequence[Field], values: Row) -> list[tuple[str, str]]:
        """Returns the headers of these fields with their printed values."""
        return [(self.headers[one.key], one.shown(values[one.key], self.look)) for one in fields]

    def heading(self, group: Group) -> str:
        """Returns the line above a group."""
        subject = self.layout.subject
        return subject.heading.format(*(one.shown(group.values[one.key], self.look) for one in subject.group))

    def truth(self) -> dict[str, Any]:
        """Returns the record that the document says."""
        subject = self.layout.subject
        inner = [one.name for one in (*subject.columns, *subject.page) if one.name]
        none = {name: None for name, _, _ in subject.absent}
        nested = self.layout.nested
        groups: list[dict[str, Any]] = []
        for group in self.groups:
            shared = self.page | ({} if nested else group.values)
            rows = [{**{name: (shared | row)[name] for name in inner}, **none, **({} if nested else group.values)}
                    for row in group.rows]  # fmt: skip
            groups.append({**group.values, subject.rows: rows})
        if nested:
            return {**self.root, subject.groups: groups}
        return {**self.root, subject.rows: [row for group in groups for row in group[subject.rows]]}


def draw_contents(layout: Layout, rows: tuple[int, int], rng: Random, shuffled: bool = False) -> Contents:
    """Returns the contents of a document whose number of rows lies between two bounds, on a logarithmic scale.

    shuffled: its columns stand in an order of its own.
    """
    subject = layout.subject
    look = _look(layout, rng)
    wanted = round(math.exp(rng.uniform(math.log(rows[0]), math.log(rows[1]))))
    largest = max(3, min(40, wanted // 3))
    groups: list[Group] = []
    before: Row = {}
    number = 0
    while number < wanted:
        size = min(wanted - number, rng.randint(1, largest)) if subject.group else wanted
        values = _values(subject.group, {}, {}, rng)
        # Two groups of one name in a row would read as one.
        while groups and subject.group and values == groups[-1].values:
            values = _values(subject.group, {}, {}, rng)
        group = Group(values, [])
        for _ in range(size):
            number += 1
            before = _values(subject.columns, {"#": number}, before, rng)
            group.rows.append(before)
        groups.append(group)
    every = (*subject.columns, *subject.root, *subject.page, *subject.group)
    order = range(len(subject.columns))
    headers = {one.key: _header(one, layout, rng) for one in every}
    return Contents(
        layout,
        look,
        rng.choice(subject.titles.split("|")),
        rng.choice(_FIRMS.split("|")),
        rng.choice(subject.things.split("|")),
        headers,
        _values(subject.root, {}, {}, rng),
        _values(subject.page, {}, {}, rng),
        groups,
        tuple(rng.sample(order, len(order)) if shuffled else order),
    )


def sums(contents: Contents, rows: Sequence[Row]) -> dict[str, str]:
    """Returns the printed sums of the columns that add up, by key."""
    columns = [one for one in contents.layout.subject.columns if one.sums]
    return {one.key: one.shown(round(sum(row[one.key] or 0 for row in rows), 2), contents.look) for one in columns}


def summary(contents: Contents, rng: Random) -> list[list[str]]:
    """Returns a side table by year, which is no part of the list: its header and rows."""
    years = range(2018, 2018 + rng.randint(3, 6))
    rows = [["Year", "Number", "Amount"]]
    for year in years:
        rows.append([str(year), str(rng.randint(1, 90)), money(rng.randint(10**4, 10**7) / 100, contents.look)])
    return rows


def legend(contents: Contents) -> list[list[str]]:
    """Returns what printed codes mean: pairs of code and meaning."""
    coded = [one for one in contents.layout.subject.columns if one.kind.codes]
    return [[printed, meaning.capitalize()] for one in coded for printed, meaning in one.kind.codes.items()]


def _values(fields: Sequence[Field], begun: Row, before: Row, rng: Random) -> Row:
    """Returns the values of a row that is begun."""
    row = dict(begun)
    for one in fields:
        row[one.key] = None if one.empty and rng.random() < one.empty else one.kind.draw(rng, row, before)
    return row


def _header(one: Field, layout: Layout, rng: Random) -> str:
    """Returns the header that a document prints for a field."""
    header = rng.choice(one.headers)
    if one.band and not layout.band:
        header = f"{one.band} {header}"
    return header.upper() if layout.capitals else header


def _look(layout: Layout, rng: Random) -> Look:
    """Returns how a document prints its values."""
    locale = layout.subject.locale
    decimal, thousands = _MARKS[locale]
    return Look(
        rng.choice(_DAYS[locale]),
        decimal,
        rng.choice((thousands, thousands, "")),
        layout.negative,
        _CURRENCY[locale] if layout.sign else "{}",
        rng.choice(("{}%", "{} %", "{}")),
        layout.none,
    )
