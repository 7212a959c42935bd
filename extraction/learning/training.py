"""Trains the shipped weights by their recipe."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import torch
from training.generator.generator import FAMILIES
from training.lexicon import fit_letters
from training.pretrained import SHA256, pretrained_folder, start_from_pretrained
from training.recipe import load_recipe
from training.synthetic import mined_source, synthetic_source

from cinnabar.engine.models.identity import about as about_model
from cinnabar.engine.models.identity import model_folder
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.loading import device_of, load_network, save_network
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.training import pool
from cinnabar.engine.training.trainer import CHECKPOINT, TrainingConfig, train
from cinnabar.extraction.learning.labelled import training_source, truths_of
from cinnabar.schemas.errors import UsageError

_Report = Callable[[dict[str, float]], None]


def shipped_sources(
    data: Path, cache: Path, say: Callable[[str], None], without: Collection[str] = ()
) -> list[pool.Source]:
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
            pool.save_source(training_source(data / name, wordpieces, settings), cache)
            say(f"prepared {name}")
    for family in FAMILIES:
        if not (cache / f"synthetic_{family}.pickle").exists():
            made = recipe.family(family)
            pool.save_source(synthetic_source(family, made.documents, 1, wordpieces, made.weight), cache)
            say(f"generated {family}")
    for name, path in texts.items():
        if name not in without and not (cache / f"mined_{name}.pickle").exists():
            pool.save_source(mined_source(path, recipe.mined, wordpieces), cache)
            say(f"mined {path.name}")
    left_out = {*without, *(f"mined_{name}" for name in without)}
    return [source for source in pool.load_sources(cache) if source.name not in left_out]


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
    sources = shipped_sources(data, out / "pool", say, without)
    torch.manual_seed(0)
    config, spent = TrainingConfig(minutes), 0.0
    vocabulary = pretrained_folder() / "vocab.txt"
    wordpieces = WordPieces(vocabulary)
    if base is None:
        network = Network()
        start_from_pretrained(network)
        if not (out / CHECKPOINT).exists():
            say("fitting letter vectors to the lexicon (takes some minutes)")
            network.letters.weight.copy_(fit_letters(wordpieces))
    else:
        network, _ = load_network(model_folder(base))
        config = replace(config, decoder_rate=2e-4, new_rate=1e-3, decay=0.35, seed=1)
        spent = float(about_model(model_folder(base)).get("minutes", 0.0))
    train(network, sources, wordpieces, config, out, report, device_of(device))
    about = {
        "name": "cinnabar-default",
        "encoder": {"from": "all-MiniLM-L6-v2", "licence": "Apache-2.0", "sha256": SHA256},
        "minutes": round(spent + minutes, 1),
        "sources": sorted(s.name for s in sources if s.train),
    }
    save_network(out / "model", network.cpu(), vocabulary, about)
