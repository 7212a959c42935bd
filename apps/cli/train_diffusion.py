"""`cinnabar train --diffusion` fine-tunes a diffusion language model on labelled documents."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from cinnabar.apps.cli.training_report import ProgressLines, check_sets, make_folder, report_tuning, warn_of_truths
from cinnabar.engine.models.language.configuration import checkpoint_folder
from cinnabar.extraction.plan.run_options import Device
from cinnabar.schemas.errors import UsageError

# The default minutes.
_MINUTES = 30.0


@dataclass(frozen=True, slots=True)
class DiffusionOptions:
    """The options of `cinnabar train` that apply to a diffusion language model."""

    sets: Sequence[Path]
    out: Path
    model: str | None
    device: Device
    minutes: float | None
    steps: int | None
    rank: int | None
    rate: float | None
    fields: bool
    as_json: bool


def train_diffusion_model(options: DiffusionOptions) -> None:
    """Trains and prints the result. Raises UsageError if options do not go together."""
    if options.minutes is not None and not 0 < options.minutes < math.inf:
        raise UsageError(f"--minutes: expected a finite number above 0, got {options.minutes}")
    if options.steps is not None and (options.steps < 1 or options.minutes is not None):
        raise UsageError(f"--steps: expected at least 1, without --minutes, got {options.steps}")
    if options.rank is not None and options.rank < 1:
        raise UsageError(f"--rank: expected at least 1, got {options.rank}")
    if options.rate is not None and not 0 < options.rate < 1:
        raise UsageError(f"--rate: expected above 0 and below 1, got {options.rate}")
    check_sets(options.sets)
    if options.model is None:
        raise UsageError("--diffusion: expected --model FOLDER, a checkpoint as `cinnabar model fetch` brings it")
    base = checkpoint_folder(options.model)
    make_folder(options.out)
    for folder in options.sets:
        warn_of_truths(folder)
    # Cold start: Torch takes a second.
    from cinnabar.extraction.learning.diffusion_tuning import DiffusionTuning, tune_diffusion

    minutes = options.minutes or _MINUTES
    settings = DiffusionTuning(minutes, options.steps, options.rank, options.rate)
    done = tune_diffusion(
        options.sets, base, options.out, settings, options.device, ProgressLines(minutes),
        lambda said: typer.echo(said, err=True),
    )  # fmt: skip
    if options.as_json:
        print(json.dumps(asdict(done) | {"out": str(options.out) if done.kept else None}))
    else:
        report_tuning(done, str(base), options.out, options.fields)
