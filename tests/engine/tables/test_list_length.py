"""What a document says of the length of a list: numbers of rows, and counts that are printed."""

from __future__ import annotations

import re
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.engine.tables.list_length import ListLength, MissingRows, length_of, printed_around

NAMES = ("Anna", "Ben", "Carl", "Dora", "Emil")


def numbered(numbers: Collection[int]) -> str:
    return "".join(f"{number}. {NAMES[number % 5]} {number * 7}.50\n" for number in numbers)


def length(text: str, *names: str, row: str = r"^\d+\. ") -> ListLength:
    return length_of(text, [match.start() for match in re.finditer(row, text, re.MULTILINE)], names)


@given(st.integers(6, 60), st.sets(st.integers(2, 59), max_size=3))
def test_rows_that_are_missing_in_a_numbering_are_named(last: int, missing: set[int]) -> None:
    missing = {number for number in missing if number < last}
    found = length("Crew\n" + numbered([n for n in range(1, last + 1) if n not in missing]))
    told = sorted(number for gap in found.gaps for number in gap.numbers)
    runs = sum(number - 1 not in missing for number in missing)
    if found.numbered:
        assert told == sorted(missing)
        assert found.disagrees == bool(missing)
    # A few gaps are rows that are missing, many are numbers that mean something else.
    assert found.numbered == (runs <= 1 + 0.02 * (last - len(missing)))


def test_a_number_that_goes_on_behind_the_rows_is_missing() -> None:
    text = numbered(range(1, 8)) + "\n8. Zoe 1.00\n"
    begins = [match.start() for match in re.finditer(r"^\d+\. ", text, re.MULTILINE)][:7]
    (gap,) = length_of(text, begins).gaps
    assert gap.numbers == (8,)


def test_ages_and_years_are_no_numbering() -> None:
    ages = "".join(f"{name} {age}\n" for name, age in zip(NAMES, (31, 7, 8, 40, 9), strict=True))
    assert not length(ages, row=r"^\w+ \d").numbered


@pytest.mark.parametrize(("count", "disagrees"), [(12, False), (13, True)])
def test_a_count_beside_the_lists_name_is_held_against_the_rows(count: int, disagrees: bool) -> None:
    text = f"Drivers: {count}\n\n" + "".join(f"Row {NAMES[at % 5]}\n" for at in range(12))
    found = length(text, "Driver", row=r"^Row ")
    assert (found.told, found.disagrees) == (count, disagrees)
    assert found.told_at is not None
    assert printed_around(text, found.told_at) == f"Drivers: {count}"


@pytest.mark.parametrize("line", [
    "Please report differences within 31 days.", "Suite 31, 12 Market Square", "12/31/2024", "Total 31.00",
    "Page 31\nPage 32",
])  # fmt: skip
def test_other_numbers_near_the_number_of_rows_claim_nothing(line: str) -> None:
    text = f"{line}\n\n" + "".join(f"Row {NAMES[at % 5]}\n" for at in range(30)) + "Fuel\n"
    assert length(text, row=r"^Row ").told is None


def test_numbered_rows_are_denied_by_a_count_of_the_list_alone() -> None:
    rows = numbered(range(1, 31))
    assert length(f"Report: 31\n\n{rows}").told is None
    assert length(f"Crew: 31\n\n{rows}", "Crew").told == 31
    assert length(f"12 crew\n\n{rows}", "Crew").told == 12
    assert length(f"Crew 2026\n\n{rows}", "Crew").told is None
    assert length(f"Number of crew: 31\n\n{rows}", "Crew").told == 31
    assert length(f"Number of crew: 12\n\n{rows}", "Crew").told is None
    assert length(f"We hired a crew of 31 in the last year.\n\n{rows}", "Crew").told is None


@pytest.mark.parametrize("line", ["7 days notice is required.", "- 7 -", "7", "Terms\n7 Payment is due."])
def test_a_line_that_begins_with_the_next_number_and_is_no_row_tells_nothing(line: str) -> None:
    rows = "".join(f"{at}   {NAMES[at % 5]}   {at * 7}.50\n" for at in range(1, 7))
    found = length(f"{rows}\n{line}\n", row=r"^\d   ")
    assert found.numbered and not found.disagrees


@pytest.mark.parametrize("numbers", [
    [3, 4, 5, 6, 7, 8], [101, 102, 104, 105, 106], [1, 2, 4, 5, 7, 8, 10], [2, 4, 6, 8], [5, 4, 3, 2, 1],
])  # fmt: skip
def test_lanes_codes_and_days_are_no_numbering(numbers: list[int]) -> None:
    assert not length(numbered(numbers)).disagrees


def test_counts_of_groups_tell_in_which_group_rows_are_missing() -> None:
    sizes, text = (4, 3, 5, 2), ""
    for number, size in enumerate(sizes):
        text += f"Depot {'ABCD'[number]}\n" + "Car Ford\n" * size + f"Cars in depot: {size + (number == 2)}\n"
    found = length(text, row=r"^Car ")
    assert found.agreeing == 3
    assert [(gap.count, gap.numbers) for gap in found.gaps] == [(1, ())]
    assert text[found.gaps[0].at] == "6"
    assert found.told == 15


def test_a_text_without_rows_tells_nothing() -> None:
    assert length_of("Drivers: 12\n", []) == ListLength(0)
    assert not ListLength(3, 3).disagrees
    assert ListLength(3, 3, gaps=(MissingRows(0, 1),)).disagrees
