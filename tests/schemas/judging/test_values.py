"""JSON values: equality, numbers and types are those of the standard."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each

from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.judging import judge_of

numbers = st.one_of(
    st.integers(-(10**6), 10**6),
    st.decimals(-1000, 1000, places=3),
    st.builds(lambda m, e: Decimal(m).scaleb(e), st.integers(-999, 999), st.integers(-9, 9)),
)


@each(
    "one, other, same",
    [
        ("1", "1.0", True),
        ("1", "true", False),
        ("0", "false", False),
        ("0", "-0.0", True),
        ("1e2", "100", True),
        ("[]", "true", False),
        ('["true"]', "true", False),
        ("[]", "{}", False),
        ('{"a":1,"b":[2]}', '{"b":[2.0],"a":1}', True),
        ('{"a":1}', '{"a":true}', False),
        ('"1"', "1", False),
        ("1e400000", "10e399999", True),
        ("null", "false", False),
        ('[["a"]]', '["a"]', False),
        ('"\\u0061"', '"a"', True),
    ],
)
def test_values_are_equal_as_the_standard_says(one: str, other: str, same: bool) -> None:
    assert judge_of({"const": parse(one)}).accepts(parse(other)) is same
    assert judge_of({"enum": [parse(one)]}).accepts(parse(other)) is same
    assert judge_of({"uniqueItems": True}).accepts([parse(one), parse(other)]) is not same


def test_a_float_counts_as_its_shortest_decimal() -> None:
    assert judge_of({"const": 0.1}).accepts(Decimal("0.1"))
    assert judge_of({"multipleOf": 0.1}).accepts(0.3)
    assert judge_of({"maximum": 0.1}).accepts(0.1)


@given(numbers, numbers.filter(lambda n: n > 0))
def test_multiples_are_exact(value: int | Decimal, step: int | Decimal) -> None:
    whole = (Fraction(value) / Fraction(step)).denominator == 1
    assert judge_of({"multipleOf": step}).accepts(value) == whole


@given(numbers, numbers)
def test_bounds_are_exact(value: int | Decimal, bound: int | Decimal) -> None:
    apart = Fraction(value) - Fraction(bound)
    assert judge_of({"minimum": bound}).accepts(value) == (apart >= 0)
    assert judge_of({"maximum": bound}).accepts(value) == (apart <= 0)
    assert judge_of({"exclusiveMinimum": bound}).accepts(value) == (apart > 0)
    assert judge_of({"exclusiveMaximum": bound}).accepts(value) == (apart < 0)


@given(numbers)
def test_integers_have_no_fraction(value: int | Decimal) -> None:
    assert judge_of({"type": "integer"}).accepts(value) == (Fraction(value).denominator == 1)


@pytest.mark.timeout(5)
def test_huge_exponents_are_never_written_out() -> None:
    step = judge_of({"multipleOf": 7, "type": "integer"})
    assert step.accepts(parse("7e400000"))
    assert not step.accepts(parse("1e400000"))
    assert not step.accepts(parse("7e-400000"))
    assert judge_of({"multipleOf": Decimal("1e-400000")}).accepts(3)
    assert judge_of({"minimum": 5}).accepts(parse("1e400000"))
    assert judge_of({"uniqueItems": True}).accepts([parse("1e400000"), parse("1e400001")])
    assert judge_of({"multipleOf": 3}).accepts(parse("3" * 5000))


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":1,"\\u0061":1}',
        '"\\ud800"',
        '{"\\udc00":1}',
        "1e99999999999999999999",
        "[" * 10_000,
    ],
)
def test_texts_that_json_readers_disagree_on_have_no_value(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse(text)


def test_a_pair_of_surrogates_is_one_code_point() -> None:
    assert judge_of({"maxLength": 1}).accepts(parse('"\\ud83d\\ude00"'))
