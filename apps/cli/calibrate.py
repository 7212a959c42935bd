"""`cinnabar calibrate` fits a model's confidence on labelled documents."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinnabar.apps.cli.console import Bar, standard_output, table
from cinnabar.apps.cli.options import AsJson, DeviceOption, takes_options
from cinnabar.extraction.learning.reliability import reliability_svg
from cinnabar.extraction.learning.scoring import means_of_lists
from cinnabar.extraction.plan.run_options import Device, RunOptions
from cinnabar.extraction.reading.model_sources import local_folder
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.extras import check_extra

if TYPE_CHECKING:
    from cinnabar.extraction.run.work.labelled_sets import LabelledSet


@takes_options("workers")
def calibrate(
    sets: Annotated[list[Path], typer.Argument(metavar="SET...", help="Labelled sets, or folders of sets.")],
    model: Annotated[
        str, typer.Option(metavar="M", help="The model to calibrate; the result is written to its folder.")
    ] = "default",
    limit: Annotated[int, typer.Option(metavar="N", help="The most documents of each set.")] = 30,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keeps the model's readings, so that fitting again takes seconds."),
    ] = None,
    diagram: Annotated[
        Path | None, typer.Option(metavar="SVG", help="Draw confidence against the share of right values.")
    ] = None,
    device: DeviceOption = "auto",
    as_json: AsJson = False,
    **run_options: Any,
) -> None:
    """Fit a model's confidence on labelled documents, without those that `cinnabar train` took for training.

    The command prints the calibration error before and after, by cross-validation: each part of the sets is
    measured with a fit on the other parts. For lists it prints how well the confidence tells complete lists from
    others. The fit of a fine-tuned model starts from that of its base.

    \b
    Examples:
      cinnabar calibrate my_set --model models/mine
      cinnabar calibrate my_sets --model models/mine --cache runs/calibration --diagram reliability.svg
    """
    check_extra("learn", "cinnabar calibrate")
    options = CalibrateOptions(model, limit, cache, diagram, device, RunOptions(**run_options).workers, as_json)
    from cinnabar.extraction.run.work.labelled_sets import find_sets  # Cold start: Torch takes a second.

    calibrate_on([one for path in sets for one in find_sets(path)], options)


@dataclass(frozen=True, slots=True)
class CalibrateOptions:
    """The options of `cinnabar calibrate`. Raises UsageError for a limit below 1, and for files that cannot be written.

    The folder of the cache is made.
    """

    model: str
    limit: int
    cache: Path | None
    diagram: Path | None
    device: Device
    workers: int
    as_json: bool = False

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise UsageError(f"--limit: expected at least 1, got {self.limit}")
        _check_writable(local_folder(self.model) / "calibration.json", "--model")
        if self.diagram is not None:
            _check_writable(self.diagram, "--diagram")
        if self.cache is not None:
            try:
                self.cache.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"--cache: {self.cache} is no folder that can be made: {error.strerror}") from error


def calibrate_on(sets: Sequence[LabelledSet], options: CalibrateOptions, only_lists: Collection[str] = ()) -> None:
    """Fits the confidence of a model on these sets, writes it into the model's folder, and prints its quality.

    only_lists: the names of sets that only tell whether lists are complete.
    """
    # Cold start: Torch takes a second.
    from cinnabar.extraction.learning.calibrating import LEAVES, worth
    from cinnabar.extraction.learning.calibrating import calibrate as fit_confidence

    names = [one.name for one in sets]
    if len(set(names)) < len(names) or not names:
        raise UsageError("expected sets with different names, found " + (", ".join(sorted(names)) or "none"))
    with Bar() as bar:
        bar.begin(sum(min(options.limit, len(one.truths)) for one in sets))
        result = fit_confidence(
            sets, options.model, options.device, options.cache, options.limit, options.workers, bar.step, only_lists
        )

    known = frozenset(names)
    groups = {"all sets": known}
    if known & result.trained_on and known - result.trained_on:
        groups |= {"trained on": known & result.trained_on, "left out": known - result.trained_on}
    figures: dict[str, dict[str, Any]] = {}
    lists: dict[str, dict[str, Any]] = {}
    for group, members in groups.items():
        if rated := result.lists(members):
            lists[group] = means_of_lists(rated)
        for kind, families in {group: LEAVES, f"{group}: values": LEAVES[:1], f"{group}: nulls": LEAVES[1:]}.items():
            seen, before, after = result.leaves(members, families)
            if seen:
                figures[kind] = {"before": asdict(worth(seen, before)), "after": asdict(worth(seen, after))}
    if options.diagram is not None:
        seen, before, after = result.leaves()
        right = [one.right for one in seen]
        panels = [("as the model says", list(zip(before, right, strict=True)))]
        panels.append(("calibrated on other sets", list(zip(after, right, strict=True))))
        options.diagram.write_text(reliability_svg(panels), encoding="utf-8")
    if options.as_json:
        print(json.dumps(figures | ({"complete lists": lists} if lists else {})))
        return
    columns = ("", "", "sets", "leaves", "ece", "mean ece", "coverage95", "mean coverage95", "mean auc")
    rows = [
        [group, when, f["sets"], f["leaves"], *("–" if f[k] is None else f"{f[k]:.3f}" for k in _SHOWN)]
        for group, both in figures.items()
        for when, f in both.items()
    ]
    standard_output().print(table(columns, rows))
    if lists:
        rows = [[group, *(f[k] for k in _OF_LISTS)] for group, f in lists.items()]
        standard_output().print(table(("lists", *_OF_LISTS), rows))
    print(f"written: {local_folder(options.model) / 'calibration.json'}")


_SHOWN = ("error", "mean_error", "covered", "mean_covered", "mean_auc")
_OF_LISTS = ("sets", "rated_lists", "complete", "list_auc", "mean_auc", "list_ece", "mean_ece")


def _check_writable(path: Path, option: str) -> None:
    """Raises UsageError if the file cannot be written, before minutes of work."""
    try:
        there = path.exists()
        path.open("a").close()
        if not there:
            path.unlink()
    except OSError as error:
        raise UsageError(f"{option}: {path} cannot be written: {error.strerror}") from error
