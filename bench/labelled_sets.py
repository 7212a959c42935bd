"""Labelled sets for reports: their arguments, their documents, and the figures of a model on them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from training.labelled import held_back_part
from training.recipe import load_recipe

from cinnabar.engine.engine import Engine
from cinnabar.engine.model import Model
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.learning.evaluation import score_set
from cinnabar.extraction.learning.predicting import answers
from cinnabar.extraction.learning.scoring import Figures
from cinnabar.extraction.reading.pipeline import Job, Read
from cinnabar.extraction.reading.records.validation import Validator
from cinnabar.extraction.run.work.labelled_sets import LabelledSet, find_sets, read_set
from cinnabar.schemas import compile_schema, load_schema


def report_arguments(description: str | None) -> argparse.Namespace:
    """The arguments of a report: sets, limit, model and device."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--limit", type=int, default=20, help="documents of each set")
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    return parser.parse_args()


def read_sets(
    paths: Sequence[Path], limit: int, wanted: Callable[[LabelledSet], bool] = lambda _: True
) -> Iterator[tuple[LabelledSet, list[Read]]]:
    """The wanted sets, each with at most `limit` documents, held back if the weights train on it, and these parsed."""
    recipe = load_recipe()
    with ParserPool(1) as pool:
        for labelled in (one for path in paths for one in find_sets(path) if wanted(one)):
            chosen = held_back_part(labelled, recipe).select(limit=limit)
            yield chosen, list(read_set(chosen, pool))


def figures_of(labelled: LabelledSet, reads: Sequence[Read], model: Model) -> Figures:
    """The figures of a model on the documents of a set, under the schema of the set as it is now."""
    source = load_schema(labelled.schema)
    job = Job(compile_schema(source.schema), Engine(model, "medium"), Validator(source), "guess")
    return score_set(labelled, answers(reads, job))
