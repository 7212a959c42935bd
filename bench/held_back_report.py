"""Scores a model on documents that the shipped weights were not trained on.

    python -m bench.held_back_report ../shared/data --limit 20

Of a set that trains (training/recipe.toml) the documents held back count, of any other set all. The figures are those
of `cinnabar eval`, which has the other options.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from training.labelled import held_back_part
from training.recipe import load_recipe

from cinnabar.apps.cli.evaluate import predict_sets, print_figures, select_sets
from cinnabar.extraction.learning.evaluation import best_constant_of, score_set, summarise
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet


def unseen_sets(paths: list[Path], limit: int | None) -> list[LabelledSet]:
    """The sets of these folders, each with at most `limit` documents that training never saw."""
    recipe = load_recipe()
    found = [held_back_part(one, recipe).select(limit=limit) for one in select_sets(paths)]
    return [one for one in found if one.truths]


def read_with(model: str, chosen: list[LabelledSet], **options: Any) -> tuple[dict[str, Any], float]:
    """Returns a model's predictions by set and file, and its seconds of a document, parsing and loading included."""
    plan = RunPlan.of(model=model, on_missing="guess", on_empty="write", **options)
    begun = time.perf_counter()
    found = predict_sets(chosen, plan, model)
    return found, (time.perf_counter() - begun) / max(1, sum(len(one.truths) for one in chosen))


def summary_of(model: str, chosen: list[LabelledSet], **options: Any) -> dict[str, Any]:
    """Returns the figures of a model on these sets, and its seconds of a document."""
    found, seconds = read_with(model, chosen, **options)
    return summarise({one.name: score_set(one, found[one.name]) for one in chosen}) | {"seconds": round(seconds, 2)}


def main() -> None:
    """Prints the figures of each set and their means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--limit", type=int, help="documents of each set")
    parser.add_argument("--model", default="default")
    parser.add_argument("--effort", default="medium")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--beside-constant", action="store_true", help="the F1 of the best constant answer as well")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    chosen = unseen_sets(asked.sets, asked.limit)
    summary = summary_of(asked.model, chosen, effort=asked.effort, device=asked.device)
    if asked.json:
        print(json.dumps(summary))
    else:
        beside = {one.name: best_constant_of(one)["f1"] for one in chosen} if asked.beside_constant else {}
        print_figures(summary, beside)


if __name__ == "__main__":
    main()
