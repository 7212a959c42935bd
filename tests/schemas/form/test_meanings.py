"""Meanings of choices: a field's description explains its options."""

from __future__ import annotations

import time

import pytest

from cinnabar.schemas.form.meanings import meanings


@pytest.mark.parametrize(
    ("options", "description", "told"),
    [
        (("kt", "m/s"), "kt = knots, m/s = metres per second.", ("knots", "metres per second")),
        (("b", "a"), "Which one. 'a': the first; \"b\": the other.", ("the other", "the first")),
        (("open", "open late"), "open late = after ten", ("", "after ten")),
        (("full", "over"), "full / over = no room left; nothing else", ("no room left", "no room left")),
        (("x", "y", "z"), "x, y or z = left by car, by sea, up", ("left by car", "left by sea", "left up")),
        (("lb", "kg", "t"), "Unit (P = lb, K = kg).", ("P", "K", "")),
        (("EUR", "USD"), "Of the amounts: $ in America = USD, € = EUR.", ("€", "$ in America")),
        (('1/2"', '3/4"'), '1/2" = half an inch, 3/4" = more', ("half an inch", "more")),
        (("up", "over"), "up = over, over = up", ("over", "up")),
        (("estimated", "measured"), "estimated (E) or measured (M), before the number.", ("E", "M")),
    ],
)  # fmt: skip
def test_a_description_explains_choices(
    options: tuple[str, ...], description: str, told: tuple[str, ...]
) -> None:
    assert meanings(options, description) == told


@pytest.mark.parametrize(
    "description",
    ["", "Whether pets may come: yes, no; null when not told.", "yes, no", "no-one = nobody; yesterday = 1"],
)
def test_text_that_explains_no_choice_gives_nothing(description: str) -> None:
    assert meanings(("yes", "no", ""), description) == ()


@pytest.mark.parametrize(
    "description",
    ["a/" * 20_000, "a, " * 20_000, "," + " " * 40_000 + "x", "\n" * 40_000, " = a" * 10_000, "a (" * 10_000],
    ids=["slashes", "commas", "blanks", "lines", "equals", "brackets"],
)  # fmt: skip
def test_a_long_description_takes_no_long_time(description: str) -> None:
    begin = time.thread_time()
    meanings(("a", "a/a", "b"), description)
    assert time.thread_time() - begin < 5
