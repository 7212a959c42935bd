"""Fine-tunes a base model on labelled sets and keeps the result only if it reads them better.

The documents of each set are split into three parts: most train, some decide when to stop, and the rest are measured
before and after, so that no choice depends on them. In a small set the last two parts are the same.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cinnabar.engine.engine import Engine
from cinnabar.engine.models.differences import difference, moved
from cinnabar.engine.models.identity import about as about_model
from cinnabar.engine.models.identity import base_of, fingerprint_of, model_folder, weights_fingerprint
from cinnabar.engine.models.loading import device_of, load_network
from cinnabar.engine.models.reader.calibration import carry_calibration
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.model import Reader
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.weights import load_weights, save_difference
from cinnabar.engine.precision import reading_precision
from cinnabar.engine.training.pool import Source
from cinnabar.engine.training.stopping import Patience, Stopping
from cinnabar.engine.training.trainer import CHECKPOINT, TrainingConfig, train
from cinnabar.extraction.documents import Document
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.pipeline import Job, Read
from cinnabar.extraction.planning import passage_of
from cinnabar.extraction.quality.evaluation import EvaluationSet, load_set
from cinnabar.extraction.quality.held_back import mark_of
from cinnabar.extraction.quality.labelled import Labelled, labelled_passages
from cinnabar.extraction.quality.predicting import answers, read_set
from cinnabar.extraction.quality.scoring import Figures
from cinnabar.extraction.records.validation import Validator
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.errors import UsageError

# The fewest labelled documents of a set.
_FEWEST = 10
#: From so many documents on, the stopping part and the measured part are different documents.
APART = 50
#: Most documents of a set in the stopping part and in the measured part: more say little more.
STOPPING, MEASURED = 20, 30
# The number of held-back values whose reading may change by chance.
_CHANCE = 1.5
# Parser processes.
_WORKERS = 2


@dataclass(frozen=True, slots=True)
class FineTuning:
    """Settings of `cinnabar train`.

    minutes: most wall time of training, None for a limit by the number of documents. seed: of all random draws.
    patience: when to measure and to stop. steps: most training steps, instead of minutes; two runs with the same steps
    learn the same.
    """

    minutes: float | None = None
    seed: int = 0
    patience: Patience = field(default_factory=Patience)
    steps: int | None = None

    def config(self, documents: int) -> TrainingConfig:
        """Returns the settings of the training loop for so many documents."""
        minutes = minutes_for(documents) if self.minutes is None else self.minutes
        return TrainingConfig(
            minutes=minutes, encoder_rate=1e-4, decoder_rate=3e-4, new_rate=1e-3, warmup=0.05, decay=0.5,
            sources=1, each=6, budget=4096, save_every=30.0, seed=self.seed,
            steps=self.steps,
        )  # fmt: skip


def minutes_for(documents: int) -> float:
    """Returns the default limit of training in minutes: from about four up to twelve for many documents."""
    return min(12.0, 3.5 + documents / 25)


@dataclass(frozen=True, slots=True)
class Parts:
    """The files of a set by their part; training stops by `checked`."""

    trained: tuple[str, ...]
    checked: tuple[str, ...]
    measured: tuple[str, ...]


def parts_of(files: Sequence[str]) -> Parts:
    """Returns the parts of a set by the hashes of its file names: the same on every machine, in any order."""
    order = sorted(files, key=mark_of)
    measured = min(MEASURED, math.ceil(len(order) / 5))
    if len(order) < APART:
        return Parts(tuple(order[measured:]), tuple(order[:measured]), tuple(order[:measured]))
    apart = measured + min(STOPPING, len(order) // 10)
    return Parts(tuple(order[apart:]), tuple(order[measured:apart]), tuple(order[:measured]))


@dataclass(frozen=True, slots=True)
class SetResult:
    """The result of fine-tuning for one set: the sizes of its training, stopping and measured parts, and its figures.

    apart: true if the last two parts are different documents.
    """

    name: str
    trained: int
    checked: int
    measured: int
    apart: bool
    before: Figures
    after: Figures


@dataclass(frozen=True, slots=True)
class FineTuned:
    """The results of fine-tuning by set, the decision to keep the new model, and its size in bytes."""

    sets: tuple[SetResult, ...]
    kept: bool
    size: int


class _Own:
    """A labelled set of the user, parsed and split into parts."""

    def __init__(self, folder: Path, pool: ParserPool) -> None:
        self.labelled = load_set(folder)
        schema = load_schema(folder / "schema.json")
        self.compiled, self.validator = compile_schema(schema.schema), Validator(schema)
        reads = {read.path: read for read in read_set(self.labelled, pool)}
        self.readable = [file for file, read in reads.items() if isinstance(read.found, Document)]
        self.reads = reads
        if len(self.readable) < _FEWEST:
            raise UsageError(
                f"{folder}: expected at least {_FEWEST} labelled documents that can be read, "
                f"found {len(self.readable)}"
            )
        self.parts = parts_of(self.readable)

    def source(self, wordpieces: WordPieces) -> Source:
        """Returns the training windows of the training part."""
        truths = {line["file"]: line["truth"] for line in self.labelled.truths}
        documents = []
        for file in self.parts.trained:
            found = self.reads[file].found
            assert isinstance(found, Document)
            documents.append(Labelled(file, passage_of(found), truths[file]))
        passages = labelled_passages(documents, self.compiled.form, wordpieces)
        return Source(str(self.labelled.folder), 1.0, passages)

    def figures(self, files: Sequence[str], model: Reader) -> Figures:
        """Returns the figures of a model on these files."""
        some: EvaluationSet = self.labelled.select(files)
        reads: list[Read] = [self.reads[line["file"]] for line in some.truths]
        return some.score(answers(reads, Job(self.compiled, Engine(model), self.validator, "guess")))


def fine_tune(
    folders: Sequence[Path],
    base: str | Path,
    out: Path,
    settings: FineTuning,
    device: str,
    report: Callable[[dict[str, float]], None],
) -> FineTuned:
    """Fine-tunes a base on labelled sets, and writes the new model to `out` only if it measures better.

    An interrupted run continues. The measured model is the one stored. Raises UsageError if a set is invalid or too
    small, or if `out` is the base.
    """
    bottom = model_folder(base)
    below: Path | None = bottom
    while below is not None:
        if out.resolve() == below.resolve():
            raise UsageError(
                f"--out {out}: expected a folder other than that of the base and its own bases, which the "
                "new model needs"
            )
        below = base_of(below)
    network, wordpieces = load_network(bottom)
    with ParserPool(_WORKERS) as pool:
        own = [_Own(folder, pool) for folder in folders]
    place, precision = device_of(device), reading_precision()

    def mean_f1(now: Network) -> float:
        model = Reader(now, wordpieces, "now", place, precision=precision)
        return sum(float(one.figures(one.parts.checked, model)["f1"]) for one in own) / len(own)

    config = settings.config(sum(len(one.readable) for one in own))
    before = _measure(own, Reader(network, wordpieces, "before", place, precision=precision))
    working = out / "training" / _key(folders, base, settings)
    shares = (len(one.parts.checked) / len(one.parts.measured) for one in own)
    values = sum(float(b["support"]) * share for b, share in zip(before, shares, strict=True))
    stopping = Stopping(mean_f1, settings.patience, _CHANCE / max(values, _CHANCE))
    sources = [one.source(wordpieces) for one in own]
    train(network, sources, wordpieces, config, working, report, place, stopping)
    # The stored differences are rounded, so measure the weights that they give.
    weights = load_weights(bottom)
    changed = difference(weights, network.cpu().state_dict())
    network.load_state_dict(moved(weights, changed))
    after = _measure(own, Reader(network, wordpieces, "after", place, precision=precision))
    kept = _mean(after) > _mean(before)
    if kept:
        about = {
            "name": out.name,
            "sources": sorted(one.labelled.name for one in own),
            "trained": _trained(bottom, own),
            "f1": {o.labelled.name: [b["f1"], a["f1"]] for o, b, a in zip(own, before, after, strict=True)},
        }
        save_difference(out, changed, base, about)
        carry_calibration(bottom, out, weights_fingerprint(out))
    # Without a checkpoint the same command trains again instead of continuing.
    (working / CHECKPOINT).unlink()
    if not any(working.iterdir()):
        working.rmdir()
    results = tuple(
        SetResult(
            name=one.labelled.name,
            trained=len(one.parts.trained),
            checked=len(one.parts.checked),
            measured=len(one.parts.measured),
            apart=one.parts.checked != one.parts.measured,
            before=b,
            after=a,
        )
        for one, b, a in zip(own, before, after, strict=True)
    )
    return FineTuned(results, kept, sum(tensor.nbytes for tensor in changed.values()))


def _trained(base: Path, own: Sequence[_Own]) -> dict[str, list[str]]:
    """Returns the marks, by set, of the documents that trained the new model or its base."""
    marks: dict[str, set[str]] = {
        name: set(kept) for name, kept in about_model(base).get("trained", {}).items()
    }
    for one in own:
        marks.setdefault(one.labelled.name, set()).update(map(mark_of, one.parts.trained))
    return {name: sorted(kept) for name, kept in marks.items()}


def _measure(own: Sequence[_Own], model: Reader) -> list[Figures]:
    return [one.figures(one.parts.measured, model) for one in own]


def _mean(figures: Sequence[Figures]) -> float:
    return sum(float(one["f1"]) for one in figures) / len(figures)


def _key(folders: Sequence[Path], base: str | Path, settings: FineTuning) -> str:
    """Names a run by its sets, base and settings: only the same run may continue from a checkpoint."""
    names = ("schema.json", "truth.jsonl")
    sets = [hashlib.sha256((f / name).read_bytes()).hexdigest() for f in folders for name in names]
    told = json.dumps([sets, fingerprint_of(base), repr(settings)])
    return hashlib.sha256(told.encode()).hexdigest()[:12]
