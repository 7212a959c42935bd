"""Scores several models beside each other on documents that the shipped weights were not trained on.

    python -m bench models_beside ../shared/data/sroie --models reader qwen2.5-coder-0.5b auto --limit 5

A set counts as in `held_back_report`. The seconds are those of a document, parsing and loading included.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench.held_back_report import summary_of, unseen_sets
from cinnabar.apps.cli.console import standard_output, table

#: The figures that are told of each model, means over the sets.
TOLD = ("f1", "scalars", "lists", "invented", "ece", "value_ece", "null_ece", "value_auc", "coverage95")


def main() -> None:
    """Prints F1 of each set and model, and the means below."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--models", nargs="+", default=["reader", "auto"])
    parser.add_argument("--limit", type=int, help="documents of each set")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    chosen = unseen_sets(asked.sets, asked.limit)
    found = {model: summary_of(model, chosen, device=asked.device) for model in asked.models}
    if asked.json:
        print(json.dumps(found))
        return
    rows = [[one.name, *(f"{found[model]['sets'][one.name]['f1']:.3f}" for model in found)] for one in chosen]
    for name in (*TOLD, "seconds"):
        means = [found[model].get(name) for model in found]
        if any(mean is not None for mean in means):
            rows.append([f"mean {name}", *("–" if mean is None else f"{mean:.3f}" for mean in means)])
    standard_output().print(table(("", *found), rows))


if __name__ == "__main__":
    main()
