"""Languages of scalar shapes: each holds exactly its texts, up to the ends of its bounds on length."""

from __future__ import annotations

import json
import re

import pytest
from tests.support.cases import each

from cinnabar.schemas.automata.strings import canonical_string
from cinnabar.schemas.parsing.language import (
    MAX_UNROLLED_LENGTH,
    UNROLLED_LENGTH,
    holds,
    language,
    left_out,
    smallest,
)
from cinnabar.schemas.parsing.shape import Enum, Null, Number, Shape, String, Union, branches

A, B = ("^a",), ("^b",)
#: This pattern has 128 states for each length, so its bound is not unrolled.
MANY = ("^[ab]*a[ab]{6}$",)


def held(shape: Shape, text: str) -> bool:
    """The meaning of the shape in plain code, with patterns as Python reads them."""
    value = json.loads(text)
    for one in branches(shape):
        if isinstance(one, Enum) and text in one.options:
            return True
        if (
            isinstance(one, String)
            and isinstance(value, str)
            and all(re.search(pattern, value) for pattern in one.patterns)
            and one.min_length <= len(value)
            and (one.max_length is None or len(value) <= one.max_length)
        ):
            return True
        if isinstance(one, Null) and value is None:
            return True
        if isinstance(one, Number) and isinstance(value, int) and not isinstance(value, bool):
            return True
    return False


SHAPES: list[Shape] = [
    String(),
    String(max_length=0),
    String(min_length=3, max_length=3),
    String(max_length=UNROLLED_LENGTH),
    String(max_length=UNROLLED_LENGTH + 1),
    String(max_length=MAX_UNROLLED_LENGTH + 1),
    String(min_length=UNROLLED_LENGTH + 1),
    String(A, min_length=2, max_length=UNROLLED_LENGTH),
    String(A, max_length=UNROLLED_LENGTH + 1),
    String(MANY, max_length=50),
    Union((String(max_length=100), Null())),
    Union((String(A, max_length=100), Number())),
    Union((String(A, max_length=100), String(B, max_length=UNROLLED_LENGTH))),
    Union((String(A, max_length=100), String(B))),
    Union((String(A, max_length=100), String(B, max_length=110), Null())),
    Union((String(A, max_length=100), Enum((canonical_string("a" * 120).decode(),), ("",)))),
    Union((String(A, max_length=MAX_UNROLLED_LENGTH), String(B, min_length=4))),
]


@each("shape", SHAPES)
def test_a_shape_is_exact_at_the_ends_of_its_bounds(shape: Shape) -> None:
    ends = {0, 1, 40, 120}
    for one in branches(shape):
        if isinstance(one, String):
            ends |= {one.min_length + more for more in (-1, 0, 1)}
            ends |= {one.max_length + more for more in (-1, 0, 1)} if one.max_length is not None else set()
    values = {letter + each * (end - 1) for letter in "abz" for each in ("a", "é") for end in ends if end > 0}
    texts = [canonical_string(value).decode() for value in ("", *sorted(values))]
    for text in (*texts, "null", "7"):
        assert holds(shape, text) == held(shape, text), (len(text), text[:3])
    least = smallest(shape)
    assert least is not None and held(shape, least)
    assert len(least.encode()) <= min(
        len(text.encode()) for text in (*texts, "null", "7") if held(shape, text)
    )


def test_only_a_single_string_with_a_large_bound_leaves_its_bound_out() -> None:
    one, more = UNROLLED_LENGTH + 1, MAX_UNROLLED_LENGTH + 1
    assert left_out(String()) is left_out(String(max_length=one - 1)) is left_out(Number()) is None
    assert left_out(String(max_length=one)) == left_out(Union((Null(), String(max_length=one)))) == one
    assert left_out(String(MANY, max_length=50)) == 50
    assert left_out(Union((String(A, max_length=one), String(B)))) is None
    assert left_out(Union((String(A, max_length=more), String(B)))) == more
    assert left_out(Union((String(A, max_length=more), String(B, max_length=more + 1)))) == more + 1


def test_a_bound_is_unrolled_up_to_the_given_length() -> None:
    text = canonical_string("x" * 11)
    assert language(String(max_length=10)).accepts(text) is False
    assert language(String(max_length=10), 10).accepts(text) is False
    assert language(String(max_length=10), 9).accepts(text) is True
    assert language(Union((String(max_length=10), Null())), 9).accepts(text) is True


def test_equal_languages_are_one_object() -> None:
    twice = Union((String(A), Null())), Union((Null(), String(A)))
    assert language(twice[0]) is language(twice[1])
    assert language(Enum(('"a"', '"b"'), ("", ""))) is language(String(("^[ab]$",)))


def test_a_container_has_no_language() -> None:
    with pytest.raises(TypeError, match="expected a scalar shape, got NoneType"):
        language(None)  # type: ignore[arg-type]
