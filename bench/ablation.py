"""Measures the worth of each rule beside the network, on documents with all rules, without each, and without any.

    .venv/bin/python -m bench.ablation ../shared/data/sroie data/samples/receipt --limit 20 --draws 3

All rows use the same documents, held back if the shipped weights train on the set. F1 and the share of null truths that
got a value are means over the sets and the draws; `worth` is how much F1 falls without the rule, draw by draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bench.labelled_sets import figures_of, read_sets, report_arguments
from bench.reporting import machine, table
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.models.reader.priors.config import RULES, PriorConfig
from cinnabar.extraction.learning.evaluation import summarise


def variants(model: ExtractiveReader) -> Iterator[tuple[str, ExtractiveReader]]:
    """The model with all rules, without each of them, and without any, each with the name of the part left out."""
    chosen = {"nothing": (), **{rule: (rule,) for rule in RULES}, "all rules": RULES}
    for name, without in chosen.items():
        config = PriorConfig(without=frozenset(without))
        yield name, ExtractiveReader(
            model.network, model.wordpieces, model.fingerprint, model.device, model.calibration, config,
            model.precision, model.sentences,
        )  # fmt: skip


def main() -> None:
    """Prints the table."""
    asked = report_arguments(__doc__, draws=3)
    model = load_model(asked.model, asked.device)
    found: dict[str, list[dict[str, Any]]] = {}
    readers = dict(variants(model))
    for draw in range(asked.draws):
        of_sets: dict[str, dict[str, Any]] = {}
        for labelled, reads in read_sets(asked.sets, asked.limit, draw=draw):
            for without, reader in readers.items():
                of_sets.setdefault(without, {})[labelled.name] = figures_of(labelled, reads, reader)
        for without, figures in of_sets.items():
            found.setdefault(without, []).append(summarise(figures))
    print(machine(model), end="\n\n")
    rows = [
        [
            without,
            f"{_mean(draws, 'f1'):.4f}",
            f"{_mean(draws, 'invented'):.3f}",
            " ".join(f"{of_all['f1'] - own['f1']:+.4f}" for of_all, own in zip(found["nothing"], draws, strict=True)),
        ]
        for without, draws in found.items()
    ]
    print(table(["without", "F1", "invented", "worth"], rows))


def _mean(draws: Sequence[dict[str, Any]], name: str) -> float:
    known = [float(draw[name]) for draw in draws if draw.get(name) is not None]
    return sum(known) / len(known) if known else 0.0


if __name__ == "__main__":
    main()
