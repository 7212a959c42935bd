"""Values in console tables: numbers keep all their digits, and texts may be shortened."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from cinnabar.flows.cli.console import CELL_WIDTH, cell, short


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (4904.94, "4904.94"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e22, "1e+22"),
        (Decimal("4904.940"), "4904.940"),
        (Decimal("0E-12"), "0.000000000000"),
        (Decimal("123456789012345678901234567890.12"), "123456789012345678901234567890.12"),
        (10**60, "1" + "0" * 60),
        (Decimal(10**60), "1" + "0" * 60),
        ({"net": Decimal("10.50"), "who": 'A "B"'}, '{"net": 10.50, "who": "A \\"B\\""}'),
    ],
)
def test_a_number_has_all_its_digits(value: Any, shown: str) -> None:
    assert cell(value) == short(value) == shown


def test_a_long_text_ends_in_an_ellipsis() -> None:
    assert short("1234567890" * 10) == f"{'1234567890' * 10}"[: CELL_WIDTH - 1] + "…"


@pytest.mark.parametrize("count", range(1, 12))
def test_a_number_in_a_list_is_whole_or_left_out(count: int) -> None:
    value = ["x" * count, *[Decimal("4904.94")] * 12]
    shown = short(value)
    assert shown.endswith("…") and len(shown) <= CELL_WIDTH
    numbers = [number.rstrip(",") for number in shown.removesuffix("…").split(", ")[1:]]
    assert set(numbers) <= {"4904.94", ""} and numbers.count("4904.94") >= 3
