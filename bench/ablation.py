"""Measures the worth of each rule beside the network, on documents with all rules, without each, and without any.

    .venv/bin/python -m bench.ablation ../shared/data/sroie data/samples/receipt --limit 20

Each cell is F1 and, behind the stroke, the share of null truths that got a value. All cells use the same documents,
held back if the shipped weights train on the set. The last column has the means over the sets.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.reporting import machine, table
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.loading import load_model
from cinnabar.engine.models.reader.model import Reader
from cinnabar.engine.models.reader.priors.config import RULES, PriorConfig
from cinnabar.engine.training.recipe import load_recipe
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.pipeline import Job, Read
from cinnabar.extraction.quality.evaluation import EvaluationSet, find_sets, summarise
from cinnabar.extraction.quality.held_back import held_back_files
from cinnabar.extraction.quality.predicting import answers, read_set
from cinnabar.extraction.records.validation import Validator
from cinnabar.schemas import compile_schema, load_schema


def variants(model: Reader) -> Iterator[tuple[str, Reader]]:
    """The model with all rules, without each of them, and without any, each with the name of the part left out."""
    chosen = {"nothing": (), **{rule: (rule,) for rule in RULES}, "all rules": RULES}
    for name, without in chosen.items():
        config = PriorConfig(without=frozenset(without))
        yield name, Reader(
            model.network, model.wordpieces, model.fingerprint, model.device, model.calibration, config
        )


def figures_of(labelled: EvaluationSet, reads: Sequence[Read], model: Reader) -> dict[str, Any]:
    """The figures of a model on the documents of a set."""
    source = load_schema(labelled.folder / "schema.json")
    job = Job(compile_schema(source.schema), Engine(model, "medium"), Validator(source), "guess")
    return labelled.score(answers(reads, job))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--limit", type=int, default=20, help="documents of each set")
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    asked = parser.parse_args()
    model, recipe = load_model(asked.model, asked.device), load_recipe()
    found: dict[str, dict[str, Any]] = {}
    with ParserPool(1) as pool:
        for labelled in (one for path in asked.sets for one in find_sets(path)):
            chosen = labelled.select(held_back_files(labelled, recipe), asked.limit)
            reads = list(read_set(chosen, pool))
            for without, reader in variants(model):
                found.setdefault(without, {})[chosen.name] = figures_of(chosen, reads, reader)
    print(machine(model), end="\n\n")
    names = list(found["nothing"])
    rows = [
        [without, *map(_cell, (*(of_sets[name] for name in names), summarise(of_sets)))]
        for without, of_sets in found.items()
    ]
    print(table(["without", *names, "mean"], rows))


def _cell(figures: dict[str, Any]) -> str:
    """F1 and the share of null truths that got a value; `none` if the set has no null truths."""
    invented = figures.get("invented")
    return f"{figures['f1']:.3f} / {'none' if invented is None else f'{invented:.2f}'}"


if __name__ == "__main__":
    main()
