"""Labelled sets (folders with `schema.json`, `truth.jsonl` and documents) as sources of training windows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.training.pool import TrainingSource
from cinnabar.errors import DocumentError, UsageError
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.filling.planning import passage_of
from cinnabar.extraction.learning.labelled_passages import Labelled, labelled_passages
from cinnabar.extraction.run.work.labelled_sets import LabelledSet
from cinnabar.schemas import compile_schema
from cinnabar.schemas.parsing.texts import read_schema
from training.recipe import Recipe, SetRecipe, is_held_back


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


def set_source(folder: Path, wordpieces: WordPieces, recipe: SetRecipe) -> TrainingSource:
    """Returns a set as a source of training windows; documents that its recipe holds back are kept apart."""
    form = compile_schema(read_schema((folder / "schema.json").read_text(encoding="utf-8"))).form
    source = TrainingSource(folder.name, recipe.weight, [])
    for document in labelled_documents(folder):
        held_back = is_held_back(document.file, document.truth, recipe)
        into = source.held_back if held_back else source.train
        into += labelled_passages([document], form, wordpieces)
    return source


def held_back_part(labelled: LabelledSet, recipe: Recipe) -> LabelledSet:
    """Returns a set with the documents that the recipe holds back: a part of a set that trains, all of any other."""
    own = recipe.sets.get(labelled.name)
    return labelled.select(
        line["file"] for line in labelled.truths if own is None or is_held_back(line["file"], line["truth"], own)
    )
