"""The flag of numbers that are stored without their printed minus."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.surrounded_values import surrounded


def flagged(printed: str, value: int, words: str, field: dict[str, Any] | None = None) -> bool:
    """Whether a value with these words as its evidence is flagged in "Total: PRINTED"."""
    fields = {"total": field or {"type": "number", "minimum": 0}}
    _, _, flags = surrounded(fields, f"Total: {printed}\n", {"total": value}, {"total": words})["total"]
    return "sign_dropped" in flags


@pytest.mark.parametrize(
    ("printed", "words"),
    [("-5.00 EUR", "-5.00 EUR"), ("-5.00 EUR", "5.00"), ("\N{MINUS SIGN}5.00", "5.00"), ("EUR -5.00", "5.00"),
     ("5.00-", "5.00"), ("(5.00)", "5.00")],
)  # fmt: skip
def test_a_positive_number_behind_a_minus_is_flagged(printed: str, words: str) -> None:
    assert flagged(printed, 5, words)


@pytest.mark.parametrize(("printed", "value", "words"), [("5.00 EUR", 5, "5.00"), ("10-5", 5, "5")])
def test_other_numbers_are_not_flagged(printed: str, value: int, words: str) -> None:
    assert not flagged(printed, value, words)


def test_a_description_that_asks_for_no_sign_is_obeyed_without_a_flag() -> None:
    assert not flagged("-5.00", 5, "5.00", {"type": "number", "description": "Fees, always positive"})
