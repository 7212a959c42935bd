"""Lines that look alike tell one another whether an item begins in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiny_network import wordpieces

from cinnabar.engine.models.default.alike import MOST, likened, probabilities
from cinnabar.engine.models.default.columns import Columns
from cinnabar.engine.models.default.naming import Floats

TABLE = "\n".join(["Item    Price", *(f"bolt    {n},50" for n in range(10, 30)), "Total    see below"])


def _of(text: str, odds: dict[int, float]) -> tuple[Floats, Floats, Columns]:
    """What is told of a text whose lines have these log odds at their first piece, -9 elsewhere."""
    columns = Columns(wordpieces().pieces(text))
    begins = np.flatnonzero(np.diff(columns.pieces.line, prepend=-1) > 0)
    before = np.full(len(columns.pieces), -9.0, np.float32)
    for line, value in odds.items():
        before[begins[line]] = value
    return before, likened(before, columns), columns


def test_a_doubtful_line_among_lines_that_begin_items_begins_one() -> None:
    before, after, columns = _of(TABLE, {line: -2.0 if line == 7 else 4.0 for line in range(1, 21)})
    raised = np.flatnonzero(after > before)
    assert columns.pieces.line[raised].tolist() == list(range(1, 21))
    doubtful = int(raised[6])
    assert before[doubtful] == -2.0
    assert after[doubtful] == pytest.approx(before[doubtful] + np.log(19.2 / 0.8), abs=0.2)


def test_lines_of_other_cells_and_other_places_are_told_nothing() -> None:
    before, after, columns = _of(TABLE, dict.fromkeys(range(1, 21), 4.0))
    told = columns.pieces.line[after > before]
    assert 0 not in told and 21 not in told
    prose = "\n".join(f"bolt {n},50 and so on" for n in range(10, 30))
    before, after, _ = _of(prose, dict.fromkeys(range(1, 20), 4.0))
    assert (before == after).all()


def test_lines_most_of_which_begin_nothing_are_left_as_they_are() -> None:
    before, after, _ = _of(TABLE, {3: 4.0, 4: 4.0, 5: -1.0})
    assert (before == after).all()


def test_two_lines_are_too_few_to_tell() -> None:
    before, after, _ = _of("bolt    1,50\nnut    2,50\n", {0: 4.0, 1: 4.0})
    assert (before == after).all()


@given(st.lists(st.one_of(st.floats(-200, 200, width=32), st.just(-np.inf)), min_size=20, max_size=20))
def test_nothing_is_lowered_and_nothing_raised_by_more_than_its_limit(values: list[float]) -> None:
    before, after, _ = _of(TABLE, {line + 1: value for line, value in enumerate(values)})
    known = np.isfinite(before)
    assert (after[~known] == -np.inf).all()
    assert (after[known] >= before[known]).all() and (after[known] - before[known] <= MOST + 1e-4).all()
    assert ((probabilities(after) >= 0) & (probabilities(after) <= 1)).all()
