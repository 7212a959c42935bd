"""Raised text: no number is another one because of the digits that are raised behind it."""

from __future__ import annotations

import random
import re

import pytest
from tests.support.cases import each

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import numbers_of
from cinnabar.engine.readings.scan import scan
from cinnabar.extraction.documents.content.marked_text import raised_text

_MONEY = ("$", "€", "£", "EUR ", "CHF ", "US$", "$ ")


def _whole(rng: random.Random) -> tuple[str, int]:
    value = rng.choice((rng.randrange(1, 100), rng.randrange(1_000, 1_000_000)))
    return rng.choice((f"{value:,}", str(value))), value


@each("seed", range(40))
def test_two_raised_digits_behind_a_price_are_its_cents(seed: int) -> None:
    rng = random.Random(seed)
    (whole, value), cents, money = _whole(rng), rng.randrange(100), rng.choice(_MONEY)
    ahead = rng.choice((True, False))
    before, after = (f"Price: {money}{whole}", "") if ahead else (f"Price: {whole}", f" {money.strip()} a piece")
    text = raised_text(before, f"{cents:02}", after)
    got = numbers_of(before.rpartition(" ")[2] + text, Locale(decimal_comma=False))
    assert got and float(got[0]) == pytest.approx(value + cents / 100)


@each("seed", range(80))
def test_a_raised_mark_leaves_the_number_before_it_as_it_is(seed: int) -> None:
    rng = random.Random(seed)
    whole, _ = _whole(rng)
    number = rng.choice(("", "-")) + whole + rng.choice(("", ".5", ".25"))
    mark = rng.choice(("1", "2", "12", "1,2", "3)", "[4]", "(1)", "*", "*1", "b", "1 2"))
    lowered = rng.random() < 0.2 and mark[0].isdigit()
    line = f"Revenue {number}" + raised_text(f"Revenue {number}", mark, "", lowered)
    found = [line[one.start : one.end] for one in scan(line, Locale()) if one.kind == "number"]
    alone = [f for f in found if f.strip("-").startswith(whole)]
    assert alone == [f for f in alone if f in (number, whole)], (line, found)
    assert alone and not any(re.fullmatch(r"[(\[]?\d{1,2}[)\]]?", one) for one in found if one not in alone), line


@each(
    "before, raised, after, text",
    [
        ("120 m", "2", "", "²"),
        ("2.5 × 10", "-3", "", "⁻³"),
        ("May 1", "st", "", "st"),
        ("1", "er", "", "er"),
        ("Acme", "TM", "", "TM"),
        ("Revenue", "1", "", " ¹"),
        ("12.5%", "2", "", " ²"),
        ("4,512 ", "1", "", "¹"),
        ("4,512", "incl. VAT", "", " incl. VAT"),
        ("$45", "12", " million", " ¹²"),
        ("Revenue 4,512", "12", " USD million", " ¹²"),
        ("€45", "12", " (in millions)", " ¹²"),
        ("$19.50", "12", "", " ¹²"),
        ("€ 1.299", "00", "", ",00"),
        ("$19", "99/mo", "", ".99/mo"),
        ("$19.", "99", "", "99"),
        ("in 2012.", "12", "", " ¹²"),
        ("1", "1", "/2", " 1"),
        ("", "1", " not audited", "1"),
    ],
)
def test_raised_text_reads_as_a_person_reads_it(before: str, raised: str, after: str, text: str) -> None:
    assert raised_text(before, raised, after) == text


def test_lowered_digits_of_a_formula_stay() -> None:
    assert raised_text("CO", "2", lowered=True) == "2"
    assert raised_text("4,512", "1", lowered=True) == " ₁"
