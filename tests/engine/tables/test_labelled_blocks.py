"""Blocks of labels and values are tables whose heads are the labels."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.engine.tables.labelled_blocks import blocks_of
from cinnabar.engine.tables.table import tables_of, words_of

PERMITS = [("P-70", "B10", "Eli Marsh", "3,967"), ("P-71", "B4", "Ben Ode", ""), ("P-72", "A17", "Dee Roy", "80")] * 3


def permits(footer: str = "") -> str:
    lines = ["Harbour Trust", "Register of permits", ""]
    for at, (permit, berth, holder, fee) in enumerate(PERMITS):
        lines += [f"Permit no.: {permit}        Berth: {berth}", f"Holder: {holder}"]
        lines += [f"Fee: {fee}", ""] if fee else [""]
        lines += [footer, ""] if footer and at % 4 == 3 else []
    return "\n".join(lines)


@pytest.mark.parametrize("footer", ["", "Harbour Trust - page 3"])
def test_each_block_is_a_row_and_each_label_a_head(footer: str) -> None:
    text = permits(footer)
    (table,) = tables_of(text)
    assert [table.head(at, text) for at in range(len(table.heads))] == ["Permit no.", "Berth", "Holder", "Fee"]
    assert [tuple(words_of(cell, text) for cell in row.cells) for row in table.rows] == PERMITS


def test_a_value_goes_on_in_the_lines_right_below() -> None:
    lines = [f"Case: {at}\nJudge: Lee\nHeld: the first line\nand the second" for at in range(4)]
    text = "\n\n".join(lines)
    (table,) = tables_of(text)
    assert {words_of(row.cells[2], text) for row in table.rows} == {"the first line and the second"}


def test_a_label_without_a_value_names_the_deeper_ones_whose_names_occur_again() -> None:
    block = "  guest:\n    name: Ann {0}\n  room:\n    number: B{0}\n  ticket:\n    number: 220-{0}\n"
    text = "code: X7\nguests:\n" + "\n".join(map(block.format, range(4)))
    (table,) = tables_of(text)
    assert [table.head(at, text) for at in range(len(table.heads))] == ["guest name", "room number", "ticket number"]
    rows = [tuple(words_of(cell, text) for cell in row.cells) for row in table.rows]
    assert rows == [(f"Ann {at}", f"B{at}", f"220-{at}") for at in range(4)]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(["Agent: How can I help?", "Caller: I lost my card."] * 6),
        "Name: Ann\nDay: 3\nFee: 20\n\n" * 2,
        "Note: this\nand that\n\n" * 9,
        "\n".join(f"Total: {at}\nName: {at}\nName: {at}\nName: {at}\nDay: {at}\n" for at in range(6)),
    ],
)
def test_two_voices_few_blocks_and_labels_that_stand_anywhere_are_none(text: str) -> None:
    assert blocks_of(text) is None


@given(st.text(st.sampled_from("ab1: \n\t"), max_size=400))
def test_any_text_has_blocks_whose_values_are_words_of_it_in_order(text: str) -> None:
    found = blocks_of(text)
    for values, start in zip(found.values, found.starts, strict=True) if found is not None else ():
        spans = sorted(span for cell in values for span in cell)
        assert all(start < a < b <= len(text) and text[a:b].strip() == text[a:b] for a, b in spans)
        assert all(one[1] <= two[0] for one, two in pairwise(spans))
