"""The engine: it fills forms from passages and returns whole, valid records."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from cinnabar.engine.batch_state import BatchState, Reopenings
from cinnabar.engine.effort import Effort, effort_of
from cinnabar.engine.fill_progress import Watch, Watcher
from cinnabar.engine.fingerprint import engine_fingerprint
from cinnabar.engine.model import Helped, Model, Row
from cinnabar.engine.request import Passage, RefusedRow, Request, Result
from cinnabar.engine.required import drop_unsupported_choices
from cinnabar.engine.scheduler import cost_of, run
from cinnabar.engine.step import commit
from cinnabar.engine.time_limit import check_time
from cinnabar.engine.timing import time_stage
from cinnabar.schemas.errors import RunError, UsageError
from cinnabar.schemas.form.form import Form

#: Receives the number of steps taken and the record of each request of the batch, in their order.
Observer = Callable[[int, list[str]], None]
# The tokens of a batch on a processor and on other devices (engine/models/reader/batch_sizes.py has the measurement).
_TOKENS, _TOKENS_OF_ACCELERATOR = 8_192, 16_384


class Engine:
    """Fills forms with a model and enforces the schema in every denoising step.

    token_budget: tokens of one batch, passages and slots together; without it the device decides. steps, threshold:
    replace those of `effort`. part: the part of the code that the model is of (engine/version.py). `timings` has the
    seconds spent so far in each stage, `reopenings` the counts of re-opened values.
    Raises UsageError for an unknown effort or a budget below one token.
    """

    def __init__(
        self,
        model: Model,
        effort: Effort | str = "medium",
        token_budget: int | None = None,
        *,
        steps: int | None = None,
        threshold: float | None = None,
        part: str = "reader",
    ) -> None:
        if token_budget is None:
            token_budget = _TOKENS if model.device.type == "cpu" else _TOKENS_OF_ACCELERATOR
        if token_budget < 1:
            raise UsageError(f"token budget: expected at least 1, got {token_budget}")
        self.model = model
        self.effort = effort_of(effort, steps, threshold)
        self.token_budget, self._part = token_budget, part
        self.timings = dict.fromkeys(("encode", "rows", "score", "commit"), 0.0)
        self.reopenings = Reopenings()

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model and of everything in the engine that a record depends on."""
        return engine_fingerprint(self.model.fingerprint, self.effort, self._part)

    @property
    def context_tokens(self) -> int:
        """The most tokens of one passage."""
        return self.model.context_tokens

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of this text, for chunking."""
        return self.model.count_tokens(text)

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """Returns the characters [start, end) that the model reads as one window, for chunking."""
        return self.model.windows(passage)

    def prepare(self, form: Form) -> None:
        """Encodes the questions of a form, which the model keeps for its requests; from any thread."""
        self.model.prepare(form)

    def beside(self, load: Callable[[], Model | None]) -> Engine:
        """Returns this engine, whose model has another one read rows of tables, if it asks for that (`Helped`)."""
        if not isinstance(self.model, Helped):
            return self
        other = copy.copy(self)
        other.model = self.model.beside(load)
        return other

    def fill(
        self, requests: Sequence[Request], observer: Observer | None = None, watcher: Watcher | None = None
    ) -> list[Result]:
        """Returns exactly one result for each request, in their order; no result depends on the other requests.

        Raises RunError if the observer or the watcher fails. A failure within a request becomes its `Failed`.
        """
        costs = [cost_of(request, self.model) for request in requests]
        with torch.inference_mode():
            return run(requests, costs, self.token_budget, lambda batch: self._fill_batch(batch, observer, watcher))

    def _fill_batch(
        self, requests: Sequence[Request], observer: Observer | None, watcher: Watcher | None
    ) -> list[Result]:
        with time_stage(self.timings, "encode"):
            memories = self.model.encode([request.passage for request in requests])
        with time_stage(self.timings, "rows"):
            all_rows = self._rows(requests, memories)
            # Refused places hold no other rows, so the parents keep their numbers.
            rows = [[row for row in own if row.taken] for own in all_rows]
            state = BatchState(requests, memories, rows, self.model.device)
        watch = None if watcher is None else Watch(watcher)
        state.judge()
        if watch is not None:
            watch.look(state, 0)
        state.finish()
        step = 0
        _show(state, step, observer)
        while state.active:
            check_time()
            with time_stage(self.timings, "score"):
                scores = self.model.score(state.forms, state.memories, state.rows, state.canvas)
            with time_stage(self.timings, "commit"):
                state.judge(commit(state, scores, self.effort))
                step += 1
                if watch is not None:
                    watch.look(state, step)
                state.finish()
            _show(state, step, observer)
        self.reopenings.add(state.reopenings)
        filled = [
            replace(
                result,
                refused=_refused_rows(own, request.passage.offset),
                matches={row.anchor + request.passage.offset: row.matches for row in own if row.matches},
            )
            for result, own, request in zip(state.results, all_rows, requests, strict=True)
            if result is not None
        ]
        calibration = self.model.calibration
        if calibration is None:
            return list(filled)
        return [
            drop_unsupported_choices(request.form, calibration.calibrate(request.form, request.passage, result))
            for request, result in zip(requests, filled, strict=True)
        ]

    def _rows(self, requests: Sequence[Request], memories: Sequence[Any]) -> list[list[Row]]:
        """Returns the rows of each request: the known ones, and for its other arrays those that the model finds."""
        asked = [
            at
            for at, request in enumerate(requests)
            if not request.counted or len(request.counted) < len(request.form.arrays)
        ]
        forms = [requests[at].form for at in asked]
        by_request = dict(zip(asked, self.model.find_rows(forms, [memories[at] for at in asked]), strict=True))
        return [_with_known(request, by_request.get(at, [])) for at, request in enumerate(requests)]


def _with_known(request: Request, begun: Sequence[Row]) -> list[Row]:
    """Returns the rows with the known ones in place of those of the same arrays and of arrays within these."""
    number = {-1: -1}
    rows: list[Row] = []
    for at, row in enumerate(begun):
        if row.array not in request.counted and row.parent in number:
            number[at] = len(rows)
            rows.append(replace(row, parent=number[row.parent]))
    length, offset = len(request.passage.text), request.passage.offset
    for array, begins in request.rows:
        rows.append(Row(array, -1, min(max(begins - offset, 0), length), 1.0))
    return rows


def _refused_rows(rows: Sequence[Row], offset: int) -> tuple[RefusedRow, ...]:
    """Returns the places that the model decided against, in characters of the document."""
    return tuple(RefusedRow(row.array, row.anchor + offset, row.probability) for row in rows if not row.taken)


def _show(state: BatchState, step: int, observer: Observer | None) -> None:
    """Hands the current records to the observer; its failure is raised as RunError, not blamed on a request."""
    if observer is None:
        return
    states = state.records()
    try:
        observer(step, states)
    except Exception as error:
        raise RunError(f"the observer failed at step {step}: {error}") from error
