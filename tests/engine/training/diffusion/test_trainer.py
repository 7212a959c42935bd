"""Training of small models of the families that predict the next position."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.support.effort import first

from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits, Visibility
from cinnabar.engine.training.diffusion.examples import Noise, TokenExample
from cinnabar.engine.training.diffusion.trainer import DiffusionTraining, train_diffusion

MASK, END = 30, 31


@pytest.mark.parametrize("visibility", first(1, ["block_causal", "token_causal"]))
def test_answers_are_learned_by_heart_with_logits_for_the_next_position(
    visibility: Visibility, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    traits = Traits("sdar", 32, 32, 2, 2, 1, 16, 64, 1e-6, 128, visibility, 4, MASK, True, qk_norm=True, tied=True)
    examples = [TokenExample((1, 2, 3), (7, 8, 9, 10, 11, END)), TokenExample((3, 2), (1, 5, END))]
    config = DiffusionTraining(steps=120, batch=128, rate=1e-2, matrix_rate=None, noise=Noise(wrong=0.1))
    rows: list[dict[str, float]] = []
    decoder = Decoder(traits)
    train_diffusion(decoder, lambda count, _, rng: rng.choices(examples, k=count), END, config, tmp_path, rows.append)
    assert rows[-1]["right"] > 0.9
    # So is the next token, from which the model answers token by token.
    assert rows[-1]["clean"] < 0.5
