"""Training from labelled folders: the shipped weights by their recipe, and a user's own model from a base."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from cinnabar.engine.calibration import carry_calibration
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.default.model import DefaultModel
from cinnabar.engine.models.default.network import Network
from cinnabar.engine.models.default.wordpieces import WordPieces
from cinnabar.engine.models.identity import about as about_model
from cinnabar.engine.models.identity import fingerprint_of, model_folder, weights_fingerprint
from cinnabar.engine.models.loading import device_of, load_network, save_network
from cinnabar.engine.training import pool
from cinnabar.engine.training.generator import FAMILIES
from cinnabar.engine.training.pretrained import SHA256, pretrained_folder, start_from_pretrained
from cinnabar.engine.training.recipe import SetRecipe, is_held_back, load_recipe
from cinnabar.engine.training.synthetic import mined_source, synthetic_source
from cinnabar.engine.training.trainer import TrainingConfig, train
from cinnabar.extraction.evaluation import EvaluationSet, find_sets
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.labelled import training_source, truths_of
from cinnabar.extraction.measuring import predict
from cinnabar.extraction.pipeline import Job
from cinnabar.extraction.validation import Validator
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.errors import UsageError

Report = Callable[[dict[str, float]], None]
#: How a user's documents are cut into those that train and those that measure, and the fewest that train.
OWN, FEWEST = SetRecipe(salt="own"), 5


@dataclass(frozen=True, slots=True)
class FineTuning:
    """Settings of `cinnabar train`: gentle rates, since the base knows how to read already."""

    minutes: float = 4.0
    seed: int = 0

    def config(self) -> TrainingConfig:
        """The settings of the training loop."""
        return TrainingConfig(
            minutes=self.minutes, encoder_rate=5e-5, decoder_rate=1e-4, new_rate=3e-4, warmup=0.05, decay=0.5,
            sources=2, each=6, budget=4096, save_every=60.0, seed=self.seed,
        )  # fmt: skip


def shipped_sources(data: Path, cache: Path, say: Callable[[str], None]) -> list[pool.Source]:
    """The sources of the shipped weights: the recipe's sets below `data`, and every generated family.

    Each is kept in `cache` once it is made, so that a run that was cut goes on where it was.
    """
    wordpieces = WordPieces(pretrained_folder() / "vocab.txt")
    recipe = load_recipe()
    for name, settings in recipe.sets.items():
        if not (cache / f"{name}.pickle").exists():
            truths_of(data / name)
            pool.save(training_source(data / name, wordpieces, settings), cache)
            say(f"prepared {name}")
    for family in FAMILIES:
        if not (cache / f"synthetic_{family}.pickle").exists():
            made = recipe.family(family)
            pool.save(synthetic_source(family, made.documents, 1, wordpieces, made.weight), cache)
            say(f"generated {family}")
    for path in sorted((data / "text").glob("*.jsonl.xz")):
        if not (cache / f"mined_{path.name.split('.')[0]}.pickle").exists():
            pool.save(mined_source(path, recipe.mined, wordpieces), cache)
            say(f"mined {path.name}")
    return pool.load(cache)


def train_shipped(
    data: Path,
    out: Path,
    base: str | None,
    minutes: float,
    device: str,
    report: Report,
    say: Callable[[str], None],
) -> None:
    """Train the shipped weights by their recipe; a cut run goes on from its checkpoint.

    It begins with the pretrained encoder, or goes on from the weights of `base`, more gently.
    """
    sources = shipped_sources(data, out / "pool", say)
    torch.manual_seed(0)
    config, spent = TrainingConfig(minutes), 0.0
    if base is None:
        network = Network()
        start_from_pretrained(network)
    else:
        network, _ = load_network(model_folder(base))
        config = replace(config, decoder_rate=2e-4, new_rate=1e-3, decay=0.35, seed=1)
        spent = float(about_model(model_folder(base)).get("minutes", 0.0))
    vocabulary = pretrained_folder() / "vocab.txt"
    train(network, sources, WordPieces(vocabulary), config, out, report, device_of(device))
    about = {
        "name": "cinnabar-default",
        "encoder": {"from": "all-MiniLM-L6-v2", "licence": "Apache-2.0", "sha256": SHA256},
        "minutes": round(spent + minutes, 1),
        "sources": sorted(s.name for s in sources if s.train),
    }
    save_network(out / "model", network.cpu(), vocabulary, about)


@dataclass(frozen=True, slots=True)
class SetResult:
    """What fine-tuning did for one set: documents trained and measured on, F1 of these before and after."""

    name: str
    trained: int
    measured: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class FineTuned:
    """What fine-tuning did, and whether the new model was kept."""

    sets: tuple[SetResult, ...]
    kept: bool


def fine_tune(
    folders: Sequence[Path], base: str | Path, out: Path, settings: FineTuning, device: str, report: Report
) -> FineTuned:
    """Fine-tune a base on labelled sets; the new model is written to `out` only where it measures better.

    A fifth of each set's documents is kept for measuring. Raises UsageError where there are too few.
    """
    folder = model_folder(base)
    network, wordpieces = load_network(folder)
    sources, measured = [], []
    for path in folders:
        source = training_source(path, wordpieces, OWN)
        if len(source.train) < FEWEST or not source.held_back:
            found = len(source.train) + len(source.held_back)
            raise UsageError(
                f"{path}: expected at least {2 * FEWEST} labelled documents that can be read, found {found}"
            )
        sources.append(replace(source, name=_unique(path)))
        own = find_sets(path)[0]
        files = [x["file"] for x in own.truths if is_held_back(x["file"], x["truth"], OWN)]
        measured.append(own.select(files, None))
    before = _figures(measured, DefaultModel(network, wordpieces, "before", device_of(device)))
    working = out / "training" / _key(folders, base, settings)
    train(network, sources, wordpieces, settings.config(), working, report, device_of(device))
    # What is asked for again after its end is trained again, not taken for a run that was cut.
    (working / "checkpoint.pt").unlink()
    after = _figures(measured, DefaultModel(network, wordpieces, "after", device_of(device)))
    results = tuple(
        SetResult(m.name, len(s.train), len(m.truths), b, a)
        for m, s, b, a in zip(measured, sources, before, after, strict=True)
    )
    kept = sum(after) > sum(before)
    if kept:
        about = {
            "name": out.name,
            "base": {"name": str(base), "fingerprint": fingerprint_of(base)},
            "minutes": settings.minutes,
            "sources": sorted(p.name for p in folders),
        }
        save_network(out, network.cpu(), folder / "vocab.txt", about)
        carry_calibration(folder, out, weights_fingerprint(out))
    return FineTuned(results, kept)


def _figures(sets: Sequence[EvaluationSet], model: DefaultModel) -> list[float]:
    """F1 of each set."""
    figures = []
    with ParserPool(1) as pool:
        for one in sets:
            source = load_schema(one.folder / "schema.json")
            job = Job(compile_schema(source.schema), Engine(model), Validator(source), "guess")
            figures.append(float(one.score(predict(one, job, pool))["f1"]))
    return figures


def _key(folders: Sequence[Path], base: str | Path, settings: FineTuning) -> str:
    """Names a run by what it trains on: only the same run goes on where it was cut."""
    truths = [hashlib.sha256((folder / "truth.jsonl").read_bytes()).hexdigest() for folder in folders]
    return hashlib.sha256(repr((truths, fingerprint_of(base), settings)).encode()).hexdigest()[:12]


def _unique(path: Path) -> str:
    return f"{path.name}-{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:6]}"
