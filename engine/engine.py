"""The engine: it fills forms from passages and returns whole, valid records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from cinnabar.engine.batch_state import BatchState, Reopenings
from cinnabar.engine.constraint import FIRST_LENGTH, Constraint
from cinnabar.engine.effort import Effort, effort_of
from cinnabar.engine.fingerprint import engine_fingerprint
from cinnabar.engine.models.base import Model, Row
from cinnabar.engine.request import Filled, Leaf, Passage, Request, Result
from cinnabar.engine.scheduler import run
from cinnabar.engine.step import commit, constrain
from cinnabar.schemas.canonical import parse
from cinnabar.schemas.errors import RunError, UsageError
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import unescape

#: Receives the number of steps taken and the record of each request of the batch, in their order.
Observer = Callable[[int, list[str]], None]
# A demanded choice that is less probable than this is missing.
_LEAST_CHOICE = 0.5


class Engine:
    """Fills forms with a model and enforces the schema in every denoising step.

    token_budget: tokens of one batch, passages and slots together. steps, threshold: replace those of `effort`.
    `timings` has the seconds spent so far in each stage, `reopenings` the counts of re-opened values and positions.
    Raises UsageError for an unknown effort or a budget below one token.
    """

    def __init__(
        self,
        model: Model,
        effort: Effort | str = "medium",
        token_budget: int = 16_384,
        *,
        steps: int | None = None,
        threshold: float | None = None,
    ) -> None:
        if token_budget < 1:
            raise UsageError(f"token budget: expected at least 1, got {token_budget}")
        self.model = model
        self.effort = effort_of(effort, steps, threshold)
        self.token_budget = token_budget
        self.constraint = Constraint(model.device)
        self.timings = dict.fromkeys(("encode", "rows", "score", "constrain", "commit"), 0.0)
        self.reopenings = Reopenings()

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model and of everything in the engine that a record depends on."""
        return engine_fingerprint(self.model.fingerprint, self.effort)

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

    def fill(self, requests: Sequence[Request], observer: Observer | None = None) -> list[Result]:
        """Returns exactly one result for each request, in their order; no result depends on the other requests.

        Raises RunError if the observer fails. A failure within a request becomes its `Failed`.
        """
        costs = [
            self.model.count_tokens(request.passage.text) + FIRST_LENGTH * len(request.form.slots)
            for request in requests
        ]
        with torch.inference_mode():
            return run(requests, costs, self.token_budget, lambda batch: self._fill_batch(batch, observer))

    def _fill_batch(self, requests: Sequence[Request], observer: Observer | None) -> list[Result]:
        with self._timed("encode"):
            memories = self.model.encode([request.passage for request in requests])
        with self._timed("rows"):
            rows = self._rows(requests, memories)
            state = BatchState(requests, memories, rows, self.model.device)
        state.judge()
        state.finish()
        step = 0
        _show(state, step, observer)
        while state.active:
            with self._timed("score"):
                scores = self.model.score(state.forms, state.memories, state.rows, state.canvas)
            with self._timed("constrain"):
                judgement = constrain(state, scores, self.constraint)
            with self._timed("commit"):
                state.judge(commit(state, judgement, self.effort))
                state.finish()
            step += 1
            _show(state, step, observer)
        self.reopenings.add(state.reopenings)
        filled = [result for result in state.results if result is not None]
        calibration = self.model.calibration
        if calibration is None:
            return list(filled)
        return [
            _without_made_up_choices(request.form, calibration.calibrated(request.form, request.passage, result))
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
        found = dict(zip(asked, self.model.find_rows(forms, [memories[at] for at in asked]), strict=True))
        return [_with_known(request, found.get(at, [])) for at, request in enumerate(requests)]

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] += time.perf_counter() - begin


def _without_made_up_choices(form: Form, filled: Filled) -> Filled:
    """Returns the record, its demanded choices that are rather wrong than right flagged as missing.

    Only the model's word stands behind a chosen option. A choice is demanded if the schema refuses the record without
    it: as a required property, in the branch of a union, or as one of the least items. A slot of one option has no
    choice.
    """
    doubtful: dict[int, list[str]] = {}
    for pointer, leaf in filled.leaves.items():
        if leaf.origin == "chosen" and not leaf.missing and leaf.confidence < _LEAST_CHOICE:
            doubtful.setdefault(leaf.slot, []).append(pointer)
    made_up: dict[str, Leaf] = {}
    for slot, pointers in doubtful.items():
        if len(form.slots[slot].options) > 1 and not form.slots[slot].nullable:
            demanded = [pointer for pointer in pointers if filled.leaves[pointer].demanded]
            if len(demanded) < len(pointers) and _are_demanded(form, filled.record, pointers):
                demanded = pointers
            made_up |= {pointer: replace(filled.leaves[pointer], missing=True) for pointer in demanded}
    return replace(filled, leaves=dict(filled.leaves) | made_up) if made_up else filled


def _are_demanded(form: Form, record: str, pointers: Sequence[str]) -> bool:
    """Returns True if the schema refuses the record without the values at these pointers, all of one slot.

    One judgement for all rows of a list keeps long lists linear.
    """
    if form.judge is None or "" in pointers:
        return "" in pointers
    whole = parse(record)
    # Later items of a list go first, so that the others keep their places.
    for pointer in reversed(pointers):
        above, _, last = pointer.rpartition("/")
        part = whole
        for step in above.split("/")[1:]:
            part = part[int(step)] if isinstance(part, list) else part[unescape(step)]
        if isinstance(part, list):
            del part[int(last)]
        else:
            part.pop(unescape(last), None)
    return not form.judge.accepts(whole)


def _with_known(request: Request, found: Sequence[Row]) -> list[Row]:
    """Returns the rows with the known ones in place of those of the same arrays and of arrays within these."""
    number = {-1: -1}
    rows: list[Row] = []
    for at, row in enumerate(found):
        if row.array not in request.counted and row.parent in number:
            number[at] = len(rows)
            rows.append(replace(row, parent=number[row.parent]))
    length, offset = len(request.passage.text), request.passage.offset
    for array, begins in request.rows:
        rows.append(Row(array, -1, min(max(begins - offset, 0), length), 1.0))
    return rows


def _show(state: BatchState, step: int, observer: Observer | None) -> None:
    """Hands the current records to the observer; its failure is raised as RunError, not blamed on a request."""
    if observer is None:
        return
    states = state.records()
    try:
        observer(step, states)
    except Exception as error:
        raise RunError(f"the observer failed at step {step}: {error}") from error
