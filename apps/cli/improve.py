"""`cinnabar improve` trains a model on the documents that a person corrected, or on a labelled set."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from cinnabar.apps.cli.console import LINE_SECONDS, Bar, standard_output, table
from cinnabar.apps.cli.evaluate import warn_of_broken
from cinnabar.apps.cli.lazy_commands import AsJson
from cinnabar.apps.cli.notices import print_notice
from cinnabar.apps.cli.options import OutOption
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.progress import OutcomeTally
from cinnabar.extraction.filling.run_models import sources_of
from cinnabar.extraction.plan.folder_settings import folder_settings
from cinnabar.extraction.plan.run_options import Device, RunPlan
from cinnabar.extraction.run.backfill.backfill import begin_backfill
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batch.improved_models import discard_model, keep_model, waiting_models
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.stored_records import Selection, name_in, names, select, source_of
from cinnabar.extras import check_extra

if TYPE_CHECKING:
    from cinnabar.extraction.learning.improving import Improvement, Stage

#: Values less sure than this are read again by a model that `improve` keeps.
READ_AGAIN_BELOW = 0.8


def improve(
    schema: Annotated[
        str | None,
        typer.Argument(
            metavar="SCHEMA",
            help="As its view is named.",
        ),
    ] = None,
    *,
    out: OutOption,
    labelled: Annotated[
        Path | None, typer.Option("--set", metavar="SET", help="Train on a labelled set.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Use it from now on.")] = False,
    discard: Annotated[bool, typer.Option("--discard", help="Remove it.")] = False,
    again: Annotated[
        bool, typer.Option("--again/--no-again", help="With --keep: read unsure values again.")
    ] = True,
    steps: Annotated[
        int | None, typer.Option(metavar="N", help="Steps of each training.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(metavar="N", help="The most minutes; else 8.")
    ] = None,
    as_json: AsJson = False,
    events: Annotated[bool, typer.Option("--events", help="Progress as JSON lines.")] = False,
    parent: Annotated[int | None, typer.Option(metavar="PID", hidden=True, help="Ends with this parent.")] = None,
) -> None:
    """Train a model on corrected documents, or on a labelled set, and measure it.

    Ten documents are the fewest; twenty are better. A document counts when its record was accepted as a whole, or
    value by value (`cinnabar review`, `cinnabar correct`). The F1 before and after is cross-validated: no document
    is read by a model that was trained on it. The trained model waits until you keep or discard it. An interrupted
    training goes on with the same command.

    \b
    Examples:
      cinnabar improve receipt --out tables --minutes 20 --events
      cinnabar improve receipt --out tables --discard
    """
    schema = _schema_of(schema, out, labelled, keep, discard)
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()
    if keep and schema is not None:
        _keep(out, schema, again, as_json, events)
    elif discard and schema is not None:
        discard_model(out, schema)
        print(json.dumps({"discarded": schema}) if as_json or events else "the trained model was removed")
    else:
        _train(out, schema, labelled, steps, minutes, folder_settings().device, as_json, events)


def _schema_of(schema: str | None, out: Path, labelled: Path | None, keep: bool, discard: bool) -> str | None:
    """Returns the schema whose records train, None with a labelled set. Raises UsageError for options that exclude."""
    if keep and discard:
        raise UsageError("--keep, --discard: expected at most one of them")
    if labelled is not None:
        if keep or discard or schema is not None:
            raise UsageError("--set: expected without SCHEMA, --keep and --discard; the set has its schema")
        return None
    if schema is None:
        raise UsageError("SCHEMA: expected the name of a schema in --out, or --set with a labelled set")
    if not out.is_dir():
        raise UsageError(f"--out {out}: expected the folder that the records lie in")
    return schema if schema in waiting_models(out) else name_in(out, schema)


def _end_with(parent: int) -> None:
    """Interrupts this process once its parent has ended, also if the parent was killed."""
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


def _keep(out: Path, schema: str, again: bool, as_json: bool, events: bool) -> None:
    place = keep_model(out, schema)
    summary = None
    stored = select(out, schema, Selection()) if schema in names(out) else []
    newest = max(stored, key=lambda one: one.run_id, default=None)
    if again and newest is not None:
        # As runs into this folder read from now on.
        source, escalation = sources_of(RunPlan(out=out), str(place))
        schema_source = source_of(out, schema, newest.schema_fingerprint)
        assignment = Assignment(schema_source, source, escalation=escalation)
        with (
            nullcontext(_EventsOfReading()) if events else Bar(out=out) as progress,
            begin_backfill(assignment, out, Selection(below=READ_AGAIN_BELOW), progress).run as begun,
        ):
            summary = None if begun.empty else begun.work_through()
    if as_json or events:
        result = {"kept": str(place), "read_again": None if summary is None else asdict(summary)}
        print(json.dumps(({"event": "result"} if events else {}) | result), flush=True)
        return
    print(f"kept: extract and backfill into {out} read {schema} with {place}; --model default takes the shipped model")
    if summary is not None:
        print(f"read again, because a value was less sure than {READ_AGAIN_BELOW:g}: {summary.written} documents")


def _train(
    out: Path,
    schema: str | None,
    labelled: Path | None,
    steps: int | None,
    minutes: float | None,
    device: Device,
    as_json: bool,
    events: bool,
) -> None:
    # Cold start: Torch takes a second.
    from cinnabar.extraction.learning.corrected_set import corrected_set, labelled_documents
    from cinnabar.extraction.learning.evaluation import broken_truths
    from cinnabar.extraction.learning.improving import MINUTES, Improver, Stage

    if steps is not None and steps < 1:
        raise UsageError(f"--steps: expected at least 1, got {steps}")
    if minutes is not None and (not 0 < minutes < math.inf or steps is not None):
        raise UsageError(f"--minutes: expected a finite number above 0, without --steps, got {minutes:g}")
    check_extra("learn", "cinnabar improve")
    begun, within = time.monotonic(), minutes or MINUTES
    with _StageReport(_event if events else _line(sys.stderr.isatty())) as report:
        report(Stage("reading", 0.0, 0.0, left=60 * within if steps is None else None))
        if labelled is None:
            assert schema is not None
            corrected = corrected_set(out, schema)
        else:
            corrected = labelled_documents(labelled)
            broken = broken_truths(corrected.labelled.truths, Validator(corrected.source))
            warn_of_broken(str(labelled), broken)
        improver = Improver(corrected, out, steps, device, report, within, begun)
        for path in corrected.missing:
            print_notice(f"{path}: not found or not readable any more, left out")
        out.mkdir(parents=True, exist_ok=True)
        improvement = improver.run()
    if events or as_json:
        print(json.dumps(({"event": "result"} if events else {}) | asdict(improvement)), flush=True)
    else:
        _show(improvement, corrected.labelled.name, out)


class _EventsOfReading(OutcomeTally):
    """The progress of reading again, as a JSON object a line."""

    def on_inputs(self, inputs: int) -> None:
        """Tells that none of the documents is read yet."""
        super().on_inputs(inputs)
        self.advance(())

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Tells how many of the documents are read."""
        super().advance(outcomes)
        share = round(self.done / max(1, self.inputs), 3)
        print(json.dumps({"event": "progress", "stage": "reading again", "done": share}), flush=True)


class _StageReport:
    """Tells each stage, and the last one again every 30 seconds, from a thread: reading and measuring tell nothing."""

    def __init__(self, show: Callable[[Stage, bool], None]) -> None:
        self._show, self._lock, self._ended = show, threading.Lock(), threading.Event()
        self._last: tuple[float, Stage] | None = None
        self._again = threading.Thread(target=self._show_again, name="progress", daemon=True)

    def __call__(self, stage: Stage) -> None:
        with self._lock:
            self._last = time.monotonic(), stage
            self._show(stage, False)

    def __enter__(self) -> Self:
        self._again.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def _show_again(self) -> None:
        while not self._ended.wait(LINE_SECONDS):
            with self._lock:
                if self._last is not None:
                    at, stage = self._last
                    more = time.monotonic() - at
                    left = None if stage.left is None else round(max(0.0, stage.left - more), 1)
                    self._show(replace(stage, seconds=round(stage.seconds + more, 1), left=left), True)


def _event(stage: Stage, _again: bool) -> None:
    fields = {"event": "progress", "stage": stage.name, "done": stage.done, "seconds": stage.seconds, "f1": stage.f1}
    print(json.dumps(fields | {"left": stage.left}), flush=True)


def _line(terminal: bool) -> Callable[[Stage, bool], None]:
    """Returns what prints a line for each stage and each repetition; on a terminal one line that changes."""
    shown_stage = ""

    def show(stage: Stage, again: bool) -> None:
        nonlocal shown_stage
        f1 = "" if stage.f1 is None else f", F1 {stage.f1:.2f}"
        left = "" if stage.left is None else f", at most {stage.left:.0f} s left"
        text = f"{stage.name}: {stage.done:.0%}, {stage.seconds:.0f} s{left}{f1}"
        if terminal:
            print(f"\r{text:<70}", end="\n" if stage.done >= 1 else "", file=sys.stderr, flush=True)
        elif again or stage.name != shown_stage:
            print(text, file=sys.stderr, flush=True)
        shown_stage = stage.name

    return show


def _show(improvement: Improvement, schema: str, out: Path) -> None:
    rows = list[tuple[object, ...]]()
    for one in sorted(improvement.fields, key=lambda one: one.before - one.after):
        change = "better" if one.after > one.before else "worse" if one.after < one.before else ""
        rows.append((one.field, one.support, f"{one.before:.2f}", f"{one.after:.2f}", change))
    standard_output().print(table(("field", "values", "f1 before", "f1 after", ""), rows))
    print(
        f"F1 of {improvement.documents} corrected documents, each read by a model that was not trained on it:"
        f" {improvement.before:.2f} before, {improvement.after:.2f} after ({improvement.seconds:.0f} s); of other such"
        f" documents {improvement.gain[0]:+.2f} to {improvement.gain[1]:+.2f} is likely"
    )
    if (told := improvement.confidence) is not None:
        use = "fitted anew" if told.better else "left as it is"
        print(
            f"confidence, {use}: off by {told.before:.0%} before, {told.after:.0%} after a fit on other documents"
            f" ({told.low:.0%} to {told.high:.0%} is likely)"
        )
    name = f"{schema} --out {out}"
    if improvement.better or (told is not None and told.better and not improvement.tells):
        print(f"use it from the next run on: cinnabar improve {name} --keep   (or --discard)")
    else:
        few = f"not better on these {improvement.documents} documents, but so few cannot tell"
        said = "not better" if improvement.tells else few
        print(f"{said}: more corrected documents may help. cinnabar improve {name} --discard   (or --keep)")
