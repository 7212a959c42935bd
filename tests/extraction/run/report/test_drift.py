"""The tests behind a report's comparisons agree with SciPy's, and false alarms stay as rare as promised."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.support.effort import examples

from cinnabar.extraction.run.report.drift import Share, chi_squared, distance, fisher, holm, is_large_shift

PAIR = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(PAIR, PAIR)
@examples(200)
def test_the_exact_test_is_fishers(now: tuple[int, int], before: tuple[int, int]) -> None:
    wanted = stats.fisher_exact([[now[0], now[1] - now[0]], [before[0], before[1] - before[0]]])[1]
    assert fisher(now, before) == pytest.approx(wanted, rel=1e-6)


def test_the_test_of_distributions_is_pearsons() -> None:
    now, before = [30, 40, 50, 0], [100, 100, 200, 0]
    assert chi_squared(now, before) == pytest.approx(stats.chi2_contingency([now[:3], before[:3]]).pvalue)
    assert chi_squared([1, 0], [0, 1]) == 1.0 == chi_squared([0, 0], [5, 9]) == chi_squared([], [])


@given(st.tuples(st.integers(0, 9), st.integers(0, 9)), st.tuples(st.integers(0, 9), st.integers(0, 9)))
@examples(60)
def test_few_documents_are_compared_by_permutations(now: tuple[int, int], before: tuple[int, int]) -> None:
    """Of two columns the permutation test is Fisher's, up to which of two sides is the farther one."""
    if not sum(now) or not sum(before):
        return
    rows, columns = (sum(now), sum(before)), (now[0] + before[0], now[1] + before[1])
    expected = rows[0] * columns[0] / sum(rows)
    tables = range(max(0, rows[0] - columns[1]), min(rows[0], columns[0]) + 1)
    chances = stats.hypergeom(sum(rows), columns[0], rows[0])
    wanted = sum(chances.pmf(k) for k in tables if abs(k - expected) >= abs(now[0] - expected) - 1e-9)
    least = min(rows[0], rows[1]) * min(columns) / sum(rows)
    if least < 5:
        assert chi_squared(now, before) == pytest.approx(wanted, abs=0.06)


def test_eight_documents_that_are_unlike_all_earlier_ones_are_told() -> None:
    now, before = [0, 0, 0, 3, 5, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 2, 7, 10]
    assert chi_squared(now, before) < 0.0001
    assert chi_squared(now, now) == 1.0


def test_many_documents_are_compared_in_little_time_and_alike() -> None:
    large = Share((5_200, 100_000), (5_000, 100_000))
    assert large.p == pytest.approx(stats.chi2_contingency([[5200, 94800], [5000, 95000]], correction=False).pvalue)
    assert Share((0, 0), (3, 9)).p == 1.0
    assert Share((9, 10), (1, 10)).difference == pytest.approx(0.8)


def test_p_values_are_corrected_by_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0]) and holm([]) == []


def test_equal_runs_raise_hardly_any_alarm() -> None:
    draw = random.Random(7)
    alarms = 0
    for _ in range(300):
        counts = [[sum(draw.random() < 0.2 for _ in range(size)) for size in (40, 80)] for _ in range(20)]
        alarms += min(holm([Share((now, 40), (before, 80)).p for now, before in counts])) < 0.01
    assert alarms <= 9


def test_a_small_shift_of_confidence_is_no_alarm_however_sure_it_is() -> None:
    now, before = [0, 0, 4000, 1000], [0, 0, 3600, 1400]
    assert chi_squared(now, before) < 1e-9
    assert not is_large_shift(now, before, (0.84, 0.86)) and is_large_shift(now, before, (0.66, 0.86))


def test_the_distance_is_the_share_that_would_have_to_move() -> None:
    assert distance([5, 5], [10, 0]) == pytest.approx(0.5) and distance([1], [9]) == 0.0
    assert distance([0, 0], [1, 1]) == 0.0
