"""Denoising policies: commit and reopen, on small tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch

from cinnabar.engine.step import Shares, is_doubtful, select, weigh

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


def test_refused_candidates_lower_the_allowed_mass_only() -> None:
    got = shares(0.0, [0.0], math.log(2.0))
    assert got.posterior[0].tolist() == [0.5, 0.5]
    assert float(got.log_allowed[0]) == pytest.approx(math.log(0.5), abs=1e-5)


def test_probabilities_are_rounded_so_that_last_bits_decide_nothing() -> None:
    one, other = shares(0.0, [1e-6]), shares(0.0, [0.0])
    none = torch.zeros(1, 2, dtype=torch.bool)
    assert torch.equal(one.posterior, other.posterior)
    assert one.best(none)[0].item() == other.best(none)[0].item() == 0


def test_the_best_choice_is_never_an_excluded_one() -> None:
    got = shares(3.0, [1.0, 2.0])
    assert got.best(torch.tensor([[False] * 3]))[0].item() == 0
    assert got.best(torch.tensor([[True, False, False]]))[0].item() == 2
    index, sure = got.best(torch.tensor([[True] * 3]))
    assert (index.item(), sure.item()) == (-1, 0.0)


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


def test_the_last_step_commits_everything_of_its_request_only() -> None:
    assert pick([0.0, 0.1, 0.1, 0.3], [0, 0, 1, 1], [1, 2]) == [True, True, False, True]


def test_ties_go_to_the_absent_and_then_by_place() -> None:
    assert pick([0.3, 0.3, 0.3], [0] * 3, [3], [False, False, True]) == [False, False, True]
    assert pick([-1, 0.3, 0.3], [0] * 3, [2]) == [False, True, False]


def test_only_a_clearly_better_alternative_causes_doubt() -> None:
    now, other = torch.tensor([0.1, 0.1, 0.3, 0.29999]), torch.tensor([0.5, 0.39, 0.9, 0.9])
    assert is_doubtful(now, other, 0.3, 0.3).tolist() == [True, False, False, False]
