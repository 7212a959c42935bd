"""Trains the small diffusion model from nothing, on generated pages, or goes on with an interrupted training.

    python -m training.diffusion.recipe --minutes 95 --out runs/small
"""

from __future__ import annotations

import argparse
import json
import random
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

import torch

from cinnabar.apps.cli.training_report import ProgressLines, make_folder
from cinnabar.engine.backend import device_of
from cinnabar.engine.models.language.checkpoint import save_decoder
from cinnabar.engine.models.language.language_model import LanguageModel, fresh_language_model
from cinnabar.engine.training.diffusion.examples import Example, answered
from cinnabar.engine.training.diffusion.trainer import DiffusionTraining, train_diffusion
from cinnabar.extraction.plan.run_options import Device
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
    save_decoder(made, decoder.to(torch.bfloat16), writes_records=True)
    return made


def page_examples(model: LanguageModel, pages: Pages, count: int, rng: random.Random) -> list[Example]:
    """Returns examples of freshly drawn pages."""
    found = []
    for _ in range(count):
        page = pages.draw(rng)
        record = json.dumps(page.record, ensure_ascii=False)
        found.append(answered(model, page_messages(page), record))
    return found


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the run: checkpoint and model/")
    parser.add_argument("--minutes", type=float, default=95.0)
    parser.add_argument("--steps", type=int, help="the length of the schedule, in place of minutes")
    parser.add_argument("--device", choices=get_args(Device), default="auto")
    asked = parser.parse_args()
    # The trainer writes its checkpoint after a KeyboardInterrupt.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    make_folder(asked.out)
    config = DiffusionTraining(minutes=asked.minutes, steps=asked.steps)
    made = train_small_model(asked.out, config, device_of(asked.device), ProgressLines(asked.minutes))
    print(f"use it with: --model {made}")


if __name__ == "__main__":
    main()
