"""The losses: every part is there, finite and falling."""

from __future__ import annotations

import random

import pytest
import torch
from tests.support.tiny_network import bills, tiny_network, wordpieces

from cinnabar.engine.training.batches import collate
from cinnabar.engine.training.objective import WEIGHTS, losses, total
from cinnabar.engine.training.trainer import TrainingConfig, optimizer_for

TWO = [(p, p.windows[0]) for p in bills(2)]


def test_every_part_of_the_loss_is_finite_and_reaches_the_network() -> None:
    network = tiny_network().train()
    seen: set[str] = set()
    for seed in range(6):
        parts = losses(network, collate(TWO, wordpieces(), random.Random(seed), {"seller": 1}))
        seen |= parts.keys()
        assert all(v.isfinite() and v >= 0 for v in parts.values()), parts
        total(parts).backward()
    assert seen == WEIGHTS.keys()
    trained = [n for n, p in network.named_parameters() if p.requires_grad]
    without = [n for n in trained if network.get_parameter(n).grad is None]
    assert not without
    assert network.encoder.words.weight.grad is None


def test_the_total_weighs_its_parts() -> None:
    assert total({"start": torch.tensor(2.0), "row_ranks": torch.tensor(1.0)}) == 2 * 1.0 + 1 * 0.5


def test_padding_does_not_count() -> None:
    network = tiny_network().eval()
    batch = collate(TWO[:1], wordpieces(), random.Random(0))
    alone = losses(network, batch)
    wide = collate(TWO[:1], wordpieces(), random.Random(0))
    page = wide.sheet
    for name, fill in (("ids", 0), ("mask", 0), ("around", 0), ("line", -1), ("cell", 0), ("above", 0)):
        old = getattr(page, name)
        more = torch.full((1, 32, *old.shape[2:]), fill, dtype=old.dtype)
        setattr(page, name, torch.cat([old, more], 1))
    for name in ("starts", "ends", "rows"):
        old = getattr(wide.targets, name)
        setattr(wide.targets, name, torch.nn.functional.pad(old, (0, 32)))
    padded = losses(network, wide)
    for name, value in alone.items():
        assert torch.allclose(value, padded[name], atol=1e-4), name


@pytest.mark.slow
def test_the_loss_falls_where_a_small_network_sees_two_windows_again_and_again() -> None:
    network = tiny_network().train()
    optimizer = optimizer_for(network, TrainingConfig(1, encoder_rate=3e-3, decoder_rate=3e-3, new_rate=1e-2))
    batch = collate(TWO, wordpieces(), random.Random(0))
    seen: list[float] = []
    for _ in range(30):
        loss = total(losses(network, batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(float(loss.detach()))
    assert seen[-1] < 0.5 * seen[0]
