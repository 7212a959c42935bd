"""A grown body computes what the small one does."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from bench.engine.growth import Shape, grown

from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits

SMALL = Traits(
    family="tiny", vocabulary=40, width=24, layers=2, heads=3, key_heads=3, head_width=8, inner=20, epsilon=1e-2,
    window=64, visibility="block_causal", block=4, mask=39, qk_norm=True, tied=True,
)  # fmt: skip
LARGE = Shape(width=56, layers=5, heads=7, key_heads=7, inner=33, vocabulary=90)


@pytest.mark.parametrize("tied", [True, False])
def test_a_grown_body_has_the_logits_of_the_small_one(tied: bool) -> None:
    torch.manual_seed(0)
    small = Decoder(replace(SMALL, tied=tied)).eval()
    for weight in small.parameters():
        torch.nn.init.normal_(weight)
    large = grown(small, LARGE)
    tokens, positions = torch.randint(0, 40, (2, 11)), torch.arange(11).expand(2, 11)
    with torch.no_grad():
        wanted = small.logits(small(tokens, positions))
        found = large.logits(large(tokens, positions))
    assert large.traits.layers == 5 and found.shape == (2, 11, 90)
    torch.testing.assert_close(found[..., :40], wanted, rtol=1e-4, atol=1e-4)
    assert not found[..., 40:].any()


def test_a_body_cannot_be_grown_smaller() -> None:
    with pytest.raises(ValueError, match="expected inner of 20 or more, got 10"):
        grown(Decoder(SMALL), replace(LARGE, inner=10))
