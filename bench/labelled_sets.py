"""Labelled sets for reports: their arguments, their documents, and the figures of a model on them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from training.labelled import held_back_part
from training.recipe import load_recipe

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.model import Model
from cinnabar.engine.request import Filler
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.pipeline import Job, OpenedInput
from cinnabar.extraction.learning.evaluation import answers, score_set
from cinnabar.extraction.learning.scoring import Figures
from cinnabar.extraction.plan.run_options import OnMissing
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, find_sets, read_set
from cinnabar.schemas import compile_schema, load_schema

#: Sets that train, drawn once by seed, as `random.Random(0).sample(sorted(load_recipe().sets), 12)`. The first ten tell
#: the worth of a rule, all twelve whether predictions stay the same.
DRAWN = (
    "licence_texts", "meeting_minutes", "bank_questions", "doctor_talks", "paper_front", "openstack_advisories",
    "materials_synthesis", "gesetze", "notams", "kubernetes_keps", "device_interfaces", "taxon_names",
)  # fmt: skip


def report_arguments(description: str | None) -> argparse.Namespace:
    """The arguments of a report: sets, limit, model and device."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--limit", type=int, default=20, help="documents of each set")
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    return parser.parse_args()


def read_sets(
    paths: Sequence[Path], limit: int, wanted: Callable[[LabelledSet], bool] = lambda _: True
) -> Iterator[tuple[LabelledSet, list[OpenedInput]]]:
    """The wanted sets, each with its first documents, held back if the weights train on it, and these parsed."""
    recipe = load_recipe()
    with ParserPool(1) as pool:
        for labelled in (one for path in paths for one in find_sets(path) if wanted(one)):
            chosen = held_back_part(labelled, recipe).select(limit=limit)
            yield chosen, list(read_set(chosen, pool))


def figures_of(labelled: LabelledSet, reads: Sequence[OpenedInput], model: Model) -> Figures:
    """The figures of a model on the documents of a set, under the schema of the set as it is now."""
    return score_set(labelled, answers(reads, job_of(labelled.schema, Engine(model, "medium"))))


def job_of(schema: dict[str, Any], filler: Filler, on_missing: OnMissing = "guess") -> Job:
    """The job of filling records under this schema."""
    source = load_schema(schema)
    return Job(compile_schema(source.schema), filler, Validator(source), on_missing)


def read_text(text: str, path: str = "page.txt") -> OpenedInput:
    """A text as an input that was read from a file of this path."""
    document = parse(text.encode(), "page.txt")
    return OpenedInput(path, document.digest, document)
