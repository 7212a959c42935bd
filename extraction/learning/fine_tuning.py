"""Fine-tunes a base model on labelled sets and keeps the result only if it reads them better.

The documents of each set are split into three parts: most train, some decide when to stop, and the rest are measured
before and after, so that no choice depends on them. In a small set the last two parts are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cinnabar.engine.backend import device_of
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.identity import about as about_model
from cinnabar.engine.models.identity import base_of, fingerprint_of, model_folder, weights_fingerprint
from cinnabar.engine.models.reader.calibration import carry_calibration
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.loading import load_network
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.weights import add_difference, difference, load_weights, save_difference
from cinnabar.engine.settings import reading_precision
from cinnabar.engine.training.pool import TrainingSource
from cinnabar.engine.training.trainer import CHECKPOINT, Patience, Stopping, TrainingConfig, train
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.routing.examples import LabelledVectors, load_examples, save_examples
from cinnabar.extraction.filling.routing.vectors import examples_of
from cinnabar.extraction.learning.thresholds import CHANCE_VALUES
from cinnabar.extraction.learning.tuning_sets import (
    WORKERS,
    FineTuned,
    TuningSet,
    labelled_passages,
    measure_sets,
    overall_f1,
    run_key,
)
from cinnabar.extraction.run.work.labelled_sets import mark_of


@dataclass(frozen=True, slots=True)
class FineTuning:
    """Settings of `cinnabar train`.

    minutes: most wall time of training, None for a limit by the number of documents. seed: of all random draws.
    patience: when to measure and to stop. steps: most training steps, instead of minutes; two runs with the same steps
    learn the same. at_most: seconds after which a training by steps ends all the same.
    """

    minutes: float | None = None
    seed: int = 0
    patience: Patience = field(default_factory=Patience)
    steps: int | None = None
    at_most: float = math.inf

    def config(self, documents: int) -> TrainingConfig:
        """Returns the settings of the training loop for so many documents."""
        minutes = minutes_for(documents) if self.minutes is None else self.minutes
        return TrainingConfig(
            minutes=minutes, encoder_rate=1e-4, decoder_rate=3e-4, new_rate=1e-3, warmup=0.05, decay=0.5,
            sources=1, each=6, budget=4096, save_every=30.0, seed=self.seed,
            steps=self.steps, at_most=self.at_most,
        )  # fmt: skip


def minutes_for(documents: int) -> float:
    """Returns the default limit of training in minutes: from about four up to twelve for many documents."""
    return min(12.0, 3.5 + documents / 25)


def _check_out(out: Path, base: Path) -> None:
    """Raises UsageError if a new model would replace its base, or one that this base is made of."""
    below: Path | None = base
    while below is not None:
        if out.resolve() == below.resolve():
            raise UsageError(
                f"--out {out}: expected a folder other than that of the base and its own bases, which the "
                "new model needs"
            )
        below = base_of(below)


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
    _check_out(out, bottom)
    network, wordpieces = load_network(bottom)
    with ParserPool(WORKERS, settings=parser_settings()) as pool:
        own = [TuningSet(folder, pool) for folder in folders]
    place, precision = device_of(device), reading_precision()

    def mean_f1(now: Network) -> float:
        model = ExtractiveReader(now, wordpieces, "now", place, precision=precision)
        return sum(float(one.figures(one.parts.checked, Engine(model))["f1"]) for one in own) / len(own)

    config = settings.config(sum(len(one.readable) for one in own))
    before = measure_sets(own, Engine(ExtractiveReader(network, wordpieces, "before", place, precision=precision)))
    working = out / "training" / run_key(folders, fingerprint_of(base), settings)
    shares = (len(one.parts.checked) / len(one.parts.measured) for one in own)
    values = sum(float(b["support"]) * share for b, share in zip(before, shares, strict=True))
    stopping = Stopping(mean_f1, settings.patience, CHANCE_VALUES / max(values, CHANCE_VALUES))
    sources = [_source(one, wordpieces) for one in own]
    train(network, sources, wordpieces, config, working, report, place, stopping)
    # The stored differences are rounded, so measure the weights that they give.
    weights = load_weights(bottom)
    changed = difference(weights, network.cpu().state_dict())
    network.load_state_dict(add_difference(weights, changed))
    after = measure_sets(own, Engine(ExtractiveReader(network, wordpieces, "after", place, precision=precision)))
    kept = overall_f1(after) > overall_f1(before)
    if kept:
        about = {
            "name": out.name,
            "sources": sorted(one.labelled.name for one in own),
            "trained": _training_marks(bottom, own),
            "f1": {o.labelled.name: [b["f1"], a["f1"]] for o, b, a in zip(own, before, after, strict=True)},
        }
        save_difference(out, changed, base, about)
        carry_calibration(bottom, out, weights_fingerprint(out))
        examples = {
            one.schema_fingerprint: examples_of(document.passage.text for document in one.documents())
            for one in own
        }
        save_examples(out, LabelledVectors({**load_examples(bottom).vectors, **examples}))
    # Without a checkpoint the same command trains again instead of continuing.
    (working / CHECKPOINT).unlink()
    if not any(working.iterdir()):
        working.rmdir()
    results = tuple(one.result(b, a) for one, b, a in zip(own, before, after, strict=True))
    return FineTuned(results, kept, sum(tensor.nbytes for tensor in changed.values()))


def _source(one: TuningSet, wordpieces: WordPieces) -> TrainingSource:
    """Returns the training windows of a set's training part."""
    passages = labelled_passages(one.documents(), one.compiled.form, wordpieces)
    return TrainingSource(str(one.labelled.folder), 1.0, passages)


def _training_marks(base: Path, own: Sequence[TuningSet]) -> dict[str, list[str]]:
    """Returns the marks, by set, of the documents that trained the new model or its base."""
    marks: dict[str, set[str]] = {
        name: set(kept) for name, kept in about_model(base).get("trained", {}).items()
    }
    for one in own:
        marks.setdefault(one.labelled.name, set()).update(map(mark_of, one.parts.trained))
    return {name: sorted(kept) for name, kept in marks.items()}
