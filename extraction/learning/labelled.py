"""Reads labelled sets (folders with `schema.json`, `truth.jsonl` and documents) for training."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.recipe import SetRecipe, is_held_back

from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.request import Passage
from cinnabar.engine.training.examples import LabelledPassage, labelled_passage
from cinnabar.engine.training.labels import label_by_search
from cinnabar.engine.training.pool import Source
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.reading.planning import passage_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.errors import DocumentError, UsageError
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.reading.texts import read_schema


@dataclass(frozen=True, slots=True)
class Labelled:
    """A document of a set as a passage for the engine, and its true record."""

    file: str
    passage: Passage
    truth: Any


def truths_of(folder: Path) -> list[dict[str, Any]]:
    """Returns the lines of a set's truth. Raises UsageError if the folder is not a set."""
    path = folder / "truth.jsonl"
    if not path.is_file() or not (folder / "schema.json").is_file():
        raise UsageError(f"{folder}: expected a set with schema.json and truth.jsonl; see docs/evaluation.md")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def labelled_documents(folder: Path) -> Iterator[Labelled]:
    """Yields the readable documents of a set with their truth, in the order of the truth."""
    for line in truths_of(folder):
        path = folder / line["file"]
        try:
            document = parse(path.read_bytes(), str(path))
        except (DocumentError, OSError):
            continue
        yield Labelled(line["file"], passage_of(document), line["truth"])


def training_source(folder: Path, wordpieces: WordPieces, recipe: SetRecipe) -> Source:
    """Returns a set as a source of training windows; documents that its recipe holds back are kept apart."""
    form = compile_schema(read_schema((folder / "schema.json").read_text(encoding="utf-8"))).form
    source = Source(folder.name, recipe.weight, [])
    for document in labelled_documents(folder):
        held_back = is_held_back(document.file, document.truth, recipe)
        into = source.held_back if held_back else source.train
        into += labelled_passages([document], form, wordpieces)
    return source


def labelled_passages(
    documents: Iterable[Labelled], form: Form, wordpieces: WordPieces
) -> list[LabelledPassage]:
    """Returns the documents with the targets of the form's slots; it leaves out documents without words."""
    found = []
    for document in documents:
        passage = document.passage
        pieces = wordpieces.pieces(passage.text, passage.word_start, passage.word_box)
        if len(pieces):
            labels = label_by_search(passage.text, form, document.truth)
            found.append(labelled_passage(passage.text, form, labels, pieces, wordpieces))
    return found
