"""Trains a model on the corrected documents of a folder, or on a labelled set, and measures it by cross-validation.

The documents are divided into folds. A model that is trained on the other folds reads each of them, so every corrected
document is read once by a model that never saw it; these readings together give the F1 after training. Then one more
training takes all documents. So the figure is that of models with fewer documents than the one that is offered.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.backend import device_of
from cinnabar.engine.models.identity import fingerprint_of, model_folder, weights_fingerprint
from cinnabar.engine.models.reader.calibration import carry_calibration, load_calibration, save_calibration
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.loading import load_network
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.weight_difference import difference
from cinnabar.engine.models.weights import load_weights, save_difference
from cinnabar.engine.settings import reading_precision
from cinnabar.engine.training.pool import TrainingSource
from cinnabar.engine.training.trainer import TrainingConfig, train
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.extraction.filling.pipeline import Job
from cinnabar.extraction.filling.routing.examples import load_examples, save_examples
from cinnabar.extraction.filling.routing.vectors import examples_of
from cinnabar.extraction.learning.corrected_set import CorrectedSet
from cinnabar.extraction.learning.evaluation import answers, more_than_chance, score_set
from cinnabar.extraction.learning.labelled_passages import Labelled, labelled_passages
from cinnabar.extraction.learning.refitting import Refit, ranged, rated_of, refitted
from cinnabar.extraction.learning.scoring import Figures
from cinnabar.extraction.run.batch.improved_models import FIGURES, candidate, models_of
from cinnabar.extraction.run.batch.labelled_sets import mark_of
from cinnabar.extraction.store.files import write_bytes
from cinnabar.schemas import compile_schema

#: The fewest corrected documents that training starts with.
FEWEST_CORRECTED = 10
#: The fewest steps that a training is planned with, however slow the machine is; the clock may cut it short.
LEAST_STEPS = 30
#: The numbers of folds, the best first: the first is taken that leaves time for all steps.
FOLDS = (4, 3, 2)
#: The minutes for everything by the clock, by default.
MINUTES = 8.0
#: The model that is trained, by default.
BASE = "default"
_WORKING = "training"
# Steps that tell how fast this machine trains.
_PACE = 4


@dataclass(frozen=True, slots=True)
class Stage:
    """The progress of an improvement: `reading`, `measuring`, `training` or `comparing`; `done` from 0 to 1.

    f1: of the last measurement, None before the first. left: seconds to the end, at most; None if nothing bounds them.
    """

    name: str
    done: float
    seconds: float
    f1: float | None = None
    left: float | None = None


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field's F1 before and after, over `support` values."""

    field: str
    before: float
    after: float
    support: int


@dataclass(frozen=True, slots=True)
class Improvement:
    """A trained candidate: cross-validated F1 of its corrected documents, over all values and by field.

    `tells` is False if as many documents are read worse or better than now by chance alone (a sign test at .1).
    Nine of ten samples of as many documents gain between these two numbers of F1 (`gain`). `confidence` measures the
    scales that were fitted anew, None if there are none.
    """

    documents: int
    before: float
    after: float
    fields: tuple[FieldChange, ...]
    model: str
    better: bool
    seconds: float
    tells: bool = True
    gain: tuple[float, float] = (0.0, 0.0)
    confidence: Refit | None = None


@dataclass(frozen=True, slots=True)
class TrainingSchedule:
    """The folds of the cross-validation, the steps of each training, and the seconds to read all documents once."""

    folds: int
    steps: int
    reading: float = 0.0


def schedule_for(documents: int, seconds: float, pace: float) -> TrainingSchedule:
    """Returns the schedule of trainings that together take these seconds, at `pace` seconds a step.

    The model that is offered counts more than the precision of its measure: with little time there are fewer folds
    first, and fewer steps then.
    """
    wanted = steps_for(documents)
    folds = next((folds for folds in FOLDS if (folds + 1) * wanted * pace <= seconds), FOLDS[-1])
    return TrainingSchedule(folds, min(wanted, max(LEAST_STEPS, int(seconds / (folds + 1) / pace))))


def steps_for(documents: int) -> int:
    """Returns the steps of a training on so many documents: 110 for twenty, at most 300."""
    return min(300, 60 + 5 * documents // 2)


def check_enough(corrected: CorrectedSet) -> None:
    """Raises UsageError if fewer than ten corrected documents can be read."""
    there = len(corrected.labelled.truths)
    if there >= FEWEST_CORRECTED:
        return
    notes = []
    if corrected.partly:
        notes.append(f"{corrected.partly} more have corrections but were not accepted as a whole")
    if corrected.missing:
        notes.append(f"{len(corrected.missing)} are not found or not readable, such as {corrected.missing[0]}")
    also = f" ({'; '.join(notes)})" if notes else ""
    raise UsageError(
        f"{corrected.labelled.name}: expected at least {FEWEST_CORRECTED} corrected documents, found {there}{also};"
        " review more with `cinnabar review`, and accept each record when it is right"
    )


class Improver:
    """Trains the candidate of a schema and measures it by cross-validation.

    `steps` are those of each training; without them there are as many as fit into `minutes` by the clock, from `begun`
    (of time.monotonic) or now on. If it is interrupted, the same work goes on: finished folds, and the checkpoint of
    the one under way, are kept. Raises UsageError if fewer than ten corrected documents can be read.
    """

    def __init__(
        self,
        corrected: CorrectedSet,
        out: Path,
        steps: int | None = None,
        device: str = "auto",
        report: Callable[[Stage], None] = lambda _: None,
        minutes: float = MINUTES,
        begun: float | None = None,
    ) -> None:
        check_enough(corrected)
        self.corrected, self.out, self.report = corrected, out, report
        self.device, self.precision = device_of(device), reading_precision()
        self.compiled, self.validator = compile_schema(corrected.source.schema), Validator(corrected.source)
        self.truths = {line["file"]: line["truth"] for line in corrected.labelled.truths}
        self.files = sorted(self.truths, key=lambda file: hashlib.sha256(f"0:{file}".encode()).digest())
        self.asked, self.minutes = steps, minutes
        self.schedule = TrainingSchedule(FOLDS[0], steps or steps_for(len(self.files)))
        self.begun = time.monotonic() if begun is None else begun
        self.deadline = math.inf if steps is not None else self.begun + 60 * minutes
        self.folder = models_of(out, corrected.labelled.name) / _WORKING / self._key()
        self.f1: float | None = None
        self.passed = 0.0

    def _key(self) -> str:
        """Names this work by all that it depends on: only the same work may go on from its state."""
        parts: list[Any] = [self.truths, self.corrected.source.fingerprint, fingerprint_of(BASE)]
        parts += [self.asked, self.minutes]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:12]

    def run(self) -> Improvement:
        """Measures, trains and writes the candidate."""
        for other in {*self.folder.parent.glob("*")} - {self.folder}:
            shutil.rmtree(other, ignore_errors=True)
        self._tell("measuring", 0.0)
        clock = time.monotonic()
        before = self._kept("before", lambda: self._predictions(*load_network(model_folder(BASE)), self.files))
        self.f1 = self._score(before)["f1"]
        reading = time.monotonic() - clock
        self.schedule = TrainingSchedule(**self._kept("plan", lambda: asdict(self._measured_schedule(reading))))
        self.passed = 0.5
        after: dict[str, dict[str, Any]] = {}
        for fold in range(self.schedule.folds):
            held = self.files[fold :: self.schedule.folds]
            after |= self._kept(f"fold-{fold}", partial(self._fold, fold, held))
            shutil.rmtree(self.folder / f"fold-{fold}", ignore_errors=True)
            self.passed += 1
            measured = score_set(self.corrected.labelled.select(after), after)
            self._tell("measuring", 0.0, float(measured["f1"]))
        network, _ = self._train("whole", self.files)
        self._tell("comparing", 1.0)
        model = self._save(network)
        confidence = self._refit(model, after)
        shutil.rmtree(self.folder, ignore_errors=True)
        return self._result(self._score(before), self._score(after), model, self._gains(before, after), confidence)

    def _refit(self, model: Path, after: Mapping[str, dict[str, Any]]) -> Refit | None:
        """Fits the scales of the candidate anew on what models read that were not trained on it."""
        carried = load_calibration(model, weights_fingerprint(model))
        if carried is None:
            return None
        calibration, measured = refitted(carried, rated_of(self.corrected.labelled, after))
        if calibration is not carried:
            save_calibration(model, calibration)
        return measured

    def _gains(self, before: Mapping[str, dict[str, Any]], after: Mapping[str, dict[str, Any]]) -> list[float]:
        """Returns how much better each document is read."""
        singles = {file: self.corrected.labelled.select([file]) for file in self.files}
        was, now = (
            [float(score_set(one, {file: read[file]})["f1"] or 0.0) for file, one in singles.items()]
            for read in (before, after)
        )
        return [new - old for old, new in zip(was, now, strict=True)]

    def _fold(self, fold: int, held: Sequence[str]) -> dict[str, dict[str, Any]]:
        rest = [file for file in self.files if file not in set(held)]
        return self._predictions(*self._train(f"fold-{fold}", rest), held)

    def _measured_schedule(self, reading: float) -> TrainingSchedule:
        """Returns the folds and the steps for the minutes, if all documents are read in `reading` seconds."""
        if self.asked is not None:
            return replace(self.schedule, reading=reading)
        begun = time.monotonic()
        self._train("pace", self.files, _PACE)
        pace = (time.monotonic() - begun) / _PACE
        shutil.rmtree(self.folder / "pace", ignore_errors=True)
        return replace(schedule_for(len(self.files), self.deadline - time.monotonic() - reading, pace), reading=reading)

    def _share(self) -> float:
        """Returns the seconds that the next training may take: an equal part of those left for trainings.

        The clock of the machine counts, and not this process's own work: a person waits for it, also beside other work.
        """
        folds = self.schedule.folds
        trained = int(self.passed)
        reading = self.schedule.reading * (folds - trained) / folds
        return max(1e-3, self.deadline - time.monotonic() - reading) / (folds + 1 - trained)

    def _kept(self, name: str, made: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Returns what `made` returns, from an earlier call if there was one."""
        path = self.folder / f"{name}.json"
        if path.is_file():
            return dict(json.loads(path.read_text(encoding="utf-8")))
        result = made()
        self.folder.mkdir(parents=True, exist_ok=True)
        write_bytes(path, json.dumps(result).encode())
        return result

    def _train(self, name: str, files: Sequence[str], steps: int | None = None) -> tuple[Network, WordPieces]:
        """Returns the base after training on these documents."""
        most = steps or self.schedule.steps
        network, wordpieces = load_network(model_folder(BASE))
        documents = [self._labelled_document(file) for file in files]
        source = TrainingSource(name, 1.0, labelled_passages(documents, self.compiled.form, wordpieces))
        # The pace is measured before a schedule is there.
        most_seconds = self._share() if steps is None else math.inf
        config = TrainingConfig(
            encoder_rate=1e-4, decoder_rate=3e-4, new_rate=1e-3, warmup=0.05, decay=0.5, sources=1, each=6, budget=4096,
            save_every=30.0, steps=most, at_most=most_seconds,
        )  # fmt: skip

        def tell_step(row: Mapping[str, float]) -> None:
            self._tell("training", min(1.0, row["step"] / most))

        train(network, [source], wordpieces, config, self.folder / name, tell_step, self.device)
        return network, wordpieces

    def _labelled_document(self, file: str) -> Labelled:
        document = self.corrected.reads[file].found
        assert isinstance(document, Document)
        return Labelled(file, passage_of(document), self.truths[file])

    def _predictions(self, network: Network, wordpieces: WordPieces, files: Sequence[str]) -> dict[str, dict[str, Any]]:
        network.eval()
        base = model_folder(BASE)
        calibration = load_calibration(base, weights_fingerprint(base))
        reader = ExtractiveReader(network, wordpieces, "measured", self.device, calibration, precision=self.precision)
        job = Job(self.compiled, Engine(reader), self.validator, "guess")
        return answers([self.corrected.reads[file] for file in files], job)

    def _score(self, predictions: Mapping[str, dict[str, Any]]) -> Figures:
        return score_set(self.corrected.labelled, predictions)

    def _save(self, network: Network) -> Path:
        base, folder = model_folder(BASE), candidate(self.out, self.corrected.labelled.name)
        labelled = self.corrected.labelled
        trained = {labelled.folder.resolve().name: sorted(map(mark_of, self.files))}
        about = {"name": labelled.name, "sources": [*trained], "trained": trained, "documents": len(self.files)}
        save_difference(folder, difference(load_weights(base), network.cpu().state_dict()), BASE, about)
        carry_calibration(base, folder, weights_fingerprint(folder))
        texts = (self._labelled_document(file).passage.text for file in self.files)
        save_examples(folder, load_examples(base) | {self.corrected.source.fingerprint: examples_of(texts)})
        return folder

    def _result(
        self, before: Figures, after: Figures, model: Path, gains: Sequence[float], confidence: Refit | None
    ) -> Improvement:
        fields = tuple(
            FieldChange(path, float(before["fields"].get(path, {}).get("f1") or 0), float(one["f1"]), one["support"])
            for path, one in after["fields"].items()
            if one["support"]
        )
        was, now = float(before["f1"]), float(after["f1"])
        took = round(time.monotonic() - self.begun, 1)
        tells = more_than_chance(sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains))
        low, high = (round(one, 4) for one in ranged(gains, fmean))
        improvement = Improvement(
            len(self.files), was, now, fields, str(model), now > was, took, tells, (low, high), confidence
        )
        write_bytes(model / FIGURES, json.dumps(asdict(improvement), indent=1).encode())
        return improvement

    def _tell(self, stage: str, share: float, f1: float | None = None) -> None:
        self.f1 = f1 if f1 is not None else self.f1
        # Each fold takes as long as its training; all documents are read once before, and once more by the folds.
        done = min(1.0, (self.passed + share) / (self.schedule.folds + 1.5))
        seconds = time.monotonic() - self.begun
        left = None if math.isinf(self.deadline) else round(max(0.0, self.deadline - time.monotonic()), 1)
        self.report(Stage(stage, round(done, 3), round(seconds, 1), self.f1, left))
