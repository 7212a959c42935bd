"""The interval of an audit: it holds the truth, and is honest about few documents."""

from __future__ import annotations

import numpy as np
import pytest
from bench.audit_interval import covered
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.extraction.run.report.audit import AuditFigure, share_right

_COUNTS = st.lists(st.integers(0, 40).flatmap(lambda all_: st.tuples(st.integers(0, all_), st.just(all_))), max_size=60)


@given(_COUNTS, st.integers(1, 10_000))
def test_the_interval_is_a_part_of_nothing_to_all_around_the_share(counts: list[tuple[int, int]], more: int) -> None:
    right, values = [one[0] for one in counts], [one[1] for one in counts]
    low, high = share_right(right, values, len(counts) + more)
    assert 0 <= low <= high <= 1
    if sum(values):
        assert low - 1e-9 <= sum(right) / sum(values) <= high + 1e-9
    else:
        assert (low, high) == (0, 1)


def test_a_run_that_is_audited_as_a_whole_has_no_doubt() -> None:
    assert share_right([3, 5], [4, 5], 2) == (8 / 9, 8 / 9)


def test_all_right_in_few_documents_is_no_proof() -> None:
    low, high = share_right([7] * 30, [7] * 30, 600)
    assert 0.85 < low < 0.93 and high == 1
    assert share_right([7] * 200, [7] * 200, 4000)[0] > low


def test_errors_in_one_document_are_less_sure_than_the_same_errors_in_many() -> None:
    spread = share_right([9] * 20 + [10] * 20, [10] * 40, 10_000)
    together = share_right([0, 0] + [10] * 38, [10] * 40, 10_000)
    assert together[1] - together[0] > 1.5 * (spread[1] - spread[0])


@pytest.mark.parametrize(("rate", "together"), [(0.8, 0.3), (0.95, 0.1), (0.995, 0.6)])
def test_the_interval_covers_the_truth_of_simulated_runs(rate: float, together: float) -> None:
    share, _ = covered(rate, together, "skewed", 60, 200, np.random.default_rng(3))
    assert share >= 0.91


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(0.914, 0.963, "91 to 97%"), (0.9915, 0.9984, "99 to 100%"), (0.7, 1.0, "70 to 100%")],
)
def test_the_sentence_rounds_away_from_the_truth(low: float, high: float, shown: str) -> None:
    figure = AuditFigure(1200, 61, 60, 412, low, high)
    rest = "1 marked document left to audit."
    assert figure.sentence == f"{shown} of values right (audit of 60 documents, 412 values); {rest}"
