"""Trains the small diffusion model from nothing, on generated pages."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from cinnabar.engine.models.language.checkpoint import save_decoder
from cinnabar.engine.models.language.language_model import LanguageModel, fresh_language_model
from cinnabar.engine.training.diffusion.examples import Example, answered
from cinnabar.engine.training.diffusion.trainer import DiffusionTraining, train_diffusion
from training.diffusion.pages import Pages, page_messages
from training.diffusion.small_model import make_small_model

#: Fields of a page at first and at last, and the share of the schedule in which they rise: short pages are learned
#: first.
_FEWEST, _MOST, _RISE = 3, 12, 0.4
#: The share of pages that have two answers: their records are so short that a tenth of the pages were a fiftieth of
#: the tokens.
_TWO_ANSWERS = 0.3


def train_small_model(
    folder: Path,
    config: DiffusionTraining,
    device: torch.device | str = "cpu",
    report: Callable[[dict[str, float]], None] = lambda _: None,
) -> Path:
    """Trains the model in `folder`/model, or goes on with it; returns that folder."""
    made = folder / "model"
    if not (made / "config.json").is_file():
        make_small_model(made, config.seed)
    model = fresh_language_model(made, "cpu", "float32")
    decoder = model.decoder.requires_grad_(True)

    def draw(count: int, share: float, rng: random.Random) -> Sequence[Example]:
        most = round(_FEWEST + (_MOST - _FEWEST) * min(1.0, share / _RISE))
        return page_examples(model, Pages(most=most, two_answers=_TWO_ANSWERS), count, rng)

    train_diffusion(decoder, draw, model.tokenizer.end, config, folder, report, device)
    save_decoder(made, decoder.to(torch.bfloat16))
    return made


def page_examples(model: LanguageModel, pages: Pages, count: int, rng: random.Random) -> list[Example]:
    """Returns examples of freshly drawn pages."""
    found = []
    for _ in range(count):
        page = pages.draw(rng)
        record = json.dumps(page.record, ensure_ascii=False)
        found.append(answered(model, page_messages(page), record))
    return found
