"""`cinnabar train` fine-tunes a model on labelled documents, or trains the shipped one from its recipe."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer

from cinnabar.engine.models.identity import fingerprint_of
from cinnabar.extraction.run_options import Device
from cinnabar.flows.cli.options import AsJson
from cinnabar.schemas.errors import UsageError

if TYPE_CHECKING:
    from cinnabar.extraction.quality.fine_tuning import FineTuned

# The default minutes of `--recipe`.
_RECIPE_MINUTES = 240.0


def train(
    sets: Annotated[
        list[Path], typer.Argument(metavar="SET...", help="Folders with schema.json and truth.jsonl.")
    ],
    out: Annotated[Path, typer.Option(metavar="MODEL", help="Folder of the new model.")],
    model: Annotated[
        str | None,
        typer.Option(metavar="BASE", help="The base; by default the shipped model, with --recipe its encoder."),
    ] = None,
    device: Annotated[Device, typer.Option(help="The device of the training.")] = "auto",
    minutes: Annotated[
        float | None,
        typer.Option(metavar="N", help="The most minutes; by default 4 to 12, by the number of documents."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(metavar="N", help="The most steps, in place of minutes.")
    ] = None,
    fields: Annotated[
        bool, typer.Option("--fields", help="Print F1 before and after for each field as well.")
    ] = False,
    as_json: AsJson = False,
    recipe: Annotated[
        bool,
        typer.Option(
            "--recipe",
            help="Train the shipped weights, anew or from BASE; SET is the folder that holds the sets.",
        ),
    ] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="SET", help="With --recipe: a set or text to leave out."),
    ] = None,
) -> None:
    """Fine-tune a model on labelled documents of your own; an interrupted run resumes.

    A fifth of each set is held back. The command prints its scores before and after, and writes the new model
    only if it is better. The model stores its difference from the base, a few megabytes.

    \b
    Examples:
      cinnabar train my_receipts --out models/receipts
      cinnabar extract inbox --schema receipt.json --model models/receipts --out results
    """
    if minutes is not None and not 0 < minutes < math.inf:
        raise UsageError(f"--minutes: expected a finite number above 0, got {minutes}")
    if steps is not None and (steps < 1 or minutes is not None or recipe):
        raise UsageError(f"--steps: expected at least 1, without --minutes and --recipe, got {steps}")
    wanted = [] if recipe else ["schema.json", "truth.jsonl"]
    wrong = [str(s) for s in sets if not s.is_dir() or not all((s / name).is_file() for name in wanted)]
    if wrong:
        raise UsageError(
            f"{', '.join(wrong)}: expected folders; a set has schema.json, truth.jsonl and documents"
        )
    if recipe and len(sets) != 1:
        raise UsageError(f"--recipe: expected one folder that holds the sets, got {len(sets)}")
    if without and not recipe:
        raise UsageError("--without: expected with --recipe; otherwise leave the set out of the command")
    if model is not None or not recipe:
        fingerprint_of(model or "default")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: expected a folder that can be written: {error.strerror}") from error
    if recipe:
        from cinnabar.extraction.quality.training import train_shipped

        most = minutes or _RECIPE_MINUTES
        train_shipped(sets[0], out, model, most, device, _Lines(most), print, without or ())
        print(f"measure the new weights with: cinnabar eval SETS --model {out / 'model'}")
        return
    from cinnabar.extraction.quality.fine_tuning import FineTuning, fine_tune

    base = model or "default"
    for folder in sets:
        _tell_truths(folder)
    settings = FineTuning(minutes, steps=steps)
    with _Watch(by_steps=steps is not None) as watch:
        done = fine_tune(sets, base, out, settings, device, watch)
    if as_json:
        print(json.dumps(asdict(done) | {"out": str(out) if done.kept else None}))
    else:
        _report(done, base, out, fields)


def _tell_truths(folder: Path) -> None:
    """Prints to standard error which truths the set's own schema does not allow, as `eval` does."""
    from cinnabar.extraction.quality.evaluation import broken_truths, load_set
    from cinnabar.extraction.records.validation import Validator
    from cinnabar.flows.cli.evaluate import tell_broken
    from cinnabar.schemas import load_schema

    labelled = load_set(folder)
    tell_broken(labelled.name, broken_truths(labelled.truths, Validator(load_schema(folder / "schema.json"))))


def _report(done: FineTuned, base: str, out: Path, fields: bool) -> None:
    from cinnabar.flows.cli.console import standard_output, table

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
                found = f"f1 {before} before, {after['f1']} after, {after['support']} measured"
                print(f"worse: {one.name} {path}: {found}; more documents that have it may help")
    if not all(r.apart for r in done.sets):
        print("the few documents measured also decided when to stop: expect slightly lower scores on others")
    print(f"{done.size / 1e6:.1f} MB; use it with: --model {out}")


class _Lines:
    """Prints a line to standard error for every twenty steps."""

    def __init__(self, minutes: float) -> None:
        self.minutes = minutes

    def __call__(self, row: dict[str, float]) -> None:
        parts = {k: v for k, v in row.items() if k not in ("step", "minutes", "of", "rate")}
        losses = "  ".join(f"{name} {value:.2f}" for name, value in parts.items())
        typer.echo(
            f"step {row['step']:.0f}  {row['minutes']:.1f} of {self.minutes:g} minutes  {losses}", err=True
        )


class _Watch:
    """The progress of fine-tuning: a bar of its schedule on a terminal, elsewhere a line for each measurement."""

    def __init__(self, by_steps: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

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
        self._found: list[float] = []
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
            self._found.append(row["held_back"])
            said = f"f1 on held-back documents {row['held_back']:.2f}, best {max(self._found):.2f}"
            self._progress.update(self._task, f1=said)
            if not self._seen:
                most = f"{row['of']:.0f} steps" if self._unit == "step" else f"{row['of']:.1f} minutes"
                spent = f"{row['minutes']:.1f} minutes, at most {most}"
                typer.echo(f"step {row['step']:.0f}  {spent}  {said}", err=True)
        self._progress.update(
            self._task,
            description=f"training, step {row['step']:.0f}",
            total=row["of"],
            completed=row[self._unit],
        )
