"""Fits the confidence of the shipped weights on the sets of their recipe, without the documents that trained them.

    python -m bench.list_layouts runs/lists/calibration --documents 96 --part tuning --seed 31 --rows 6 150
    python -m training.calibrate ../shared/data --lists runs/lists/calibration --cache runs/calibration \\
        --diagram docs/model/reliability.svg

Of a set that trains the documents held back count, of a set that the recipe leaves out any; other sets are passed over.
The sets of `--lists` only tell whether lists are complete: labelled documents with long lists are few.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from cinnabar.apps.cli.calibrate import CalibrateOptions, calibrate_on
from cinnabar.extraction.plan.run_options import Device
from cinnabar.extraction.run.work.labelled_sets import LabelledSet, find_sets
from training.labelled import held_back_part
from training.recipe import Recipe, load_recipe


def sets_of_recipe(sets: list[LabelledSet], recipe: Recipe) -> list[LabelledSet]:
    """Returns the sets that the recipe names, with the documents that it keeps from training."""
    return [held_back_part(one, recipe) for one in sets if one.name in recipe.sets or one.name in recipe.left_out]


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--model", default="default", help="its folder gets the calibration")
    parser.add_argument("--limit", type=int, default=30, help="documents of each set")
    parser.add_argument("--cache", type=Path, help="keeps the model's readings for a later fit")
    parser.add_argument("--diagram", type=Path, help="an SVG of confidence against the share of right values")
    parser.add_argument("--device", choices=get_args(Device), default="auto")
    parser.add_argument("--workers", type=int, default=2, help="parser processes")
    parser.add_argument("--lists", type=Path, help="a folder of sets that only tell whether lists are complete")
    asked = parser.parse_args()
    options = CalibrateOptions(asked.model, asked.limit, asked.cache, asked.diagram, asked.device, asked.workers)
    found = [one for path in asked.sets for one in find_sets(path)]
    lists = [] if asked.lists is None else find_sets(asked.lists)
    calibrate_on([*sets_of_recipe(found, load_recipe()), *lists], options, [one.name for one in lists])


if __name__ == "__main__":
    main()
