"""Lines that the reading order has in parts stand on one line again; columns of running text stay apart."""

from __future__ import annotations

import numpy as np

from cinnabar.engine.tables.lines import lines_of, whole_lines

#: A word with its left edge and its line on the page.
Word = tuple[str, float, int]


def text_of(words: list[Word]) -> tuple[str, list[tuple[float, float, float, float]], list[int]]:
    """The text in this order, with a box and the first character of each word."""
    text, boxes, starts = "", [], []
    last = None
    for word, left, line in words:
        text += "" if last is None else ("\n" if line != last else "   ")
        starts.append(len(text))
        boxes.append((left, line * 0.02, left + 0.01 * len(word), line * 0.02 + 0.012))
        text, last = text + word, line
    return text, boxes, starts


def lines_in(words: list[Word]) -> list[list[str]]:
    text, boxes, starts = text_of(words)
    lines = lines_of(text, np.asarray(starts, np.int32), np.asarray(boxes, np.float32))
    return [[text[word.start : word.end] for word in line.words] for line in whole_lines(lines, text)]


def test_a_table_that_is_read_in_two_parts_has_whole_rows() -> None:
    left = [part for line in range(1, 6) for part in ((f"K{line}", 0.1, line), (f"N{line}", 0.2, line))]
    right = [part for line in range(1, 6) for part in ((f"{line}0", 0.6, line), (f"{line}.5", 0.8, line))]
    assert lines_in([("Title", 0.1, 0), *left, *right, ("Total", 0.1, 7)]) == [
        ["Title"], *([f"K{at}", f"N{at}", f"{at}0", f"{at}.5"] for at in range(1, 6)), ["Total"]
    ]  # fmt: skip


def test_the_next_page_is_no_part_of_the_lines_of_this_one() -> None:
    page = [part for line in range(1, 5) for part in ((f"K{line}", 0.1, line), (f"{line}", 0.5, line))]
    assert len(lines_in([*page, *page])) == 8


def test_columns_of_running_text_stay_apart() -> None:
    left = [("aaaaaaaaaaaaaaaaaaaa", 0.1, line) for line in range(1, 6)]
    right = [("bbbbbbbbbbbbbbbbbbbb", 0.6, line) for line in range(1, 6)]
    assert all(len(line) == 1 for line in lines_in([*left, *right]))
