"""Headings between rows, and labelled lines above a table, are columns of it."""

from __future__ import annotations

from cinnabar.engine.tables.headings import add_headings
from cinnabar.engine.tables.table import PrintedTable, tables_of, words_of

HEAD = "Code    Name        Count\n"


def rows(first: int, count: int) -> str:
    return "".join(f"K-{at:<6}Bolt {at:<7}{at * 7}\n" for at in range(first, first + count))


def columns_of(text: str, real: int = 3) -> dict[str, list[str]]:
    """The columns of headings by their heads, with the cell of each row."""
    (table,) = tables_of(text)
    whole: PrintedTable = add_headings(table, text)
    assert [row.cells[:real] for row in whole.rows] == [row.cells for row in table.rows]
    more = range(real, len(whole.heads))
    return {whole.head(at, text): [words_of(row.cells[at], text) for row in whole.rows] for at in more}


def test_words_that_all_headings_share_are_heads_and_the_rest_are_cells() -> None:
    first, second, third = "From Izmir to Cork", "From Riga to New York", "From Riga to Cork"
    text = f"{HEAD}{first}\n{rows(10, 3)}{second}\n{rows(13, 4)}{third}\n{rows(17, 3)}"
    found = columns_of(text)
    assert found == {"From": ["Izmir"] * 3 + ["Riga"] * 7, "to": ["Cork"] * 3 + ["New York"] * 4 + ["Cork"] * 3}


def test_a_heading_that_is_said_again_changes_nothing() -> None:
    again, still = "Depot Salem (continued)", "still: Depot Salem"
    text = f"{HEAD}Depot Salem\n{rows(10, 3)}{again}\n{rows(13, 4)}{still}\n{rows(17, 2)}Depot Boise\n{rows(19, 2)}"
    assert columns_of(text) == {"Depot": ["Salem"] * 9 + ["Boise"] * 2}


def test_the_first_heading_may_stand_above_the_head() -> None:
    text = f"Method A 1\n{HEAD}{rows(10, 4)}Method B 22\n{HEAD}{rows(14, 4)}Method C 3\n{HEAD}{rows(18, 3)}"
    assert columns_of(text)["Method"] == ["A 1"] * 4 + ["B 22"] * 4 + ["C 3"] * 3


def test_names_that_begin_like_others_and_numbers_are_headings_of_their_own() -> None:
    names = ["York", "Boise", "Yorkton", "Depot 1", "Depot 10"]
    text = HEAD + "".join(f"{name}\n{rows(10 + 3 * at, 3)}" for at, name in enumerate(names))
    assert [*columns_of(text).values()] == [[name for name in names for _ in range(3)]]
    numbered = HEAD + "".join(f"Depot: {at}\n{rows(10 * at, 2 + at % 2)}" for at in range(1, 8))
    assert columns_of(numbered) == {"Depot :": [str(at) for at in range(1, 8) for _ in range(2 + at % 2)]}


def test_lines_above_the_table_before_tell_nothing_of_this_one() -> None:
    words = "".join(f"and so it went on for all of them in line {at}\n" for at in range(16))
    people = "".join(f"{name:20}{at * 77:>6}\n" for at, name in enumerate(("Anna", "Ben", "Carl", "Dora", "Emil")))
    text = f"City    Oslo\nRiver   Glomma\nRiver   Alna\nLake    Mjosa\n{words}Name                 Money\n{people}"
    first, second = tables_of(text)
    assert len(add_headings(second, text, first.end).heads) == len(second.heads)
    assert len(add_headings(second, text).heads) > len(second.heads)


def test_a_line_below_each_row_is_a_cell_of_it() -> None:
    said = ["Torn at the seam of both sides.", "Lost on its way and never found.", "Wet, and dried in the sun."]
    lines = [one for at in range(5) for one in (rows(10 + at, 1).rstrip(), f"        {said[at % 3]}")]
    assert columns_of(HEAD + "\n".join(lines)) == {"": [said[at % 3] for at in range(5)]}
    # One here and there is none.
    assert columns_of(HEAD + "\n".join([*lines[:3], *lines[4:8:2], *lines[8::2]])).get("") is None


def test_counts_of_rows_and_numbers_of_pages_are_no_cells() -> None:
    text = f"{HEAD}{rows(10, 3)}Entries: 3\n{rows(13, 5)}Entries: 5\n{rows(18, 2)}Entries: 2\n{rows(20, 2)}"
    assert columns_of(text) == {}
    pages = f"{HEAD}{rows(10, 3)}Page 1 of 9\n{rows(13, 4)}Page 2 of 9\n{rows(17, 5)}Page 3 of 9\n{rows(22, 2)}"
    assert columns_of(pages) == {}


def test_labelled_lines_above_a_table_hold_for_all_of_its_rows() -> None:
    text = f"Policy: A-17    Insured: Anna Lee    Cars: 29\nVoyage    L7    Vessel    Star\n\n{HEAD}{rows(10, 29)}"
    found = columns_of(text)
    assert {head: cells[0] for head, cells in found.items()} == {
        "Policy": "A-17", "Insured": "Anna Lee", "Voyage": "L7", "Vessel": "Star"
    }, "a count of the rows tells nothing of them"  # fmt: skip
    assert all(len({*cells}) == 1 and len(cells) == 29 for cells in found.values())
