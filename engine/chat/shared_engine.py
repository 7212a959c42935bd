"""An engine that many threads ask at once: what waits for its model is done by one thread, from one queue.

Requests to fill share batches. Tasks to decode, such as chats, share passes, which they join and leave one by one.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from cinnabar.engine.fill.engine import FormState, Watcher, cost_of
from cinnabar.engine.request import Failed, Filler, OverEngine, Request, Result
from cinnabar.engine.settings import Effort
from cinnabar.engine.work_time import (
    GIVEN_UP,
    abandon_when,
    answer_within,
    limit_batches,
    seconds_to_answer,
    start_clock,
)
from cinnabar.errors import EngineFailure, TooLarge
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.kept_by_weight import KeptByWeight

#: The code of what was waiting when the engine was closed.
CLOSED = "closed"
#: Tokens of a batch, as of `Engine`; a request of more is filled alone, when no shorter one waits.
_BUDGET = 16_384
#: Seconds after which a long request waits no more for shorter ones.
_PATIENCE = 20.0

#: Fields and choices of a form above which it is prepared beside the batches, so that these do not wait for it. The
#: reader takes 8 ms for each on one core.
_LARGE = 128
#: Prepared forms that are known as such; engines keep more of them.
_FORMS = 24

#: Receives the record of a request after each step: the number of steps, and the record's text.
Watch = Callable[[int, str], None]


@dataclass(eq=False, kw_only=True)
class Awaited:
    """A request that waits for the model since its arrival, and the future of its result.

    Whoever gives it up ends it with `fail(GIVEN_UP)`; a batch of which all requests have ended is left.
    """

    identity: str
    since: float = field(default_factory=time.monotonic)
    result: Future[Any] = field(default_factory=Future)

    def settle(self, result: object) -> None:
        """Sets the result unless there is one: what was given up has one already."""
        with suppress(Exception):
            self.result.set_result(result)

    def fail(self, code: str, detail: str = "") -> None:
        """Sets a failure as the result, unless there is one."""
        self.settle(Failed(self.identity, code, detail))


@dataclass(eq=False, kw_only=True)
class AwaitedRecord(Awaited):
    """A request with its effort, its tokens in a batch, and the seconds of `answer_within`."""

    request: Request
    effort: Effort
    cost: int
    watch: Watch | None
    within: float | None = field(default_factory=seconds_to_answer)


class Tasks(Protocol):
    """Decodes tasks; batches are filled between its passes, as they need nothing in its cache."""

    def run(self, take: Callable[[], Awaited | None], between: Callable[[], None]) -> None:
        """Decodes what it takes, until there is nothing more to take; calls `between` between two passes."""
        ...


class Observed(Filler, Protocol):
    """An engine: a filler that shows its records after each step."""

    def fill(self, requests: Sequence[Request], watcher: Watcher | None = None) -> list[Result]: ...


class SharedEngine:
    """Engines of one model, one for each effort, and the thread that does what waits for them.

    engine_of: makes the engine of an effort. max_seconds: of work on a batch, then on each of its requests alone; None
    sets no limit. shares: whether requests gain by sharing a batch; else each is one of its own, so that others wait
    less. tasks: decodes those of `decode`. The results are those of an engine that is asked one request at a
    time.
    """

    def __init__(
        self,
        engine_of: Callable[[Effort], Observed],
        max_seconds: float | None = None,
        shares: bool = True,
        tasks: Tasks | None = None,
    ) -> None:
        self._engine_of, self._max_seconds = engine_of, max_seconds
        self._shares, self._tasks = shares, tasks
        self._engines: dict[Effort, Observed] = {}
        self._queue: deque[AwaitedRecord] = deque()
        self._unprepared: deque[AwaitedRecord] = deque()
        self._undecoded: deque[Awaited] = deque()
        self._open = set[Awaited]()
        self._prepared = KeptByWeight[tuple[Effort, str], str](_FORMS, lambda _: 1)
        self._changed = threading.Condition()
        self._closed = False
        self._turn = 0.0
        self._thread = threading.Thread(target=self._work, name="shared engine", daemon=True)
        self._thread.start()
        self._preparing = threading.Thread(target=self._prepare, name="shared engine, forms", daemon=True)
        self._preparing.start()

    @property
    def alive(self) -> bool:
        """Whether the thread that fills and decodes is at work."""
        return self._thread.is_alive() and self._preparing.is_alive()

    def submit(self, request: Request, effort: Effort, watch: Watch | None = None) -> Awaited:
        """Has a request filled.

        The caller's thread counts the tokens. `watch` is called by the engine's thread, so it must not wait.
        """
        cost = cost_of(request, self.engine(effort).count_tokens)
        one = AwaitedRecord(identity=request.id, request=request, effort=effort, cost=cost, watch=watch)
        return self._put(one, self._queue if self._is_ready(one) else self._unprepared)

    def decode(self, task: Awaited) -> Awaited:
        """Has a task decoded by `tasks`."""
        return self._put(task, self._undecoded)

    def _put(self, one: Awaited, queue: deque[Any]) -> Awaited:
        """Has what is not ended wait in a queue until it is taken or ends."""

        def drop(_: Future[Any]) -> None:
            with self._changed:
                self._open.discard(one)
                if one in queue:
                    queue.remove(one)

        with self._changed:
            if self._closed:
                one.fail(CLOSED)
            queue.append(one)
            self._open.add(one)
            self._changed.notify_all()
        one.result.add_done_callback(drop)
        return one

    def filler(self, effort: Effort) -> SharedFiller:
        """Returns a filler whose requests share the batches."""
        return SharedFiller(self, effort)

    def engine(self, effort: Effort) -> Observed:
        """Returns the engine of this effort."""
        with self._changed:
            engine = self._engines.get(effort)
            if engine is None:
                engine = self._engines[effort] = self._engine_of(effort)
            return engine

    def close(self) -> None:
        """Ends all with the code CLOSED, and the threads as soon as they leave what they work on."""
        with self._changed:
            self._closed = True
            left = [*self._open]
            self._changed.notify_all()
        for one in left:
            one.fail(CLOSED)

    def wait_for_end(self, seconds: float) -> bool:
        """Waits so long, at most, for the threads of a closed engine; returns whether they have ended."""
        until = time.monotonic() + seconds
        for thread in (self._thread, self._preparing):
            thread.join(max(until - time.monotonic(), 0.0))
        return not (self._thread.is_alive() or self._preparing.is_alive())

    def _is_ready(self, one: AwaitedRecord) -> bool:
        """Returns whether the batch need not wait for the form of this request."""
        form = one.request.form
        return self._prepared.get((one.effort, form.fingerprint)) is not None or size_of(form) <= _LARGE

    def _prepare(self) -> None:
        """Prepares large forms, the smallest of those that wait first, and hands their requests to the batches."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._unprepared or self._closed)
                if self._closed:
                    return
                one = min(self._unprepared, key=lambda waiting: size_of(waiting.request.form))
                self._unprepared.remove(one)
            form, engine = one.request.form, self.engine(one.effort)
            if not self._is_ready(one):
                try:
                    with limit_batches(self._max_seconds), abandon_when(one.result.done), start_clock():
                        engine.prepare(form)
                except Exception as error:
                    one.settle(_failure_of(one, error))
                    continue
                self._prepared.put((one.effort, form.fingerprint), form.fingerprint)
            self._put(one, self._queue)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._undecoded or self._closed)
                if self._closed:
                    return
                # A task is next that has waited longer than the request that is to be filled next.
                first, tasks = self._first(), self._undecoded
                batch = [] if tasks and (first is None or tasks[0].since < first.since) else self._batch()
            if batch:
                self._fill(batch)
            else:
                assert self._tasks is not None, "tasks need what decodes them"
                self._tasks.run(self._take, self._between)

    def _take(self) -> Awaited | None:
        """Returns the next task, if one waits."""
        with self._changed:
            return self._undecoded.popleft() if self._undecoded else None

    def _between(self) -> None:
        """Fills a batch, if one waits and the passes since the last one took as long as that one."""
        begun = time.monotonic()
        if begun < self._turn:
            return
        with self._changed:
            batch = self._batch()
        if batch:
            self._fill(batch)
            self._turn = 2 * time.monotonic() - begun

    def _first(self) -> AwaitedRecord | None:
        """Returns the oldest request.

        A long request is the oldest one only if all that wait are long, or after it has waited long enough.
        """
        patient = time.monotonic() - _PATIENCE
        chosen = (one for one in self._queue if one.cost <= _BUDGET or one.since < patient)
        return next(chosen, self._queue[0] if self._queue else None)

    def _batch(self) -> list[AwaitedRecord]:
        """Takes the oldest request, and those behind it of its effort that share its batch."""
        first = self._first()
        if first is None:
            return []
        batch, room = [first], _BUDGET - first.cost if self._shares else 0
        for one in self._queue:
            if one is not first and one.effort == first.effort and one.cost <= room:
                batch.append(one)
                room -= one.cost
        for one in batch:
            self._queue.remove(one)
        return batch

    def _fill(self, batch: Sequence[AwaitedRecord]) -> None:
        watched = {one.identity: one for one in batch if one.watch is not None}

        def observe(state: FormState) -> None:
            one = watched.get(state.id)
            if one is not None and one.watch is not None and not one.result.done():
                one.watch(state.step, state.record)

        try:
            within = min((one.within for one in batch if one.within is not None), default=None)
            everyone_left = abandon_when(lambda: all(one.result.done() for one in batch))
            with limit_batches(self._max_seconds), answer_within(within), everyone_left:
                engine = self.engine(batch[0].effort)
                results = engine.fill([one.request for one in batch], observe if watched else None)
        except Exception as error:
            results = [_failure_of(one, error) for one in batch]
        for one, result in zip(batch, results, strict=True):
            one.settle(result)


def _failure_of(one: AwaitedRecord, error: Exception) -> Failed:
    """Returns the failure of a request; the text of an error may hold that of a document."""
    if isinstance(error, TooLarge):
        return Failed(one.identity, "schema_too_large", str(error))
    if isinstance(error, EngineFailure):
        return Failed(one.identity, error.code, error.detail)
    return Failed(one.identity, "engine_error", type(error).__name__)


def size_of(form: Form) -> int:
    """Returns the number of a form's fields and of their choices."""
    return len(form.slots) + sum(len(slot.options) for slot in form.slots)


class SharedFiller(OverEngine):
    """A filler of one client, whose requests share the batches of others; `give_up` ends what it asked for."""

    def __init__(self, shared: SharedEngine, effort: Effort) -> None:
        self._shared, self._effort, self._engine = shared, effort, shared.engine(effort)
        self._lock = threading.Lock()
        self._asked: list[Awaited] = []
        self._given_up = False

    def fill(self, requests: Sequence[Request]) -> list[Result]:
        """Returns exactly one result for each request, in their order; waits for the batches that they are part of."""
        with self._lock:
            if self._given_up:
                return [Failed(request.id, GIVEN_UP) for request in requests]
            # Another thread of this client may wait for its own.
            asked = [self._shared.submit(request, self._effort) for request in requests]
            self._asked = [*(one for one in self._asked if not one.result.done()), *asked]
        return [one.result.result() for one in asked]

    def give_up(self) -> None:
        """Ends all requests of this filler with the code GIVEN_UP, also later ones; from any thread."""
        with self._lock:
            self._given_up = True
            asked = self._asked
        for one in asked:
            one.fail(GIVEN_UP)
