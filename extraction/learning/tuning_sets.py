"""Labelled sets of a user, parsed and split into the parts that train, that decide when to stop, and that measure.

Documents with their true records, as passages that train a reader.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.request import Filler, Passage
from cinnabar.engine.training.examples import LabelledPassage, labelled_passage
from cinnabar.engine.training.labels import label_by_search
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.pipeline import Job, OpenedInput
from cinnabar.extraction.filling.planning import passage_of
from cinnabar.extraction.filling.records.validation import Validator
from cinnabar.extraction.learning.evaluation import answers, score_set
from cinnabar.extraction.learning.scoring import Figures
from cinnabar.extraction.learning.thresholds import FEWEST_LABELLED, MEASURED, PARTS_APART, STOPPING
from cinnabar.extraction.run.work.labelled_sets import LabelledSet, load_set, mark_of, read_set
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.form.form import Form

#: Parser processes.
WORKERS = 2


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
    if len(order) < PARTS_APART:
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


class TuningSet:
    """A labelled set of the user, parsed and split into parts."""

    def __init__(self, folder: Path, pool: ParserPool) -> None:
        self.labelled = load_set(folder)
        schema = load_schema(folder / "schema.json")
        self.compiled, self.validator = compile_schema(schema.schema), Validator(schema)
        self.schema_fingerprint = schema.fingerprint
        reads = {read.path: read for read in read_set(self.labelled, pool)}
        self.readable = [file for file, read in reads.items() if isinstance(read.found, Document)]
        self.reads = reads
        if len(self.readable) < FEWEST_LABELLED:
            raise UsageError(
                f"{folder}: expected at least {FEWEST_LABELLED} labelled documents that can be read, "
                f"found {len(self.readable)}"
            )
        self.parts = parts_of(self.readable)

    def documents(self) -> list[Labelled]:
        """Returns the documents of the training part."""
        truths = {line["file"]: line["truth"] for line in self.labelled.truths}
        documents = []
        for file in self.parts.trained:
            document = self.reads[file].found
            assert isinstance(document, Document)
            documents.append(Labelled(file, passage_of(document), truths[file]))
        return documents

    def figures(self, files: Sequence[str], filler: Filler) -> Figures:
        """Returns the figures of a model on these files."""
        some: LabelledSet = self.labelled.select(files)
        reads: list[OpenedInput] = [self.reads[line["file"]] for line in some.truths]
        return score_set(some, answers(reads, Job(self.compiled, filler, self.validator, "guess")))

    def result(self, before: Figures, after: Figures) -> SetResult:
        """Returns the set's result of a training with these figures before and after it."""
        parts = self.parts
        return SetResult(
            name=self.labelled.name,
            trained=len(parts.trained),
            checked=len(parts.checked),
            measured=len(parts.measured),
            apart=parts.checked != parts.measured,
            before=before,
            after=after,
        )


def measure_sets(own: Sequence[TuningSet], filler: Filler) -> list[Figures]:
    """Returns a model's figures on the measured part of each set."""
    return [one.figures(one.parts.measured, filler) for one in own]


def overall_f1(figures: Sequence[Figures]) -> float:
    """Returns the mean F1 of these sets."""
    return sum(float(one["f1"]) for one in figures) / len(figures)


def run_key(folders: Sequence[Path], base: str, settings: object) -> str:
    """Names a run by its sets, its base's fingerprint and its settings: only the same run may go on from its state."""
    names = ("schema.json", "truth.jsonl")
    sets = [hashlib.sha256((folder / name).read_bytes()).hexdigest() for folder in folders for name in names]
    return hashlib.sha256(json.dumps([sets, base, repr(settings)]).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A document of a set as a passage for the engine, and its true record."""

    file: str
    passage: Passage
    truth: Any


def labelled_passages(
    documents: Iterable[Labelled], form: Form, wordpieces: WordPieces
) -> list[LabelledPassage]:
    """Returns the documents with the targets of the form's slots; it leaves out documents without words."""
    labelled = []
    for document in documents:
        passage = document.passage
        pieces = wordpieces.pieces(passage.text, passage.word_start, passage.word_box)
        if len(pieces):
            labels = label_by_search(passage.text, form, document.truth)
            labelled.append(labelled_passage(passage.text, form, labels, pieces, wordpieces))
    return labelled
