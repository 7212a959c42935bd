"""Numbers: one spelling for each value, and bounds and multiples against exact decimal arithmetic."""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, Decimal
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each
from tests.support.effort import examples

from cinnabar.errors import UnsupportedNumber
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.numbers import canonical_number, number, spelled_numbers

integer = partial(number, whole=True)
SHAPE = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?")

near = st.sampled_from(
    ["0", "1", "-1", "9", "10", "-10", "99.5", "100", "0.05", "-0.25", "12.5", "1.375", "1E3", "1e-3"]
)
values = near.map(Decimal) | st.builds(
    lambda n, k: Decimal(n).scaleb(-k), st.integers(-30_000, 30_000), st.integers(0, 4)
)
bounds = st.none() | values
steps = st.sampled_from(
    [None, *map(Decimal, ["1", "3", "20", "0.01", "0.5", "2.5", "0.25", "1.2", "100", "1e-6"])]
)


def accepts(automaton: Automaton, value: Decimal) -> bool:
    return automaton.accepts(canonical_number(value).encode())


@examples(100)
@given(bounds, bounds, bounds, bounds, steps, st.lists(values, min_size=1, max_size=15), st.data())
def test_bounds_and_multiples_are_exact(
    low: Decimal | None,
    high: Decimal | None,
    above: Decimal | None,
    below: Decimal | None,
    step: Decimal | None,
    tried: list[Decimal],
    data: st.DataObject,
) -> None:
    edges = [b for b in (low, high, above, below) if b is not None]
    shifts = [Decimal(s) for s in ("0", "1", "-1", "0.01", "-0.001")]
    tried = [*tried, *(b + s for b in edges for s in shifts)]
    tried += [b.quantize(Decimal(1).scaleb(-k), ROUND_DOWN) for b in edges for k in (0, 1, 2, 3)]
    if step:
        tried += [step * n for n in (-3, 0, 1, 7, 1000)]
    numbers, integers = number(low, high, above, below, step), integer(low, high, above, below, step)
    for value in tried:
        inside = (
            (low is None or value >= low)
            and (high is None or value <= high)
            and (above is None or value > above)
            and (below is None or value < below)
            and (step is None or value % step == 0)
        )
        assert accepts(numbers, value) == inside, value
        assert accepts(integers, value) == (inside and value == value.to_integral_value()), value
    shortest = data.draw(st.sampled_from([numbers, integers])).shortest()
    if shortest is not None:
        assert SHAPE.fullmatch(shortest.decode())


@given(st.from_regex(r"-?[0-9.]{0,5}\Z") | st.text("-+.0123456789eE", max_size=6))
def test_only_canonical_spellings_are_accepted(text: str) -> None:
    canonical = bool(SHAPE.fullmatch(text)) and text != "-0"
    assert number().accepts(text.encode()) == canonical
    assert integer().accepts(text.encode()) == (canonical and "." not in text)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6) | st.integers() | st.floats(-1e15, 1e15))
def test_the_canonical_spelling_keeps_the_value(value: Decimal | int | float) -> None:
    text = canonical_number(value)
    assert Decimal(text) == Decimal(str(value))
    assert canonical_number(text) == text
    assert number().accepts(text.encode())


@each(
    "value, text",
    [
        ("-0", "0"),
        ("-0.00", "0"),
        (-0.0, "0"),
        ("1.50", "1.5"),
        ("1e3", "1000"),
        ("+07", "7"),
        ("12e-4", "0.0012"),
        (0.1, "0.1"),
        (1e22, "1" + "0" * 22),
        (10**30, "1" + "0" * 30),
        (".5", "0.5"),
        ("5.", "5"),
        ("0e999999", "0"),
    ],
)
def test_one_value_has_one_spelling(value: str | int | float, text: str) -> None:
    assert canonical_number(value) == text


@pytest.mark.parametrize("value", ["1e400", "1e400000000", "1e-500", "1e99999999999999999999999", 10**400])
def test_exponents_are_not_expanded_past_the_cap(value: str | int) -> None:
    with pytest.raises(ValueError, match="at most 400 digits"):
        canonical_number(value)


@pytest.mark.parametrize(
    "value", ["", "nan", "1_0", "1,5", " 1", "٣", "0x1", "-", float("nan"), float("inf"), True]
)
def test_only_decimal_numbers_have_a_spelling(value: str | float) -> None:
    with pytest.raises(ValueError, match="expected a"):
        canonical_number(value)


@pytest.mark.parametrize("step", ["0", "-1", "65537", "3276.9", "0.0012345"])
def test_a_step_that_needs_too_large_an_automaton_is_refused(step: str) -> None:
    with pytest.raises(UnsupportedNumber, match="multipleOf"):
        number(multiple_of=Decimal(step))


@pytest.mark.parametrize("step", ["4096", "204.8", "8192", "65536"])
def test_a_step_with_the_most_allowed_remainders_has_an_automaton(step: str) -> None:
    automaton = number(multiple_of=Decimal(step))
    for factor in (0, 1, 7, 1000):
        text = canonical_number(Decimal(step) * factor)
        assert automaton.accepts(text.encode()) and not automaton.accepts(f"1{text}1".encode())


def test_a_bound_of_too_many_digits_is_refused() -> None:
    with pytest.raises(UnsupportedNumber, match="400 digits"):
        integer(maximum=Decimal("1e400000"))


def test_a_large_round_step_takes_few_states() -> None:
    assert integer(multiple_of=Decimal("1e12")).states < 20


JSON_NUMBER = r"-?(0|[1-9][0-9]{0,4})(\.[0-9]{1,5})?"


@examples(200)
@given(bounds, bounds, steps, st.booleans(), st.lists(values, min_size=1, max_size=15), st.data())
def test_all_spellings_of_allowed_numbers_are_spelled_and_none_of_others(
    low: Decimal | None,
    high: Decimal | None,
    step: Decimal | None,
    whole: bool,
    tried: list[Decimal],
    data: st.DataObject,
) -> None:
    canonical = (integer if whole else number)(minimum=low, maximum=high, multiple_of=step)
    spelled = spelled_numbers(canonical)
    tried += [b + shift for b in (low, high) if b is not None for shift in (Decimal(0), Decimal("0.01"), Decimal(-1))]
    for value in tried:
        text = canonical_number(value)
        zeros = data.draw(st.integers(1, 4))
        others = [text, text + ("" if "." in text else ".") + "0" * zeros]
        others += ["-0", "-0." + "0" * zeros] if text == "0" else []
        for other in others:
            assert spelled.accepts(other.encode()) == canonical.accepts(text.encode()), other
    for _ in range(20):
        text = data.draw(st.from_regex(JSON_NUMBER, fullmatch=True))
        assert spelled.accepts(text.encode()) == accepts(canonical, Decimal(text)), text


SIGNS = [(integer if whole else number)(**bound) for whole in (False, True) for bound in (
    {}, {"minimum": Decimal(0)}, {"exclusive_minimum": Decimal(0)}, {"maximum": Decimal(0)},
    {"exclusive_maximum": Decimal(0)},
)]  # fmt: skip


@pytest.mark.parametrize("kind", SIGNS, ids=range(10))
@given(st.from_regex(JSON_NUMBER + r"[eE]([+-]?[0-9]{1,2})", fullmatch=True))
def test_numbers_without_a_bound_but_zero_may_have_exponents(kind: Automaton, text: str) -> None:
    spelled, value = spelled_numbers(kind).accepts(text.encode()), Decimal(text)
    assert not spelled or accepts(kind, value)
    # A fraction that an exponent makes whole, and an exponent below zero, are no spellings of an integer here.
    if accepts(number(), value) and not kind.accepts(b"0.1") and not kind.accepts(b"-0.1"):
        mantissa, _, exponent = text.lower().partition("e")
        assert spelled == (accepts(kind, Decimal(mantissa)) and "-" not in exponent)
    else:
        assert spelled == accepts(kind, value)


@each("text", ["1.", ".5", "01.0", "00", "+1", "-", "--1", "1.0.0", "1e", "1e+", "e5", "1e100"])
def test_what_is_no_json_number_is_no_spelling(text: str) -> None:
    assert not spelled_numbers(number()).accepts(text.encode())


def test_spellings_take_few_states_more() -> None:
    for kind in (integer(), number(), number(Decimal(0), Decimal(1000), multiple_of=Decimal("0.01")),
                 number(Decimal("-123456.789"), Decimal("98765.4321")), integer(multiple_of=Decimal(997))):  # fmt: skip
        assert spelled_numbers(kind).states <= kind.states + 6
