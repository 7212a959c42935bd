"""Scores a model on the lines of reading data that training holds back: passages with a schema each.

    python -m bench.reading_report ../shared/data/reading --limit 40

Of each set the first so many held-back lines count. `lists` are lists of mentions told in sentences.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from typing import Any

from training.reading_data import SUFFIX, closed, reading_lines

from bench.labelled_sets import job_of, read_text
from bench.reporting import machine, table
from cinnabar.engine.filler import Filler
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.extraction.learning.evaluation import score, summarise
from cinnabar.extraction.learning.predicting import answers
from cinnabar.extraction.learning.scoring import Figures
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.reading.model_sources import sources_of


def figures_of(path: Path, filler: Filler, limit: int) -> Figures:
    """Returns the figures of the first held-back lines of a reading set."""
    held_back = (line for line in reading_lines(path) if line["part"] != "train")
    truths: list[dict[str, Any]] = []
    predictions: dict[str, dict[str, Any]] = {}
    for line in islice(held_back, limit):
        predictions |= answers([read_text(line["text"], line["id"])], job_of(closed(line["schema"]), filler))
        truths.append({"file": line["id"], "truth": line["truth"]})
    return score(truths, predictions)


def main() -> None:
    """Prints the figures of each set and their means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=40)
    parser.add_argument("--model", default="default")
    asked = parser.parse_args()
    source, _ = sources_of(RunPlan.of(model=asked.model, on_missing="guess"), asked.model)
    filler = source.filler("medium", None)
    paths = sorted(asked.folder.glob(f"*{SUFFIX}"))
    summary = summarise({path.name.removesuffix(SUFFIX): figures_of(path, filler, asked.limit) for path in paths})
    shown = ("f1", "scalars", "lists", "invented", "value_auc", "null_auc")
    rows = [
        (name, *(f"{figures[one]:.3f}" if figures.get(one) is not None else "–" for one in shown))
        for name, figures in {**summary["sets"], "mean": summary}.items()
    ]
    print(machine(load_model(asked.model)))
    print(table(("set", *shown), rows))


if __name__ == "__main__":
    main()
