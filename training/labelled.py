"""Labelled sets (folders with `schema.json`, `truth.jsonl` and documents) as sources of training windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.training.pool import TrainingSource
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.extraction.learning.labelled_passages import Labelled, labelled_passages
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, load_set, read_set
from cinnabar.schemas import compile_schema
from training.recipe import Recipe, SetRecipe, is_held_back


def labelled_documents(folder: Path) -> Iterator[Labelled]:
    """Yields the readable documents of a set with their truth, in the order of the truth."""
    labelled = load_set(folder)
    truths = {line["file"]: line["truth"] for line in labelled.truths}
    with ParserPool(1) as pool:
        for read in read_set(labelled, pool):
            if isinstance(read.found, Document):
                yield Labelled(read.path, passage_of(read.found), truths[read.path])


def set_source(folder: Path, wordpieces: WordPieces, recipe: SetRecipe) -> TrainingSource:
    """Returns a set as a source of training windows, without the documents that its recipe holds back."""
    form = compile_schema(load_set(folder).schema).form
    kept = (one for one in labelled_documents(folder) if not is_held_back(one.file, one.truth, recipe))
    return TrainingSource(folder.name, recipe.weight, labelled_passages(kept, form, wordpieces))


def held_back_part(labelled: LabelledSet, recipe: Recipe) -> LabelledSet:
    """Returns a set with the documents that the recipe holds back: a part of a set that trains, all of any other."""
    own = recipe.sets.get(labelled.name)
    return labelled.select(
        line["file"] for line in labelled.truths if own is None or is_held_back(line["file"], line["truth"], own)
    )
