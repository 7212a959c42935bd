"""Fits a model's confidence on labelled documents that did not train it, and prints what it is worth.

    python -m bench.list_layouts runs/lists/calibration --documents 96 --part tuning --seed 31 --rows 6 150
    python -m training.calibrate ../shared/data --lists runs/lists/calibration --cache runs/calibration \\
        --diagram docs/pictures/reliability.svg
    python -m training.calibrate my_set --model my_model

Of a set that trains the shipped weights the documents held back count, of a set that the recipe leaves out any; other
sets are passed over. For another model all documents count but those that
`cinnabar improve` took. The sets of `--lists` only tell whether lists are complete: labelled documents with long lists
are few. The calibration error is printed before and after, by cross-validation: each part of the sets is measured with
a fit on the other parts.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from jinja2 import Environment, StrictUndefined

from cinnabar.apps.cli.console import Bar, standard_output, table
from cinnabar.engine.models.releases import RELEASED
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.model_sources import local_folder
from cinnabar.extraction.learning.scoring import CALIBRATION_BINS, Figures, calibration_error, list_figures
from cinnabar.extraction.plan.run_options import Device
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, find_sets
from training.confidence_fit import LEAVES, Calibrated, calibrate, worth
from training.labelled import held_back_part
from training.recipe import Recipe, load_recipe

_SHOWN = ("error", "mean_error", "covered", "mean_covered", "mean_auc")
_OF_LISTS = ("sets", "rated_lists", "complete", "list_auc", "mean_auc", "list_ece", "mean_ece")


def sets_of_recipe(sets: list[LabelledSet], recipe: Recipe) -> list[LabelledSet]:
    """Returns the sets that the recipe names, with the documents that it keeps from training."""
    return [held_back_part(one, recipe) for one in sets if one.name in recipe.sets or one.name in recipe.left_out]


def groups_of(names: Collection[str], trained_on: Collection[str]) -> dict[str, frozenset[str]]:
    """Returns the sets that are told together: all, those that trained the model, and the others."""
    groups = {"all sets": frozenset(names)}
    trained = groups["all sets"] & frozenset(trained_on)
    if trained and trained < groups["all sets"]:
        groups |= {"trained on": trained, "left out": groups["all sets"] - trained}
    return groups


def means_of_lists(by_set: Mapping[str, Sequence[tuple[float, bool]]]) -> Figures:
    """Returns the figures of the lists of several sets together, and the means over the sets.

    A set with complete lists only, or without any, does not enter the mean of the areas.
    """
    each = [list_figures(own) for own in by_set.values()]
    areas = [figures["list_auc"] for figures in each if figures["list_auc"] is not None]
    return {
        "sets": len(each),
        **list_figures([one for own in by_set.values() for one in own]),
        "mean_auc": round(sum(areas) / len(areas), 4) if areas else None,
        "mean_ece": round(sum(figures["list_ece"] for figures in each) / len(each), 4),
    }


def print_worth(done: Calibrated, names: Collection[str]) -> None:
    """Prints the error of the confidence before and after the fit, and how it tells complete lists from others."""
    columns = ("", "", "sets", "leaves", "ece", "mean ece", "coverage95", "mean coverage95", "mean auc")
    rows, lists = [], []
    for group, members in groups_of(names, done.trained_on).items():
        if rated := done.lists(members):
            figures = means_of_lists(rated)
            lists.append([group, *(figures[key] for key in _OF_LISTS)])
        for kind, families in {group: LEAVES, f"{group}: values": LEAVES[:1], f"{group}: nulls": LEAVES[1:]}.items():
            seen, before, after = done.leaves(members, families)
            for when, told in (("before", before), ("after", after)) if seen else ():
                of = asdict(worth(seen, told))
                shown = ("–" if of[key] is None else f"{of[key]:.3f}" for key in _SHOWN)
                rows.append([kind, when, of["sets"], of["leaves"], *shown])
    standard_output().print(table(columns, rows))
    if lists:
        standard_output().print(table(("lists", *_OF_LISTS), lists))


def draw(done: Calibrated, diagram: Path) -> None:
    """Writes an SVG of the confidence against the share of right values."""
    seen, before, after = done.leaves()
    right = [one.right for one in seen]
    panels: Sequence[tuple[str, list[tuple[float, bool]]]] = (
        ("as the model says", list(zip(before, right, strict=True))),
        ("calibrated on other sets", list(zip(after, right, strict=True))),
    )
    diagram.write_text(reliability_svg(panels), encoding="utf-8")


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
    found = [one for path in asked.sets for one in find_sets(path)]
    lists = [] if asked.lists is None else find_sets(asked.lists)
    ours = asked.model == "default" or asked.model in RELEASED
    sets = [*(sets_of_recipe(found, load_recipe()) if ours else found), *lists]
    names = [one.name for one in sets]
    if len({*names}) < len(names) or not names:
        raise UsageError("expected sets with different names, found " + (", ".join(sorted(names)) or "none"))
    with Bar() as bar:
        bar.on_inputs(sum(min(asked.limit, len(one.truths)) for one in sets))
        done = calibrate(
            sets, asked.model, asked.device, asked.cache, asked.limit, asked.workers, bar.step,
            [one.name for one in lists],
        )  # fmt: skip
    print_worth(done, names)
    if asked.diagram is not None:
        draw(done, asked.diagram)
    print(f"written: {local_folder(asked.model) / 'calibration.json'}")



# Draws a reliability diagram: the share of right leaves against their confidence.

_Rated = Sequence[tuple[float, bool]]


def reliability_svg(panels: Sequence[tuple[str, _Rated]]) -> str:
    """Returns the panels side by side as an SVG: for each bin the share of right leaves against the mean confidence.

    The dashed line is perfect calibration; a bar's opacity grows with the share of leaves in its bin.
    """
    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = made.from_string(Path(__file__).with_name("reliability.svg").read_text("utf-8"))
    return template.render(panels=[_panel(title, rated) for title, rated in panels], bins=CALIBRATION_BINS)


def _panel(title: str, rated: _Rated) -> dict[str, Any]:
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for confidence, right in rated:
        bins[min(CALIBRATION_BINS - 1, int(confidence * CALIBRATION_BINS))].append((confidence, right))
    most = max(map(len, bins.values()), default=1)
    drawn = [
        {
            "number": number,
            "leaves": len(own),
            "mean": sum(confidence for confidence, _ in own) / len(own),
            "right": sum(right for _, right in own) / len(own),
            "weight": len(own) / most,
        }
        for number, own in sorted(bins.items())
    ]
    error = calibration_error(rated) if rated else 0.0
    return {"title": title, "leaves": len(rated), "error": error, "bins": drawn}


if __name__ == "__main__":
    main()
