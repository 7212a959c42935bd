"""A table goes on behind the edge of a page, where its head does not stand again."""

from __future__ import annotations

import pytest

from cinnabar.engine.tables.continued import join_continued
from cinnabar.engine.tables.table import tables_of

PAGE_EDGE = "\n".join(["", "", *["Words of a letter head that stand between two pages"] * 16, "", ""])


def listed(first: int, rows: int, code: str) -> str:
    lines = (f"{code}{at:<6}{'Oak panel':<14}{at * 7 % 90:>6}{at * 1.25:>10.2f}" for at in range(first, first + rows))
    return "\n".join(lines)


#: The head that stands above the first page.
HEAD = "Code   Article       Pieces    Amount\n"
#: The head, the rows of the first page and of the second one, the second's form of codes, and the rows of each table.
CASES = {
    "the columns go on": (HEAD, 20, 5, "A-", [25]),
    "without a head nothing tells that it is one table": ("", 20, 5, "A-", [20, 5]),
    "other kinds of columns are another table": (HEAD, 20, 5, "2026-03-0", [20, 5]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_table_without_heads_goes_on_with_the_one_above_if_its_columns_are_alike(case: str) -> None:
    head, above, below, code, rows = CASES[case]
    text = head + listed(10, above, "A-") + PAGE_EDGE + listed(40, below, code)
    found = join_continued(tables_of(text), text)
    assert [len(table.rows) for table in found] == rows
    assert found[0].repeated >= ({above} if len(rows) == 1 else set())


#: A second head in the middle of a table, and the rows of each table.
SECOND_HEADS = {
    "other words": ("No.    Description   Number    Price", [12, 12]),
    "its words in another order": ("Code   Article       Amount    Pieces", [12, 12]),
    "the head again": (HEAD.strip(), [24]),
    "a row without figures": ("A-x    Oak panel     n/a       n/a", [25]),
}


@pytest.mark.parametrize("case", SECOND_HEADS)
def test_another_head_right_below_a_row_begins_another_table(case: str) -> None:
    second, rows = SECOND_HEADS[case]
    text = "\n".join([HEAD.strip(), listed(10, 12, "A-"), second, listed(40, 12, "A-")])
    assert [len(table.rows) for table in tables_of(text)] == rows
