"""`cinnabar train` fine-tunes a model on labelled documents."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cinnabar.apps.cli.console import standard_output, table
from cinnabar.apps.cli.evaluate import warn_of_broken
from cinnabar.apps.cli.options import AsJson
from cinnabar.engine.models.identity import fingerprint_of
from cinnabar.engine.models.language.configuration import is_checkpoint
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.records.validation import Validator
from cinnabar.extraction.plan.run_options import Device
from cinnabar.extras import check_extra
from cinnabar.schemas import load_schema

if TYPE_CHECKING:
    from cinnabar.extraction.learning.tuning_sets import FineTuned

_Minutes = Annotated[
    float | None, typer.Option(metavar="N", help="The most minutes; by default 4 to 12, by the number of documents.")
]


def train(
    sets: Annotated[
        list[Path] | None, typer.Argument(metavar="SET...", help="Folders with schema.json and truth.jsonl.")
    ] = None,
    *,
    out: Annotated[Path, typer.Option(metavar="MODEL", help="Folder of the new model.")],
    model: Annotated[str | None, typer.Option(metavar="BASE", help="The base; by default the shipped model.")] = None,
    device: Annotated[Device, typer.Option(help="The device of the training.")] = "auto",
    minutes: _Minutes = None,
    steps: Annotated[int | None, typer.Option(metavar="N", help="The most steps, in place of minutes.")] = None,
    fields: Annotated[bool, typer.Option("--fields", help="Print F1 before and after for each field as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fine-tune a model on labelled documents of your own; an interrupted run resumes.

    A fifth of each set is held back. The command prints its scores before and after, and writes the new model
    only if it is better. The model stores its difference from the base, a few megabytes.

    \b
    Examples:
      cinnabar train my_receipts --out models/receipts
      cinnabar extract inbox --schema receipt.json --model models/receipts --out results
    """
    sets = sets or []
    if minutes is not None and not 0 < minutes < math.inf:
        raise UsageError(f"--minutes: expected a finite number above 0, got {minutes}")
    if steps is not None and (steps < 1 or minutes is not None):
        raise UsageError(f"--steps: expected at least 1, without --minutes, got {steps}")
    check_sets(sets)
    if model is not None and is_checkpoint(model):
        raise UsageError(f"--model {model}: a language model; train it with PEFT or TRL")
    check_extra("learn", "cinnabar train")
    base = model or "default"
    fingerprint_of(base)
    make_folder(out)
    from cinnabar.extraction.learning.fine_tuning import FineTuning, fine_tune  # Cold start: Torch takes a second.

    for folder in sets:
        warn_of_truths(folder)
    settings = FineTuning(minutes, steps=steps)
    with _Watch(by_steps=steps is not None) as watch:
        done = fine_tune(sets, base, out, settings, device, watch)
    if as_json:
        print(json.dumps(asdict(done) | {"out": str(out) if done.kept else None}))
    else:
        report_tuning(done, base, out, fields)


class _Watch:
    """The progress of fine-tuning: a bar of its schedule on a terminal, elsewhere a line for each measurement."""

    def __init__(self, by_steps: bool) -> None:
        console = Console(stderr=True)
        self._seen = console.is_terminal
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[f1]}"),
        )
        self._progress = Progress(*columns, console=console, disable=not self._seen)
        self._task = self._progress.add_task("reading", total=None, f1="")
        self._scores: list[float] = []
        self._unit = "step" if by_steps else "minutes"

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, row: dict[str, float]) -> None:
        if "held_back" in row:
            self._scores.append(row["held_back"])
            figures = f"f1 on held-back documents {row['held_back']:.2f}, best {max(self._scores):.2f}"
            self._progress.update(self._task, f1=figures)
            if not self._seen:
                most = f"{row['of']:.0f} steps" if self._unit == "step" else f"{row['of']:.1f} minutes"
                spent = f"{row['minutes']:.1f} minutes, at most {most}"
                typer.echo(f"step {row['step']:.0f}  {spent}  {figures}", err=True)
        self._progress.update(
            self._task,
            description=f"training, step {row['step']:.0f}",
            total=row["of"],
            completed=row[self._unit],
        )


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
