"""The scheduler: it packs requests into batches."""

from __future__ import annotations

import pytest

from cinnabar.engine.scheduler import pack


@pytest.mark.parametrize(
    ("costs", "budget", "batches"),
    [
        ([], 10, []),
        ([5, 5, 1], 10, [[0, 1], [2]]),
        ([5, 6, 4, 1], 10, [[0], [1, 2], [3]]),
        ([50, 1, 1], 10, [[0], [1, 2]]),
        ([1, 50, 1], 10, [[0], [1], [2]]),
    ],
    ids=["nothing", "exactly full", "one more", "too large at first", "too large in between"],
)
def test_requests_are_packed_in_their_order(costs: list[int], budget: int, batches: list[list[int]]) -> None:
    assert pack(costs, budget) == batches
