"""Row smoothing: lines that look alike share their evidence on whether an item begins in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiny_network import wordpieces

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.priors.name_matching import Floats
from cinnabar.engine.models.reader.scoring.row_smoothing import probabilities, smooth_rows

TABLE = "\n".join(["Item    Price", *(f"bolt    {n},50" for n in range(10, 20)), "Total    see below"])
DOUBT = -2.0


def _smoothed(odds: Floats, columns: Columns) -> Floats:
    return smooth_rows(odds, columns, DEFAULT_PRIORS.row_smoothing, DEFAULT_PRIORS.rows.least)


def _columns(text: str) -> tuple[Columns, list[int]]:
    """The columns of a text, and the first piece of each of its lines."""
    columns = Columns(wordpieces().pieces(text))
    return columns, np.flatnonzero(np.diff(columns.pieces.line, prepend=-1) > 0).tolist()


def _told(text: str, odds: dict[int, float]) -> dict[int, float]:
    """The change to lines with these log odds at their first piece; all others have -9."""
    columns, begins = _columns(text)
    before = np.full(len(columns.pieces), -9.0, np.float32)
    for line, value in odds.items():
        before[begins[line]] = value
    added = _smoothed(before, columns) - before
    told = np.flatnonzero(added)
    return {int(columns.pieces.line[place]): float(added[place]) for place in told}


def test_a_doubtful_line_follows_the_others_of_its_kind() -> None:
    # Of nine other lines seven surely begin an item and two do not.
    told = _told(TABLE, {line: DOUBT if line == 5 else 20.0 for line in range(1, 9)} | {9: -20.0, 10: -20.0})
    assert told[5] == pytest.approx(np.log(7.5 / 2.5), abs=1e-3)


def test_the_change_has_a_limit() -> None:
    lines = "\n".join(f"bolt    {n},50" for n in range(100))
    assert max(_told(lines, dict.fromkeys(range(100), 20.0)).values()) == DEFAULT_PRIORS.row_smoothing.most


def test_carried_forward_lines_begin_no_item() -> None:
    page = [f"bolt    {n},50" for n in range(20)]
    text = "\n".join([*page, "Carried    90,50", "Brought    90,50", *page])
    assert not {20, 21} & _told(text, {line: DOUBT if line in (20, 21) else 5.0 for line in range(42)}).keys()
    text = "\n".join([*page, "Carried    90,50", "", "Page 1", "", "Item    Price", *page])
    assert 20 not in _told(text, {line: DOUBT if line == 20 else 5.0 for line in range(42)})


def test_lines_with_other_cells_or_places_or_one_cell_stay_unchanged() -> None:
    lines = [f"bolt    {n},50" for n in range(10)]
    for other in ("bolt    see below", "          bolt    7,50", "bolt 7,50", "bolt    7,50    x"):
        text = "\n".join([*lines[:5], other, *lines[5:]])
        assert 5 not in _told(text, {line: DOUBT if line == 5 else 5.0 for line in range(11)}), other
    assert 5 in _told("\n".join(lines), {line: DOUBT if line == 5 else 5.0 for line in range(10)})


def test_the_likeliest_piece_of_a_line_is_raised() -> None:
    columns, begins = _columns("\n".join(f"bolt    {n},50" for n in range(10, 20)))
    odds = np.full(len(columns.pieces), 18.0, np.float32)
    odds[[begin + 1 for begin in begins]] = 25.0
    assert set(np.flatnonzero(_smoothed(odds, columns) > odds)) == {begin + 1 for begin in begins[1:-1]}


def test_lines_of_a_kind_that_rarely_begins_items_stay_unchanged() -> None:
    assert not _told(TABLE, {3: 4.0, 4: DOUBT, 5: 4.0})
    assert not _told("bolt    1,50\nnut    2,50\n", {0: 4.0, 1: 4.0})


@pytest.mark.parametrize("text", ["", "\n", "\f", "bolt"])
def test_a_text_of_one_line_or_none_stays_unchanged(text: str) -> None:
    columns, _ = _columns(text)
    odds = np.zeros(len(columns.pieces), np.float32)
    assert _smoothed(odds, columns).tolist() == odds.tolist()


@given(st.lists(st.one_of(st.floats(-200, 200, width=32), st.just(-np.inf)), min_size=10, max_size=10))
def test_nothing_is_lowered_and_probabilities_stay_in_range(values: list[float]) -> None:
    columns, begins = _columns(TABLE)
    before = np.full(len(columns.pieces), -9.0, np.float32)
    before[begins[1:11]] = values
    after: Floats = _smoothed(before, columns)
    assert (after >= before).all()
    assert ((probabilities(after) >= 0) & (probabilities(after) <= 1)).all()
