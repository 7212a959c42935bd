"""Measures the effect of more steps, re-opening, a shorter context and more caution, on sets with known truth."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cinnabar.engine.effort import Effort, effort_of
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.base import Model
from cinnabar.extraction.documents import Document
from cinnabar.extraction.ingest import parse
from cinnabar.extraction.pipeline import Job, Read
from cinnabar.extraction.planning import chunks_for
from cinnabar.extraction.quality.evaluation import EvaluationSet, leaves_of
from cinnabar.extraction.quality.predicting import answers
from cinnabar.extraction.records.validation import Validator
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.errors import DocumentError

Predictions = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class StepsRow:
    """The result of a number of denoising steps, over all sets together.

    f1: mean of the sets. reopened: re-openings per record. corrected: leaves that are wrong without re-opening and
    right with it; spoiled: the other way round. seconds: of the run with re-opening.
    """

    steps: int
    f1: float
    reopened: float
    corrected: int
    spoiled: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ContextRow:
    """F1 of a set with the model's whole context and with a shorter one; `cut` counts the documents that were cut."""

    name: str
    documents: int
    cut: int
    whole: float
    short: float


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """The result of giving a value only from this posterior on: means of the sets.

    invented: the share of absent fields that got a value.
    """

    answer: float
    f1: float
    precision: float
    recall: float
    invented: float


class OpenSet:
    """A labelled set with its documents parsed and its schema compiled."""

    def __init__(self, labelled: EvaluationSet) -> None:
        self.labelled = labelled
        source = load_schema(labelled.folder / "schema.json")
        self.compiled = compile_schema(source.schema)
        self.validator = Validator(source)
        self.reads = [_read(labelled, line["file"]) for line in labelled.truths]

    def predictions(self, engine: Engine, context: int | None = None) -> Predictions:
        """The answers of the engine for each file."""
        job = Job(self.compiled, engine, self.validator, "guess", context)
        return answers(self.reads, job)

    def f1(self, predictions: Predictions) -> float:
        """F1 of these predictions."""
        return float(self.labelled.score(predictions)["f1"])

    def right(self, predictions: Predictions) -> dict[tuple[str, str], bool]:
        """For each place of each record whether its value is right."""
        found: dict[tuple[str, str], bool] = {}
        for line in self.labelled.truths:
            record = predictions[line["file"]]["record"]
            for leaf in leaves_of(line, record, **self.labelled.options):
                if leaf.pointer:
                    found[line["file"], leaf.pointer] = leaf.right
        return found


def steps_rows(model: Model, sets: Sequence[OpenSet], counts: Sequence[int]) -> Iterator[StepsRow]:
    """A row for each number of steps, with the re-openings of the usual effort and without any."""
    for count in counts:
        engine = Engine(model, Effort(f"{count} steps", steps=count))
        still = Engine(model, Effort(f"{count} steps, final", steps=count, reopenings=0))
        begin = time.perf_counter()
        answers = [one.predictions(engine) for one in sets]
        seconds = time.perf_counter() - begin
        corrected = spoiled = 0
        if engine.reopenings.values:
            for one, found in zip(sets, answers, strict=True):
                before, after = one.right(one.predictions(still)), one.right(found)
                both = before.keys() & after.keys()
                corrected += sum(after[place] and not before[place] for place in both)
                spoiled += sum(before[place] and not after[place] for place in both)
        yield StepsRow(
            steps=count,
            f1=sum(one.f1(found) for one, found in zip(sets, answers, strict=True)) / len(sets),
            reopened=engine.reopenings.values / max(1, sum(map(len, answers))),
            corrected=corrected,
            spoiled=spoiled,
            seconds=seconds,
        )


def answer_rows(model: Model, sets: Sequence[OpenSet], answers: Sequence[float]) -> Iterator[AnswerRow]:
    """A row for each posterior threshold; a value that may be absent is given only from the threshold on."""
    for answer in answers:
        engine = Engine(model, replace(effort_of("medium"), answer=answer))
        figures = [one.labelled.score(one.predictions(engine)) for one in sets]
        means = []
        for name in ("f1", "precision", "recall", "invented"):
            known = [found[name] for found in figures if found[name] is not None]
            means.append(sum(known) / max(len(known), 1))
        yield AnswerRow(answer, *means)


def context_rows(
    model: Model, sets: Sequence[OpenSet], context: int, effort: str = "medium"
) -> Iterator[ContextRow]:
    """A row for each set: F1 with the model's own context, and with `context` tokens."""
    for one in sets:
        engine = Engine(model, effort)
        cut = sum(
            len(chunks_for(item.found, model, context)) > 1
            for item in one.reads
            if isinstance(item.found, Document)
        )
        yield ContextRow(
            name=one.labelled.name,
            documents=len(one.reads),
            cut=cut,
            whole=one.f1(one.predictions(engine)),
            short=one.f1(one.predictions(engine, context)),
        )


def _read(labelled: EvaluationSet, file: str) -> Read:
    try:
        found = parse((labelled.folder / file).read_bytes(), file)
    except DocumentError as error:
        return Read(file, "", error)
    return Read(file, found.digest, found)
