"""Launches are counted by operation, and fused layers need few of them."""

from __future__ import annotations

import torch
from bench.engine.launches import Launches, figures


def test_views_are_no_launches_and_a_kernel_is_one() -> None:
    launches, x = Launches(), torch.ones(4, 6)
    with launches:
        x.view(2, 12).transpose(0, 1)[1:].unsqueeze(0)[..., :1]
        assert launches.count == 0
        x + x
        with launches.one():
            (x * x).sum()
    assert launches.count == 2


def test_a_layer_of_the_fused_passes_takes_a_dozen_launches() -> None:
    dense = next(figures())
    assert dense.kept and int(dense.got) <= 12
