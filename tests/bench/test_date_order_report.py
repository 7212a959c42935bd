"""Documents with a date of two meanings: those with a sign of their country are read right, the others are flagged."""

from __future__ import annotations

import pytest
from bench.date_order_report import figures, read_as, read_whole
from bench.dated_documents import dated_documents


@pytest.mark.parametrize("seed", range(3))
def test_dates_with_a_sign_are_right_and_the_others_are_flagged(seed: int) -> None:
    documents = [*dated_documents(seed, 150)]
    counts = figures(documents, [read_as(one) for one in documents])
    assert counts["right"] >= 0.97 * counts["with a sign"] > 100
    assert counts["flagged"] == counts["others"] > 5


@pytest.mark.slow
def test_the_model_reads_them_so() -> None:
    documents = [one for one in dated_documents(5, 60) if one.name.endswith("txt")][:24]
    counts = figures(documents, read_whole(documents))
    assert counts["right"] >= 0.97 * counts["with a sign"] > 0
    assert counts["flagged"] == counts["others"] > 0
