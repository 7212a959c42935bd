"""Kinds of values: how each is drawn for a row, how a document prints it, and its type in a schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from random import Random
from typing import Any

#: The values of a row by key: the name of a field, or the first header of one that nobody asks for. "#" is its number.
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Look:
    """How a document prints values; the texts with braces hold a number."""

    day: str
    decimal: str = "."
    thousands: str = ","
    negative: str = "-{}"
    currency: str = "{}"
    percent: str = "{}%"
    none: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of values; `draw` takes the row so far and the row before; `codes` maps printed codes to values."""

    schema: dict[str, Any]
    draw: Callable[[Random, Row, Row], Any]
    show: Callable[[Any, Look], str] = lambda value, _: str(value)
    right: bool = False
    wraps: bool = False
    codes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Field:
    """A value that a document prints, or with a name only one that a schema asks for.

    heads: its printed headers, one of which a document uses, with "|" between them. `name` is the property, empty if
    nobody asks; `about` its description; `empty` the share of rows without it; `band` the header above it and its
    neighbours; `sums`: a subtotal adds it up.
    """

    heads: str
    kind: Kind
    name: str = ""
    about: str = ""
    empty: float = 0.0
    band: str = ""
    sums: bool = False

    @property
    def key(self) -> str:
        """The key of the value in a row."""
        return self.name or self.headers[0]

    @property
    def headers(self) -> list[str]:
        """The printed headers to choose from."""
        return self.heads.split("|")

    def shown(self, value: Any, look: Look) -> str:
        """Returns the value as printed."""
        return look.none if value is None else self.kind.show(value, look)


def figure(value: float, look: Look, decimals: int = 0) -> str:
    """Returns a number with its marks, in the document's way to print negative ones."""
    text = f"{abs(value):,.{decimals}f}".replace(",", "\0").replace(".", look.decimal).replace("\0", look.thousands)
    return look.negative.format(text) if value < 0 else text


def money(value: float, look: Look) -> str:
    """Returns an amount with two decimals and the document's currency sign."""
    text = look.currency.format(figure(abs(value), look, 2))
    return look.negative.format(text) if value < 0 else text


def code(*patterns: str) -> Kind:
    """A code by a pattern: # is a digit, @ a capital letter."""

    def draw(rng: Random, _row: Row, _before: Row) -> str:
        signs = {"#": "0123456789", "@": "ABCDEFGHJKLMNPRSTUVWXYZ"}
        return "".join(rng.choice(signs.get(sign, sign)) for sign in rng.choice(patterns))

    return Kind({"type": "string"}, draw)


def pick(words: str) -> Kind:
    """One of these texts, with "|" between them."""
    choices = words.split("|")
    return Kind({"type": "string"}, lambda rng, _row, _before: rng.choice(choices))


def one_of(**codes: str) -> Kind:
    """One of an enum's values, each printed as its code: value="code"."""
    values = list(codes)
    kind = Kind({"type": "string", "enum": values}, lambda rng, _row, _before: rng.choice(values))
    return replace(kind, show=lambda value, _: codes[value], codes={text: value for value, text in codes.items()})


def made(pattern: str, *lists: str) -> Kind:
    """A text from a pattern and one word of each list; it may wrap."""
    choices = [one.split("|") for one in lists]
    return Kind(
        {"type": "string"}, lambda rng, _row, _before: pattern.format(*(rng.choice(o) for o in choices)), wraps=True
    )


def person(pattern: str, first: str, last: str) -> Kind:
    """A person's name; {0} of the pattern is the first name, {1} the last one."""
    return replace(made(pattern, first, last), wraps=False)


def whole(low: int, high: int, negative: float = 0.0) -> Kind:
    """A count from low to high, small ones more often; a share of them negative."""

    def draw(rng: Random, _row: Row, _before: Row) -> int:
        value = round(math.exp(rng.uniform(math.log(low + 1), math.log(high + 1)))) - 1
        return -value if rng.random() < negative else value

    return Kind({"type": "integer"}, draw, figure, right=True)


def year(low: int, high: int) -> Kind:
    """A year or another number without marks, from low to high."""
    return Kind({"type": "integer"}, lambda rng, _row, _before: rng.randint(low, high), right=True)


def level(*values: int) -> Kind:
    """One of these whole numbers."""
    return Kind({"type": "integer"}, lambda rng, _row, _before: rng.choice(values), figure, right=True)


def amount(low: float, high: float, negative: float = 0.0, step: float = 0.01) -> Kind:
    """An amount of money, small ones more often; a share of them negative."""

    def draw(rng: Random, _row: Row, _before: Row) -> float:
        value = round(round(math.exp(rng.uniform(math.log(low), math.log(high))) / step) * step, 2)
        return -value if rng.random() < negative else value

    return Kind({"type": "number"}, draw, money, right=True)


def measure(low: float, high: float, decimals: int = 1) -> Kind:
    """A number from low to high with so many decimals."""
    return Kind(
        {"type": "number"},
        lambda rng, _row, _before: round(rng.uniform(low, high), decimals) + 0.0,
        lambda value, look: figure(value, replace(look, negative="-{}"), decimals),
        right=True,
    )


def percent(low: float, high: float, decimals: int = 1) -> Kind:
    """A percentage, without its sign."""
    return replace(
        measure(low, high, decimals), show=lambda value, look: look.percent.format(figure(value, look, decimals))
    )


def day(first: int, last: int) -> Kind:
    """A day of these years; those before 1990 are printed with four digits of the year."""
    start, until = date(first, 1, 1), date(last, 12, 31)

    def show(value: str, look: Look) -> str:
        printed = look.day.replace("%y", "%Y") if first < 1990 else look.day
        return date.fromisoformat(value).strftime(printed)

    def draw(rng: Random, _row: Row, _before: Row) -> str:
        return (start + timedelta(rng.randrange((until - start).days))).isoformat()

    return Kind({"type": "string", "format": "date"}, draw, show)


def later(name: str, first: int, most: int, since: str = "") -> Kind:
    """A day up to `most` days after that of the row before, or after the value `since` of the row itself."""
    start = day(first, first)

    def draw(rng: Random, row: Row, before: Row) -> Any:
        known = row.get(since) if since else before.get(name)
        if known is None:
            return start.draw(rng, row, before)
        return (date.fromisoformat(known) + timedelta(rng.randint(0, most))).isoformat()

    return replace(start, draw=draw)


def clock() -> Kind:
    """A time of day, hours and minutes."""
    return Kind(
        {"type": "string"}, lambda rng, _row, _before: f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}", right=True
    )


def serial() -> Kind:
    """The number of the row in its document."""
    return Kind({"type": "integer"}, lambda _rng, row, _before: row["#"], right=True)


def worked_out(like: Kind, formula: Callable[[Row, Row], Any]) -> Kind:
    """A value that follows from the row so far and the row before, printed like another kind."""
    return replace(like, draw=lambda _rng, row, before: formula(row, before))
