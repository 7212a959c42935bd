"""Measures the worth of each rule beside the network, on documents with all rules, without each, and without any.

    .venv/bin/python -m bench.ablation ../shared/data/sroie data/samples/receipt --limit 20

Each cell is F1 and, behind the stroke, the share of null truths that got a value. All cells use the same documents,
held back if the shipped weights train on the set. The last column has the means over the sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.labelled_sets import figures_of, read_sets, report_arguments
from bench.reporting import machine, table
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.models.reader.model import Reader
from cinnabar.engine.models.reader.priors.config import RULES, PriorConfig
from cinnabar.extraction.learning.evaluation import summarise


def variants(model: Reader) -> Iterator[tuple[str, Reader]]:
    """The model with all rules, without each of them, and without any, each with the name of the part left out."""
    chosen = {"nothing": (), **{rule: (rule,) for rule in RULES}, "all rules": RULES}
    for name, without in chosen.items():
        config = PriorConfig(without=frozenset(without))
        yield name, Reader(
            model.network, model.wordpieces, model.fingerprint, model.device, model.calibration, config,
            model.precision, model.sentences,
        )  # fmt: skip


def main() -> None:
    """Prints the table."""
    asked = report_arguments(__doc__)
    model = load_model(asked.model, asked.device)
    found: dict[str, dict[str, Any]] = {}
    for labelled, reads in read_sets(asked.sets, asked.limit):
        for without, reader in variants(model):
            found.setdefault(without, {})[labelled.name] = figures_of(labelled, reads, reader)
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
