"""A wrong one of several columns of numbers is hardly ever told as sure."""

from __future__ import annotations

import pytest
from bench.column_report import SURE, drawn, told

from cinnabar.engine.engine import Engine
from cinnabar.engine.models.reader.loading import load_model


def test_drawn_tables_print_the_values_that_are_asked_for() -> None:
    for seed in range(40):
        one = drawn(seed)
        assert all(str(number).encode() in one.content for number in one.truth)
        assert bool(one.truth) == (one.kind in ("named", "said"))


@pytest.mark.slow
def test_hardly_any_column_that_is_matched_wrongly_is_told_as_sure() -> None:
    engine = Engine(load_model("default"), "medium")
    found = [told(engine, drawn(seed)) for seed in range(60)]
    sure = [right for chance, right in found if chance >= SURE]
    assert sure.count(False) < 0.02 * len(found)
    # Half of the tables name no column in its words.
    assert len(sure) >= 0.3 * len(found)
