"""Trains the reader on reading data and on the sets together, starting from the shipped weights.

    python -m training.reader prepare ../shared/data runs/reader
    python -m training.reader train runs/reader --steps 12000
    python -m training.reader export runs/reader runs/reader/model

`prepare` and `train` go on where they were interrupted. `train` takes the sources that are prepared when it starts.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from cinnabar.engine.models.identity import model_folder
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.loading import load_network, save_network
from cinnabar.engine.training.pool import Source
from cinnabar.engine.training.trainer import CHECKPOINT, TrainingConfig, train
from training.generator.generator import FAMILIES
from training.labelled import set_source
from training.prepared import load_sources, save_source
from training.reading_data import SUFFIX, reading_source
from training.recipe import load_recipe
from training.runs import WITHHELD, command
from training.synthetic import mined_source, synthetic_source

#: The most passages of a reading set, and of any source in memory at once: a passage takes 100 kB there.
PASSAGES, HELD = 4000, 1200
#: The share of reading data among the drawn sources.
READING = 0.6


def prepare(data: Path, run: Path) -> None:
    """Writes the sources of the run that are not there yet: reading data, sets, mined texts, families."""
    cache = run / "pool"
    wordpieces = WordPieces(model_folder("default") / "vocab.txt")
    for source in _sources(data, cache, wordpieces):
        save_source(source, cache)
        print(f"{source.name}: {len(source.train)} passages", flush=True)


def _sources(data: Path, cache: Path, wordpieces: WordPieces) -> Iterator[Source]:
    recipe = load_recipe()

    def missing(name: str) -> bool:
        return not (cache / f"{name}.pickle").exists()

    for path in sorted((data / "reading").glob(f"*{SUFFIX}")):
        if missing(f"reading_{path.name.removesuffix(SUFFIX)}"):
            yield reading_source(path, wordpieces, 1.0, PASSAGES)
    for name, settings in recipe.sets.items():
        if name not in WITHHELD and missing(name):
            yield set_source(data / name, wordpieces, settings)
    for path in sorted((data / "text").glob("*.jsonl.xz")):
        if missing(f"mined_{path.name.split('.')[0]}"):
            yield mined_source(path, recipe.mined, wordpieces)
    for family in FAMILIES:
        if missing(f"synthetic_{family}"):
            made = recipe.family(family)
            yield synthetic_source(family, made.documents, 1, wordpieces, made.weight)


def balanced(sources: list[Source], share: float = READING) -> list[Source]:
    """Returns the sources with weights that give reading data this share; large reading sets count by their root."""
    reading = [s for s in sources if s.name.startswith("reading_")]
    others = [s for s in sources if not s.name.startswith("reading_")]
    for source in reading:
        source.weight = math.sqrt(len(source.train))
    whole = sum(s.weight for s in reading)
    rest = sum(s.weight for s in others) or 1.0
    for source in reading:
        source.weight *= share / (1 - share) * rest / whole
    return [*reading, *others]


def _held(folder: Path) -> Iterator[Source]:
    """Yields the sources with a draw of their passages, another one at each start."""
    for path in sorted(folder.glob("*.pickle")):
        (source,) = load_sources(folder, path.name)
        source.train = random.sample(source.train, min(HELD, len(source.train)))
        source.held_back = []
        yield source


def run_training(run: Path, steps: int) -> None:
    """Trains from the shipped weights, or goes on from the run's checkpoint."""
    sources = balanced([*_held(run / "pool")])
    kinds = f"{sum(s.name.startswith('reading_') for s in sources)} of reading data"
    print(f"{len(sources)} sources, {kinds}; withheld: {', '.join(WITHHELD)}", flush=True)
    folder = model_folder("default")
    network, _ = load_network(folder)
    torch.manual_seed(0)
    base = TrainingConfig(decoder_rate=2e-4, new_rate=1e-3, seed=1, decay=0.35, sources=8)
    config = replace(base, steps=steps, save_every=180.0)
    wordpieces = WordPieces(folder / "vocab.txt")
    train(network, sources, wordpieces, config, run, lambda row: print(row, flush=True), "cpu")


def export(run: Path, out: Path) -> None:
    """Writes the network of the checkpoint as a model's folder."""
    folder = model_folder("default")
    network, _ = load_network(folder)
    kept = torch.load(run / CHECKPOINT, map_location="cpu", weights_only=True)
    network.load_state_dict(kept["network"])
    about = {"name": "cinnabar-reading", "steps": kept["step"], "minutes": round(kept["spent"] / 60, 1)}
    save_network(out, network, folder / "vocab.txt", about)
    print(f"{out}: after {kept['step']} steps")


def main() -> None:
    """Runs the command of the module's docstring."""
    asked = command(__doc__, {"steps": 12_000})
    if asked.command == "prepare":
        prepare(asked.data, asked.run)
    elif asked.command == "train":
        run_training(asked.run, asked.steps)
    else:
        export(asked.run, asked.out)


if __name__ == "__main__":
    main()
