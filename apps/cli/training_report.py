"""Checks and reports that the trainings of `cinnabar train` share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cinnabar.apps.cli.console import standard_output, table
from cinnabar.apps.cli.evaluate import warn_of_broken
from cinnabar.extraction.reading.records.validation import Validator
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import UsageError

if TYPE_CHECKING:
    from cinnabar.extraction.learning.tuning_sets import FineTuned


def check_sets(sets: Sequence[Path]) -> None:
    """Raises UsageError if a set lacks its schema or its truth, or if there is no set."""
    if not sets:
        raise UsageError("SET: expected a folder with labelled documents, found none; see docs/fine-tuning.md")
    wrong = [str(s) for s in sets if not all((s / name).is_file() for name in ("schema.json", "truth.jsonl"))]
    if wrong:
        raise UsageError(
            f"{', '.join(wrong)}: expected folders; a set has schema.json, truth.jsonl and documents"
        )


def make_folder(out: Path) -> None:
    """Makes the folder of the new model. Raises UsageError if that cannot be done."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: expected a folder that can be written: {error.strerror}") from error


def warn_of_truths(folder: Path) -> None:
    """Prints to standard error which truths the set's own schema does not allow, as `eval` does."""
    # Cold start: Torch takes a second.
    from cinnabar.extraction.learning.evaluation import broken_truths
    from cinnabar.extraction.run.work.labelled_sets import load_set

    labelled = load_set(folder)
    warn_of_broken(labelled.name, broken_truths(labelled.truths, Validator(load_schema(folder / "schema.json"))))


def report_tuning(done: FineTuned, base: str, out: Path, fields: bool) -> None:
    """Prints what a training changed: scores of the sets before and after, and whether the model was kept."""
    console = standard_output()
    rows = [(r.name, r.trained, r.checked, r.measured, r.before["f1"], r.after["f1"]) for r in done.sets]
    console.print(table(("set", "trained on", "stopped by", "measured on", "f1 before", "f1 after"), rows))
    if fields:
        by_field = [
            (r.name, path, after["support"], r.before["fields"].get(path, {}).get("f1"), after["f1"])
            for r in done.sets
            for path, after in r.after["fields"].items()
        ]
        console.print(table(("set", "field", "values", "f1 before", "f1 after"), by_field))
    if not done.kept:
        print(f"not better than {base}: nothing was kept; more or other documents may help")
        return
    for one in done.sets:
        for path, after in one.after["fields"].items():
            before = one.before["fields"].get(path, {}).get("f1", 0.0)
            if after["support"] and after["f1"] < before:
                figures = f"f1 {before} before, {after['f1']} after, {after['support']} measured"
                print(f"worse: {one.name} {path}: {figures}; more documents that have it may help")
    if not all(r.apart for r in done.sets):
        print("the few documents measured also decided when to stop: expect slightly lower scores on others")
    print(f"{done.size / 1e6:.1f} MB; use it with: --model {out}")


class ProgressLines:
    """Prints a line to standard error for every twenty steps."""

    def __init__(self, minutes: float) -> None:
        self.minutes = minutes

    def __call__(self, row: dict[str, float]) -> None:
        parts = {k: v for k, v in row.items() if k not in ("step", "minutes", "of", "rate")}
        losses = "  ".join(f"{name} {value:.2f}" for name, value in parts.items())
        typer.echo(
            f"step {row['step']:.0f}  {row['minutes']:.1f} of {self.minutes:g} minutes  {losses}", err=True
        )
