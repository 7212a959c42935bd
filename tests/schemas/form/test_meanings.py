"""Meanings of choices: a field's description explains its options."""

from __future__ import annotations

import time

import pytest

from cinnabar.schemas import UnsupportedSchema, compile_schema
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


def test_other_words_of_options_are_kept_in_the_order_of_the_options() -> None:
    field = {"enum": ["a", "b"], "x-cinnabar-options": {"b": ["bee", "Biene"]}}
    (slot,) = compile_schema({"type": "object", "properties": {"kind": field}}).form.slots
    assert slot.option_words == ((), ("bee", "Biene"))


def test_words_are_given_for_constants_and_for_choices_that_are_no_texts() -> None:
    field = {"oneOf": [{"const": "a"}, {"const": "b"}], "x-cinnabar-options": {"a": "ay"}}
    (slot,) = compile_schema({"type": "object", "properties": {"kind": field}}).form.slots
    assert slot.option_words == (("ay",), ())
    mixed = {"enum": ["a", 1], "x-cinnabar-options": {"1": "one"}}
    (slot,) = compile_schema({"type": "object", "properties": {"kind": mixed}}).form.slots
    assert dict(zip(slot.options, slot.option_words, strict=True))["1"] == ("one",)


@pytest.mark.parametrize(
    ("words", "reason"),
    [({"c": "cee"}, "none of the choices a, b"), (["a"], "expected an object"), ({"a": [1]}, "expected an object")],
)
def test_other_words_of_an_unknown_option_are_refused(words: object, reason: str) -> None:
    schema = {"type": "object", "properties": {"kind": {"enum": ["a", "b"], "x-cinnabar-options": words}}}
    with pytest.raises(UnsupportedSchema, match=reason) as caught:
        _ = compile_schema(schema).form
    assert "/properties/kind/x-cinnabar-options" in str(caught.value)
