"""Denoising policies: commit and reopen, on small tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch

from cinnabar.engine.fill.step import Shares, select, weigh

INF = float("inf")


def shares(
    absent: float, candidates: list[float], refused: float = -INF, ruled_out: Sequence[bool] = ()
) -> Shares:
    given_up = torch.tensor([[*ruled_out] or [False] * (len(candidates) + 1)])
    return weigh(torch.tensor([absent]), torch.tensor([candidates]), torch.tensor([refused]), given_up)


def test_the_posterior_is_a_softmax_over_absence_and_candidates() -> None:
    got = shares(0.0, [1.0, -INF, 2.0])
    weights = [1.0, math.e, 0.0, math.e**2]
    want = torch.tensor([w / sum(weights) for w in weights])
    assert torch.allclose(got.posterior[0], want, atol=6e-5)
    assert got.possible[0].tolist() == [True, True, False, True]
    assert float(got.log_allowed[0]) == 0.0


def test_choices_that_are_given_up_have_no_share() -> None:
    got = shares(9.0, [1.0, 1.0], ruled_out=[True, False, False])
    assert got.posterior[0].tolist() == [0.0, 0.5, 0.5]
    everything = math.exp(9) + 2 * math.e
    assert float(got.log_allowed[0]) == pytest.approx(math.log(2 * math.e / everything), abs=1e-4)


def test_probabilities_are_rounded_so_that_last_bits_decide_nothing() -> None:
    one, other = shares(0.0, [1e-6]), shares(0.0, [0.0])
    none = torch.zeros(1, 2, dtype=torch.bool)
    assert torch.equal(one.posterior, other.posterior)
    assert one.best(none)[0].item() == other.best(none)[0].item() == 0


def pick(
    confidence: list[float],
    request: list[int],
    remaining: list[int],
    absent: list[bool] | None = None,
    threshold: float = 0.9,
) -> list[bool]:
    """Which slots are committed; those with a negative confidence are not offered."""
    table = torch.tensor(confidence)
    first = torch.tensor(absent or [False] * len(confidence))
    found: list[bool] = select(
        table >= 0, table, first, torch.tensor(request), torch.tensor(remaining), threshold
    ).tolist()
    return found


def test_everything_at_the_threshold_is_committed() -> None:
    assert pick([0.9, 0.95, -1, 0.2, 0.89994], [0] * 5, [100]) == [True, True, False, False, False]


def test_at_least_an_equal_share_is_committed_the_most_confident_first() -> None:
    assert pick([0.1, 0.3, 0.2, 0.4], [0] * 4, [2]) == [False, True, False, True]
    assert pick([0.1, 0.3, 0.2], [0] * 3, [2]) == [False, True, True]


def test_ties_go_to_the_absent_and_then_by_place() -> None:
    assert pick([0.3, 0.3, 0.3], [0] * 3, [3], [False, False, True]) == [False, False, True]
    assert pick([-1, 0.3, 0.3], [0] * 3, [2]) == [False, True, False]
