"""`cinnabar train`: a model of one's own from labelled documents, or the shipped one from its recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cinnabar.engine.models.identity import model_folder
from cinnabar.flows.cli.extract import Device
from cinnabar.schemas.errors import UsageError


def train(
    sets: Annotated[
        list[Path], typer.Argument(metavar="SET...", help="Folders with schema.json and truth.jsonl.")
    ],
    out: Annotated[Path, typer.Option(metavar="MODEL", help="Folder of the new model.")],
    model: Annotated[
        str | None,
        typer.Option(metavar="BASE", help="The model to start from; the shipped one, or its encoder alone."),
    ] = None,
    device: Annotated[Device, typer.Option(help="Where training runs.")] = Device.AUTO,
    minutes: Annotated[float, typer.Option(metavar="N", help="How long training takes.")] = 4.0,
    recipe: Annotated[
        bool,
        typer.Option(
            "--recipe",
            help="Train the shipped weights, anew or on from BASE; SET is the folder that holds the sets.",
        ),
    ] = False,
) -> None:
    """Fine-tune a model on labelled documents of your own; a cut run goes on where it was.

    A fifth of each set is kept for measuring; what it scores before and after is printed, and the new model
    is written only where it is better.

    \b
    Examples:
      cinnabar train my_receipts --out models/receipts
      cinnabar extract inbox --schema receipt.json --model models/receipts --out results
    """
    if minutes <= 0:
        raise UsageError(f"--minutes: expected more than 0, got {minutes}")
    wanted = [] if recipe else ["schema.json", "truth.jsonl"]
    wrong = [str(s) for s in sets if not s.is_dir() or not all((s / name).is_file() for name in wanted)]
    if wrong:
        raise UsageError(
            f"{', '.join(wrong)}: expected folders; a set has schema.json, truth.jsonl and documents"
        )
    if recipe and len(sets) != 1:
        raise UsageError(f"--recipe: expected one folder that holds the sets, got {len(sets)}")
    if model is not None or not recipe:
        model_folder(model or "default")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: expected a folder that can be written: {error.strerror}") from error
    from cinnabar.flows.cli.console import standard_output, table

    if recipe:
        from cinnabar.extraction.training import train_shipped

        train_shipped(sets[0], out, model, minutes, device.value, _Progress(minutes), print)
        print(f"measure the new weights with: cinnabar eval SETS --model {out / 'model'}")
        return
    from cinnabar.extraction.training import FineTuning, fine_tune

    base = model or "default"
    result = fine_tune(sets, base, out, FineTuning(minutes=minutes), device.value, _Progress(minutes))
    rows = [(r.name, r.trained, r.measured, r.before, r.after) for r in result.sets]
    standard_output().print(table(("set", "trained on", "measured on", "f1 before", "f1 after"), rows))
    if result.kept:
        print(f"use it with: --model {out}")
    else:
        print(f"not better than {base}: nothing was kept; more or other documents may help")


class _Progress:
    """A line on standard error for every twenty steps, on a terminal in place."""

    def __init__(self, minutes: float) -> None:
        self.minutes = minutes

    def __call__(self, row: dict[str, float]) -> None:
        parts = {k: v for k, v in row.items() if k not in ("step", "minutes", "rate")}
        losses = "  ".join(f"{name} {value:.2f}" for name, value in parts.items())
        typer.echo(
            f"step {row['step']:.0f}  {row['minutes']:.1f} of {self.minutes:g} minutes  {losses}", err=True
        )
