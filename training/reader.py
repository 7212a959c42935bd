"""Trains the reader on reading data, the sets of the recipe and generated documents together.

    python -m training.reader prepare ../shared/data runs/reader
    python -m training.reader train runs/reader --steps 12000
    python -m training.reader export runs/reader runs/reader/model --share 0.75

`prepare` and `train` go on where they were interrupted. `train` takes the sources that are prepared when it starts; it
begins with the shipped weights, or with `--start pretrained` with the published encoder. `export` writes the mean of
the weights before and after, with this share of those after.
"""

from __future__ import annotations

import argparse
import math
import pickle
import random
import signal
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from cinnabar.engine.models.backend import device_of
from cinnabar.engine.models.identity import about as about_model
from cinnabar.engine.models.identity import model_folder
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.loading import load_network
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.training.examples import LabelledPassage
from cinnabar.engine.training.pool import TrainingSource
from cinnabar.engine.training.targets import SlotTarget
from cinnabar.engine.training.trainer import CHECKPOINT, TrainingConfig, train
from cinnabar.errors import UsageError
from training.generator.family import load_family
from training.generator.generator import FAMILIES
from training.kept import keep
from training.labelled import set_source
from training.lexicon import fit_letters
from training.pretrained import pretrained_folder, start_from_pretrained
from training.purposes import purposes_source
from training.reading_data import SUFFIX, reading_source
from training.recipe import load_recipe
from training.runs import WITHHELD
from training.synthetic import mined_again, mined_source, synthetic_source
from training.value_kinds import kinds_of
from training.whole_model import save_network

#: The most passages of a reading set, and of any source in memory at once: a passage takes 100 kB there.
PASSAGES, HELD = 4000, 1200
#: Sources of printed labels: their number, the passages that they take of each other source, and their weight.
GROUPS, OF_EACH, LABELS = 6, 90, 25.0
#: Mails of many purposes.
MAILS = 2500
#: What a run begins with, and the file of the run that tells it.
_STARTS, _STARTED = ("shipped", "pretrained"), "start.txt"
#: The share of reading data among the drawn sources, and the weight of a labelled set of weight 1 in the recipe beside
#: generated documents. With .6 and 1 a training read unseen kinds better and forgot the sets (training/log.md).
READING, SETS = 0.3, 10.0


def prepare(data: Path, run: Path) -> None:
    """Writes the sources of the run that are not there yet: reading data, sets, mined texts, families."""
    cache = run / "pool"
    wordpieces = WordPieces(model_folder("default") / "vocab.txt")
    for source in _sources(data, cache, wordpieces):
        keep(cache / f"{source.name}.pickle", source)
        print(f"{source.name}: {len(source.train)} passages", flush=True)


def _sources(data: Path, cache: Path, wordpieces: WordPieces) -> Iterator[TrainingSource]:
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
        if not load_family(family).held_out and missing(f"synthetic_{family}"):
            made = recipe.family(family)
            yield synthetic_source(family, made.documents, 1, wordpieces, made.weight)
    if missing("purposes"):
        yield purposes_source(wordpieces, MAILS, LABELS)
    rng = random.Random(0)
    printed = [path for path in sorted(cache.glob("*.pickle")) if not path.name.startswith(("reading", "mined"))]
    for first in range(GROUPS):
        if missing(f"mined_labels_{first}"):
            drawn: list[LabelledPassage] = []
            for path in printed[first::GROUPS]:
                source: TrainingSource = pickle.loads(path.read_bytes())
                drawn += rng.sample(source.train, min(OF_EACH, len(source.train)))
            yield mined_again(drawn, f"mined_labels_{first}", wordpieces, LABELS)


def balanced(sources: list[TrainingSource], share: float = READING) -> list[TrainingSource]:
    """Returns the sources with weights that give reading data this share, and more to the sets than the recipe does.

    Large reading sets and weights of sets count by their root.
    """
    reading = [s for s in sources if s.name.startswith("reading_")]
    others = [s for s in sources if not s.name.startswith("reading_")]
    for source in reading:
        source.weight = math.sqrt(len(source.train))
    of_recipe = load_recipe().sets
    for source in others:
        if source.name in of_recipe:
            source.weight = SETS * math.sqrt(source.weight)
    whole = sum(s.weight for s in reading)
    rest = sum(s.weight for s in others) or 1.0
    for source in reading:
        source.weight *= share / (1 - share) * rest / whole
    return [*reading, *others]


def _held(folder: Path) -> Iterator[TrainingSource]:
    """Yields the sources with a draw of their passages, another one at each start."""
    for path in sorted(folder.glob("*.pickle")):
        source: TrainingSource = pickle.loads(path.read_bytes())
        source.train = random.sample(source.train, min(HELD, len(source.train)))
        yield source


def targets_of(source: TrainingSource) -> Iterator[SlotTarget]:
    """Yields the targets of a source's passages."""
    for passage in source.train:
        yield from passage.scalars
        for row in passage.rows:
            yield from row


def run_training(run: Path, steps: int, start: str, device: str) -> None:
    """Trains from the shipped weights or the pretrained encoder, or goes on from the run's checkpoint."""
    run.mkdir(parents=True, exist_ok=True)
    (run / _STARTED).write_text(start)
    sources = balanced([*_held(run / "pool")])
    of_reading = sum(s.name.startswith("reading_") for s in sources)
    print(f"{len(sources)} sources, {of_reading} of reading data; withheld: {', '.join(WITHHELD)}", flush=True)
    torch.manual_seed(0)
    base = TrainingConfig(sources=8, steps=steps, save_every=180.0)
    if start == "pretrained":
        wordpieces = WordPieces(pretrained_folder() / "vocab.txt")
        network = Network()
        start_from_pretrained(network)
        if not (run / CHECKPOINT).exists():
            print("fitting letter vectors to the lexicon (takes some minutes)", flush=True)
            network.letters.weight.copy_(fit_letters(wordpieces))
    else:
        network, wordpieces = load_network(model_folder("default"))
        base = replace(base, decoder_rate=2e-4, new_rate=1e-3, seed=1, decay=0.35)
    kinds = kinds_of(t.question.label for s in sources if s.name.startswith("reading_") for t in targets_of(s))
    report = partial(print, flush=True)
    train(network, sources, wordpieces, base, run, report, device_of(device), kinds=kinds)


def export(run: Path, out: Path, share: float) -> None:
    """Writes the network of the checkpoint as a model's folder; the shipped weights keep the rest of the `share`.

    The mean of weights before and after a training keeps what the training does not repeat (Wortsman et al. 2022,
    "Robust fine-tuning of zero-shot models", arXiv 2109.01903).
    """
    folder = model_folder("default")
    network, _ = load_network(folder)
    before = network.state_dict()
    goes_on = not (run / _STARTED).exists() or (run / _STARTED).read_text() == "shipped"
    if share < 1 and not goes_on:
        raise UsageError("--share: the mean is taken with the shipped weights, from which this run did not start")
    kept = torch.load(run / CHECKPOINT, map_location="cpu", weights_only=True)
    mean = {
        # What is new in this training has no weights before it.
        name: after if name.startswith("tag_") else torch.lerp(before[name].float(), after.float(), share)
        for name, after in kept["network"].items()
    }
    network.load_state_dict(mean)
    stated = about_model(folder)
    trained_on = {path.stem for path in (run / "pool").glob("*.pickle")}
    about = {
        "name": stated["name"],
        "encoder": stated["encoder"],
        "minutes": round((stated["minutes"] if goes_on else 0.0) + kept["spent"] / 60, 1),
        "sources": sorted(trained_on | ({*stated["sources"]} if goes_on else set())),
    }
    save_network(out, network, folder / "vocab.txt", about)
    print(f"{out}: after {kept['step']} steps, {share:.0%} of them")


def command() -> argparse.Namespace:
    """Returns the command that was given.

    A training that is ended writes its checkpoint, in the background too, where a shell has its children ignore the
    keyboard.
    """
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    preparing, training, exporting = (commands.add_parser(name) for name in ("prepare", "train", "export"))
    preparing.add_argument("data", type=Path)
    for one in (preparing, training, exporting):
        one.add_argument("run", type=Path)
    training.add_argument("--steps", type=int, default=12_000)
    training.add_argument("--start", choices=_STARTS, default="shipped")
    training.add_argument("--device", default="cpu")
    exporting.add_argument("out", type=Path)
    exporting.add_argument("--share", type=float, default=1.0)
    return parser.parse_args()


def main() -> None:
    """Runs the command of the module's docstring."""
    asked = command()
    if asked.command == "prepare":
        prepare(asked.data, asked.run)
    elif asked.command == "train":
        run_training(asked.run, asked.steps, asked.start, asked.device)
    else:
        export(asked.run, asked.out, asked.share)


if __name__ == "__main__":
    main()
