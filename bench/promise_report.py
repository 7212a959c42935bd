"""Measures how often `--at-most-wrong` keeps its promise, and what it leaves for a person.

    python -m bench.promise_report SET... [--most 5] [--runs 200] [--sample 150 400 1000] [--model reader]

The model reads each set once. Its documents are then a population: a run draws a sample of it, chooses the threshold by
that sample, and the truth is the share of wrong values in all documents of the set that are as sure. A run whose sample
cannot tell promises nothing. Half of the runs draw from one set each, the others from all sets mixed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from bench.reporting import table
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.learning.evaluation import predict
from cinnabar.extraction.learning.wrong_values import JudgedDocument, judged_document, least_confidence
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.run.work.labelled_sets import load_set


def read(folder: Path, model: str, limit: int | None) -> list[JudgedDocument]:
    """Returns the judged documents of a set."""
    labelled = load_set(folder).select(limit=limit)
    assignment = Assignment.of(RunPlan.of([folder / "schema.json"], model=model))
    with ParserPool(2, settings=parser_settings(assignment.options)) as pool:
        predictions = predict(labelled, assignment.job(), pool)
    return [judged_document(one, predictions.get(one["file"]) or {}, **labelled.options) for one in labelled.truths]


def simulated(
    population: Sequence[JudgedDocument], most: float, count: int, dice: np.random.Generator
) -> tuple[bool, bool, float]:
    """Returns whether a run promised, whether it kept its word, and the share of documents left for a person."""
    sample = [population[at] for at in dice.choice(len(population), count)]
    promise = least_confidence(sample, most)
    if promise is None:
        return False, True, 1.0
    kept = [one for one in population if one.confidence is not None and one.confidence >= promise.least]
    wrong, values = sum(one.wrong for one in kept), sum(one.wrong + one.right for one in kept)
    return True, wrong <= most * values, 1 - len(kept) / len(population)


def results(
    sets: Sequence[Sequence[JudgedDocument]], most: float, count: int, runs: int
) -> Iterator[tuple[bool, bool, float]]:
    """Yields the results of all runs, of the single sets and of the mixed ones."""
    dice = np.random.default_rng(52)
    mixed = [one for own in sets for one in own]
    for run in range(runs):
        yield simulated(mixed if run % 2 else sets[run // 2 % len(sets)], most, count, dice)


def main() -> None:
    """Prints how often the bound was kept, of how many promises, and what is left for a person."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--most", type=float, nargs="+", default=[5.0, 10.0, 20.0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sample", type=int, nargs="+", default=[150, 400, 1000])
    parser.add_argument("--model", default="reader")
    parser.add_argument("--limit", type=int)
    asked = parser.parse_args()
    sets = [read(folder, asked.model, asked.limit) for folder in asked.sets]
    rows = []
    for folder, own in zip(asked.sets, sets, strict=True):
        wrong, values = sum(one.wrong for one in own), sum(one.wrong + one.right for one in own)
        print(f"{folder.name}: {len(own)} documents, {values} values, {wrong / max(values, 1):.3f} wrong", flush=True)
    for most, size in product(asked.most, asked.sample):
        told = list(results(sets, most / 100, size, asked.runs))
        promised = [one for one in told if one[0]]
        left = sum(one[2] for one in promised) / max(len(promised), 1)
        kept = sum(one[1] for one in told)
        counts = str(size), str(len(told)), str(len(promised))
        rows.append((f"{most:g}%", *counts, f"{kept / len(told):.3f}", f"{left:.2f}"))
    print(table(("at most wrong", "sample", "runs", "promised", "kept", "documents left where promised"), rows))


if __name__ == "__main__":
    main()
