"""Trains the shipped weights by their recipe, or goes on with a training that was interrupted.

    python -m training.shipped ../shared/data --minutes 240 --out runs/default

The folder holds the sets that training/recipe.toml names, and unlabelled texts as `text/*.jsonl.xz`. `--without` leaves
out a set or a text, so that the effect of fine-tuning can be measured on it.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import get_args

import torch

from cinnabar.apps.cli.training_report import ProgressLines, make_folder
from cinnabar.engine.backend import device_of
from cinnabar.engine.models.identity import about as about_model
from cinnabar.engine.models.identity import model_folder
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.loading import load_network, save_network
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.training.pool import Source
from cinnabar.engine.training.trainer import CHECKPOINT, TrainingConfig, train
from cinnabar.extraction.plan.run_options import Device
from cinnabar.schemas.errors import UsageError
from training.generator.generator import FAMILIES
from training.labelled import set_source, truths_of
from training.lexicon import fit_letters
from training.prepared import load_sources, save_source
from training.pretrained import SHA256, pretrained_folder, start_from_pretrained
from training.recipe import load_recipe
from training.synthetic import mined_source, synthetic_source

_Report = Callable[[dict[str, float]], None]


def shipped_sources(
    data: Path, cache: Path, say: Callable[[str], None], without: Collection[str] = ()
) -> list[Source]:
    """Returns the sources of the shipped weights: the recipe's sets below `data`, and every generated family.

    `cache` keeps each source, so that an interrupted run continues. `without` names sets, and files of unlabelled text,
    to leave out. Raises UsageError if such a name is unknown.
    """
    wordpieces = WordPieces(pretrained_folder() / "vocab.txt")
    recipe = load_recipe()
    texts = {path.name.split(".")[0]: path for path in sorted((data / "text").glob("*.jsonl.xz"))}
    if unknown := sorted(set(without) - {*recipe.sets, *texts}):
        raise UsageError(f"--without {unknown[0]}: expected one of {', '.join([*recipe.sets, *texts])}")
    for name, settings in recipe.sets.items():
        if name not in without and not (cache / f"{name}.pickle").exists():
            truths_of(data / name)
            save_source(set_source(data / name, wordpieces, settings), cache)
            say(f"prepared {name}")
    for family in FAMILIES:
        if not (cache / f"synthetic_{family}.pickle").exists():
            made = recipe.family(family)
            save_source(synthetic_source(family, made.documents, 1, wordpieces, made.weight), cache)
            say(f"generated {family}")
    for name, path in texts.items():
        if name not in without and not (cache / f"mined_{name}.pickle").exists():
            save_source(mined_source(path, recipe.mined, wordpieces), cache)
            say(f"mined {path.name}")
    left_out = {*without, *(f"mined_{name}" for name in without)}
    return [source for source in load_sources(cache) if source.name not in left_out]


def train_shipped(
    data: Path,
    out: Path,
    base: str | None,
    minutes: float,
    device: str,
    report: _Report,
    say: Callable[[str], None],
    without: Collection[str] = (),
) -> None:
    """Trains the shipped weights by their recipe; an interrupted run continues from its checkpoint.

    Training begins with the pretrained encoder, or continues from the weights of `base` with lower rates. It leaves out
    the sets named in `without`, so that the effect of fine-tuning can be measured on them.
    """
    begun = None if base is None else model_folder(base)
    sources = shipped_sources(data, out / "pool", say, without)
    torch.manual_seed(0)
    config, spent = TrainingConfig(minutes), 0.0
    vocabulary = pretrained_folder() / "vocab.txt"
    wordpieces = WordPieces(vocabulary)
    if begun is None:
        network = Network()
        start_from_pretrained(network)
        if not (out / CHECKPOINT).exists():
            say("fitting letter vectors to the lexicon (takes some minutes)")
            network.letters.weight.copy_(fit_letters(wordpieces))
    else:
        network, _ = load_network(begun)
        config = replace(config, decoder_rate=2e-4, new_rate=1e-3, decay=0.35, seed=1)
        spent = float(about_model(begun).get("minutes", 0.0))
    train(network, sources, wordpieces, config, out, report, device_of(device))
    about = {
        "name": "cinnabar-default",
        "encoder": {"from": "all-MiniLM-L6-v2", "licence": "Apache-2.0", "sha256": SHA256},
        "minutes": round(spent + minutes, 1),
        "sources": sorted(s.name for s in sources if s.train),
    }
    save_network(out / "model", network.cpu(), vocabulary, about)


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder that holds the sets")
    parser.add_argument("--out", type=Path, required=True, help="the run: prepared sources, checkpoint, then model/")
    parser.add_argument("--minutes", type=float, default=240.0)
    parser.add_argument("--device", choices=get_args(Device), default="auto")
    parser.add_argument("--model", metavar="BASE", help="weights to go on from, in place of the pretrained encoder")
    parser.add_argument("--without", action="append", default=[], metavar="SET", help="a set or text to leave out")
    asked = parser.parse_args()
    # The trainer writes its checkpoint after a KeyboardInterrupt.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    make_folder(asked.out)
    progress = ProgressLines(asked.minutes)
    train_shipped(asked.data, asked.out, asked.model, asked.minutes, asked.device, progress, print, asked.without)
    print(f"measure the new weights with: python -m bench.held_back_report SETS --model {asked.out / 'model'}")


if __name__ == "__main__":
    main()
