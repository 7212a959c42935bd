"""Scores several models beside each other on documents that the shipped weights were not trained on.

    python -m bench models_beside ../shared/data/sroie --models reader qwen2.5-coder-0.5b auto --limit 5
    python -m bench models_beside ../shared/data --settings --limit 3

A set counts as in `held_back_report`. The seconds are those of a document, parsing and loading included. `--settings`
prints what `auto` is worth at each of its settings; the reader's record is that of a document that is not asked.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from bench.held_back_report import read_with, summary_of, unseen_sets
from cinnabar.apps.cli.console import standard_output, table
from cinnabar.extraction.filling.escalation import SETTINGS, likely_right
from cinnabar.extraction.learning.evaluation import leaves_of, score_set, summarise
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet

#: The figures that are told of each model, means over the sets.
TOLD = ("f1", "scalars", "lists", "invented", "ece", "value_ece", "null_ece", "value_auc", "coverage95")


def settings_of_auto(chosen: list[LabelledSet], device: str) -> list[list[str]]:
    """Returns for each setting: share asked, seconds, F1, right values of a document, wrong and all values at .9."""
    (lower, quick), (upper, slow) = (
        read_with(model, chosen, device=device, **more) for model, more in (("reader", {}), ("auto", {"below": 1.0}))
    )
    rows = []
    for below in [one.below for one in SETTINGS]:
        found: dict[str, dict[str, Any]] = {}
        asked, right, sure = 0, 0, list[bool]()
        for one in chosen:
            mine = found[one.name] = {}
            for line in one.truths:
                read = lower[one.name][line["file"]]
                doubted = likely_right(read["confidence"], read["lists"]) < below
                own = mine[line["file"]] = upper[one.name][line["file"]] if doubted else read
                leaves = list(leaves_of(line, own["record"], **one.options))
                asked, right = asked + doubted, right + sum(leaf.right for leaf in leaves)
                sure += [leaf.right for leaf in leaves if own["confidence"].get(leaf.pointer, 0.0) >= 0.9]
        count = sum(len(one.truths) for one in chosen)
        f1 = summarise({one.name: score_set(one, found[one.name]) for one in chosen})["f1"]
        figures = (asked / count, quick + asked / count * (slow - quick), f1, right / count)
        rows.append([f"{below:g}", *(f"{one:.3f}" for one in figures), f"{sure.count(False)} of {len(sure)}"])
    return rows


def main() -> None:
    """Prints F1 of each set and model, and the means below."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--models", nargs="+", default=["reader", "auto"])
    parser.add_argument("--limit", type=int, help="documents of each set")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--settings", action="store_true", help="of `auto` instead")
    asked = parser.parse_args()
    chosen = unseen_sets(asked.sets, asked.limit)
    if asked.settings:
        heads = ("--below", "asked", "seconds", "F1", "right", "wrong at .9")
        standard_output().print(table(heads, settings_of_auto(chosen, asked.device)))
        return
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
