"""The engine packs requests into batches, fills their forms from passages, and returns a whole, valid record for each,
even if others fail.

Whoever watches a fill is told after each step the record, the values that were committed, and those open again; a fill
that nobody watches makes none of this.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

from cinnabar.engine.fill.batch_state import BatchState
from cinnabar.engine.fill.choices import drop_unsupported_choices
from cinnabar.engine.fill.step import commit
from cinnabar.engine.model import Helped, Model, Row
from cinnabar.engine.request import Failed, Filler, Passage, RefusedRow, Request, Result
from cinnabar.engine.settings import Effort, effort_of
from cinnabar.engine.version import engine_fingerprint
from cinnabar.engine.work_time import TOO_SLOW, check_time, progress_part, report_share, start_clock, time_stage
from cinnabar.errors import EngineFailure, RunError, UsageError
from cinnabar.schemas.automata.strings import json_text
from cinnabar.schemas.form.form import Form

# The tokens of a batch on a processor and on other devices (engine/models/reader/decoding.py has the measurement).
_TOKENS, _TOKENS_OF_ACCELERATOR = 8_192, 16_384


class Engine(Filler):
    """Fills forms with a model and enforces the schema in every denoising step.

    token_budget: tokens of one batch, passages and slots together; without it the device decides. steps: replaces that
    of `effort`. `timings` has the seconds spent so
    far in each stage. Raises UsageError for an unknown effort or a budget below one token.
    """

    def __init__(
        self,
        model: Model,
        effort: Effort | str = "medium",
        token_budget: int | None = None,
        *,
        steps: int | None = None,
    ) -> None:
        if token_budget is None:
            token_budget = _TOKENS if model.device.type == "cpu" else _TOKENS_OF_ACCELERATOR
        if token_budget < 1:
            raise UsageError(f"token budget: expected at least 1, got {token_budget}")
        self.model = model
        self.effort = effort_of(effort, steps)
        self.token_budget = token_budget
        self.timings = dict.fromkeys(("encode", "rows", "score", "commit"), 0.0)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model and of everything in the engine that a record depends on."""
        return engine_fingerprint(self.model.fingerprint, self.effort, "reader")

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

    def beside(self, load: Callable[[], Filler]) -> Engine:
        """Returns this engine, whose model has a filler read rows of tables, if it asks for that (`Helped`)."""
        if not isinstance(self.model, Helped):
            return self
        other = copy.copy(self)
        other.model = self.model.beside(load)
        return other

    def fill(self, requests: Sequence[Request], watcher: Watcher | None = None) -> list[Result]:
        """Returns exactly one result for each request, in their order; no result depends on the other requests.

        Raises RunError if the watcher fails. A failure within a request becomes its `Failed`.
        """
        costs = [cost_of(request, self.model.count_tokens) for request in requests]
        with torch.inference_mode():
            return run(requests, costs, self.token_budget, lambda batch: self._fill_batch(batch, watcher))

    def _fill_batch(self, requests: Sequence[Request], watcher: Watcher | None) -> list[Result]:
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
        filled = [
            replace(
                result,
                refused=tuple(
                    RefusedRow(row.array, row.anchor + request.passage.offset, row.probability)
                    for row in own
                    if not row.taken
                ),
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


@dataclass(frozen=True, slots=True)
class FormState:
    """A request after a denoising step; step 0 is before the first one.

    `id` is the request's. `value` is whole and allowed by the schema. `committed` are the pointers of the values that
    this step committed, `doubted` of those that it opened again; a doubted value may be committed anew in the same
    step. `confidence` maps the pointers of the values, and of places left out, to the model's own probability so far,
    which no calibration has seen.
    """

    id: str
    step: int
    value: Any
    committed: tuple[str, ...]
    doubted: tuple[str, ...]
    confidence: Mapping[str, float]

    @property
    def record(self) -> str:
        """The canonical JSON text of the record."""
        return json_text(self.value)


#: Receives the states of all requests of a batch, one after the other.
Watcher = Callable[[FormState], None]


def notify(watcher: Watcher, state: FormState) -> None:
    """Hands a state to the watcher; its failure is raised as RunError, not blamed on a request."""
    try:
        watcher(state)
    except Exception as error:
        raise RunError(f"the watcher failed at step {state.step}: {error}") from error


class Watch:
    """Compares a batch with its last state, slot by slot: pointers may change when rows come and go."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        # For each request of the batch, by the number of a slot within it: committed, and how often it was re-opened.
        self._closed: dict[int, list[bool]] = {}
        self._reopened: dict[int, list[int]] = {}

    def look(self, state: BatchState, step: int) -> None:
        """Tells the state of each request that this step worked on."""
        own: list[list[int]] = [[] for _ in state.active]
        for at, instance in enumerate(state.canvas.instances):
            own[instance.request].append(at)
        closed = state.closed.tolist()
        reopened = state.reopened_times.tolist()
        for batch, slots in zip(state.active, own, strict=True):
            now, times = [closed[at] for at in slots], [reopened[at] for at in slots]
            was = self._closed.get(batch, [False] * len(slots))
            before = self._reopened.get(batch, [0] * len(slots))
            doubts = [after > earlier for after, earlier in zip(times, before, strict=True)]
            fresh = [shut and (not earlier or doubt) for shut, earlier, doubt in zip(now, was, doubts, strict=True)]
            self._closed[batch], self._reopened[batch] = now, times
            request = state.requests[batch]
            writer = state.written[batch]
            # A choice has a slot more than its value, and is committed with the last of them.
            places = writer.instances.items()
            committed = [p for p, of in places if any(fresh[at] for at in of) and all(now[at] for at in of)]
            doubted = [p for p, of in places if any(doubts[at] for at in of)]
            confidence = {pointer: leaf.confidence for pointer, leaf in writer.leaves.items()}
            form_state = FormState(
                request.id, step, state.value(batch), tuple(committed), tuple(doubted), confidence
            )
            notify(self._watcher, form_state)


FillBatch = Callable[[Sequence[Request]], list[Result]]
#: Gets the numbers of some requests and the tokens that fit together; yields each number with its result.
Stream = Callable[[Sequence[int], int], Iterator[tuple[int, Result]]]
#: Tokens that a slot counts as, in the size of a batch.
SLOT = 16
#: Told of a request whose scores mean nothing.
NO_NUMBERS = "model"
#: Failures that may be due to the other requests: these take time, and a place that holds no number is read, with no
#: weight, by all that share a page or a tile with it.
ALONE = frozenset({TOO_SLOW, NO_NUMBERS})


def cost_of(request: Request, count_tokens: Callable[[str], int]) -> int:
    """Returns the tokens that a request takes in a batch: those of its passage, and of its slots."""
    return count_tokens(request.passage.text) + SLOT * len(request.form.slots)


def pack(costs: Sequence[int], budget: int) -> list[list[int]]:
    """Returns the indices in their order, cut into batches of at most `budget` tokens or of one request."""
    batches: list[list[int]] = []
    room = 0
    for index, cost in enumerate(costs):
        if not batches or cost > room:
            batches.append([])
            room = budget
        batches[-1].append(index)
        room -= cost
    return batches


def run(requests: Sequence[Request], costs: Sequence[int], budget: int, fill: FillBatch) -> list[Result]:
    """Returns one result for each request, in their order.

    costs: tokens of each request. A batch that runs out of memory is halved, and so is the budget of later batches. A
    batch that fails otherwise is halved until the failing requests stand alone; the requests of one that exceeds the
    time limit are filled one by one. A request that fails alone becomes `Failed`, with the code of its EngineFailure,
    `out_of_memory`, or `engine_error`. Raises RunError if `fill` does.
    """
    results: dict[int, Result] = {}
    waiting = list(reversed(pack(costs, budget)))
    while waiting:
        batch = waiting.pop()
        try:
            done = len(results)
            with start_clock(), progress_part(done / len(requests), (done + len(batch)) / len(requests)):
                filled = fill([requests[index] for index in batch])
            if len(filled) != len(batch):
                raise EngineFailure("engine_error", f"expected {len(batch)} results, got {len(filled)}")
            results.update(zip(batch, filled, strict=True))
            report_share(len(results) / len(requests))
            continue
        except RunError:
            raise
        except Exception as error:
            memory = out_of_memory(error)
            slow = isinstance(error, EngineFailure) and error.code == TOO_SLOW
            failure = failure_of(requests[batch[0]].id, error, memory) if len(batch) == 1 else None
        # Outside of the handler: the exception no longer holds the failed batch's tensors.
        if memory:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            if len(batch) > 1:
                budget = max(sum(costs[index] for index in batch) // 2, 1)
                rest = [index for later in reversed(waiting) for index in later]
                parts = pack([costs[index] for index in rest], budget)
                waiting = [[rest[at] for at in part] for part in reversed(parts)]
        if failure is not None:
            results[batch[0]] = failure
        elif slow:
            waiting += [[index] for index in reversed(batch)]
        else:
            middle = (len(batch) + 1) // 2
            waiting += [batch[middle:], batch[:middle]]
    return [results[index] for index in range(len(requests))]


def run_stream(requests: Sequence[Request], costs: Sequence[int], room: int, stream: Stream) -> list[Result]:
    """Returns one result for each request, in their order, of a stream that yields each as soon as it is done.

    costs: tokens of each request; room: those that the stream may work on together. What a stream has yielded when it
    fails is kept, and the rest is halved until the failing requests stand alone; if memory ran out, so is the room.
    Requests that exceed the time limit beside others, or whose scores are no numbers, are filled once more, one by
    one. A request that fails alone becomes `Failed` as in `run`. Raises RunError if the stream does.
    """
    results: dict[int, Result] = {}
    waiting = [list(range(len(requests)))] if requests else []
    while waiting:
        part = waiting.pop()
        alone, memory = len(part) == 1, False
        again, failure = set[int](), None
        try:
            with start_clock() if alone else nullcontext():
                for index, result in stream(part, room):
                    if not alone and isinstance(result, Failed) and result.code in ALONE:
                        again.add(index)
                    else:
                        results[index] = result
            if len(part) > len(again) + sum(index in results for index in part):
                raise EngineFailure("engine_error", "expected a result for each request")
        except RunError:
            raise
        except Exception as error:
            memory = out_of_memory(error)
            failure = failure_of(requests[part[0]].id, error, memory) if alone else None
        left = [index for index in part if index not in results and index not in again]
        waiting[:0] = [[index] for index in sorted(again, reverse=True)]
        # Outside of the handler: the exception no longer holds the failed batch's tensors.
        if memory:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            room = max(min(room, sum(costs[index] for index in left)) // 2, 1)
        if failure is not None:
            results[part[0]] = failure
            continue
        middle = (len(left) + 1) // 2
        waiting += [half for half in (left[middle:], left[:middle]) if half]
    return [results[index] for index in range(len(requests))]


def out_of_memory(error: Exception) -> bool:
    """Returns whether the host or the device ran out of memory."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or (
        isinstance(error, RuntimeError)
        and any(words in str(error).lower() for words in ("out of memory", "can't allocate memory"))
    )


def failure_of(request_id: str, error: Exception, memory: bool = False) -> Failed:
    """Returns the failure of a request that ended with this error; `memory` says that memory ran out."""
    if isinstance(error, EngineFailure):
        return Failed(request_id, error.code, error.detail)
    code = "out_of_memory" if memory else "engine_error"
    return Failed(request_id, code, f"{type(error).__name__}: {error}"[:2000])
