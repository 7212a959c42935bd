"""The parsers and engines of a run on a cluster: their places, and the batches that go out to them and come back.

An engine gets each GPU, or each share of the processors. Dead workers are replaced.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from cinnabar.errors import NoEngine, RunError, UsageError
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batch.retries import (
    ATTEMPTS,
    FINAL_ERRORS,
    WHOLE_ATTEMPTS,
    BatchAttempts,
    join_alone,
    lose_document,
)
from cinnabar.extraction.run.cluster.connection import Cluster, Heartbeat
from cinnabar.extraction.run.cluster.workers import (
    Filling,
    Parsing,
    model_needs,
    packed_assignment,
    shipment_bytes,
    shipments_of,
)

if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Batch
    from cinnabar.extraction.filling.refilling import Known

# Most batches in progress for each engine: one that is filled, one that waits for it, one that is parsed.
_WINDOW = 3
# Most batches of an engine, including the one that it fills.
_DEPTH = 2
# Most bytes of documents in progress, unless one batch alone has more.
_BYTES = 512 << 20
# Seconds until the first engine must be ready; a cluster may be busy with other work.
_START_LIMIT = 300.0
# Seconds between checks for waiting batches that are due.
_LOOK = 1.0
# Seconds until a parsed document must be here of which only the pages are to be told.
_FETCH_LIMIT = 10.0


@dataclass(eq=False, slots=True)
class _Work:
    """A batch in progress, or one of its documents that goes alone: `whole` is that batch, `at` its place there.

    `parsed` refers to the documents on any machine. `deaths` counts the processes that ended on it. `alone` has the
    outcomes of its documents by their places, once these go alone.
    """

    number: int
    batch: Sequence[Input]
    whole: _Work | None = None
    at: int = 0
    deaths: int = 0
    due: float = 0.0
    size: int = 0
    parsed: Any = None
    alone: dict[int, Batch] = field(default_factory=dict)


# Bytes that an engine needs on a machine without a GPU: PyTorch, the weights, and a batch of long documents.
_ENGINE_MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class EngineSlot:
    """Room for one engine on a machine: its share of the processors (`threads`) and of the GPUs."""

    machine: str
    threads: int
    gpus: int = 0


def engine_slots(machines: Sequence[Mapping[str, Any]], device: str = "auto", weights: int = 0) -> list[EngineSlot]:
    """Returns the slots of a cluster's engines, taking machines in turn.

    machines: the value of `ray.nodes()`. A machine whose GPUs Ray offers gets one engine for each GPU and no other;
    `cpu` ignores GPUs, `cuda` ignores machines without. Any other machine gets one engine with one thread for each
    processor, which yields most documents a second; with little memory it gets fewer engines with more threads.
    weights: bytes of weights that each engine holds beyond the default model's. Raises UsageError if none has room.
    """
    by_machine: list[list[EngineSlot]] = []
    for machine in machines:
        offered = machine["Resources"] if machine["Alive"] else {}
        gpus, processors = int(offered.get("GPU", 0)), int(offered.get("CPU", 0))
        if gpus and device != "cpu":
            by_machine.append([EngineSlot(machine["NodeID"], max(1, processors // gpus), 1)] * gpus)
        elif processors and device != "cuda":
            room = int(offered.get("memory", 0)) // (_ENGINE_MEMORY + weights)
            engines = max(1, min(processors, room))
            by_machine.append([EngineSlot(machine["NodeID"], processors // engines)] * engines)
    turns = max(map(len, by_machine), default=0)
    if not turns:
        wanted = "a GPU" if device == "cuda" else "a processor"
        raise UsageError(f"--ray: expected a machine that offers {wanted}, got {len(machines)} without")
    return [one[turn] for turn in range(turns) for one in by_machine if turn < len(one)]


def parser_machines(machines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the machines that parse: all that have a processor."""
    return [m["NodeID"] for m in machines if m["Alive"] and m["Resources"].get("CPU", 0) >= 1]


@dataclass(eq=False, slots=True)
class _WorkerHandle:
    """A parser or an engine: a Ray actor, its slot, and its batches, in order."""

    kind: type[Parsing] | type[Filling]
    slot: EngineSlot
    actor: Any
    works: list[_Work] = field(default_factory=list)
    ready: bool = False


class Supervisor:
    """Fills batches on the machines of a cluster, a bounded number at a time.

    `attempts` counts those of the batches. In the run's output, `out`, this process keeps the pages that OCR
    read on all machines. A context manager: its exit ends the processes.
    They start with the first batch.
    """

    def __init__(
        self,
        cluster: Cluster,
        assignment: Assignment,
        attempts: BatchAttempts,
        out: Path | None = None,
    ) -> None:
        self._ray, self._assignment, self._attempts = cluster.ray, assignment, attempts
        self._pages = None if out is None else PageStore(out / PAGES)
        self._pulse = Heartbeat(cluster)
        self._workers: list[_WorkerHandle] = []
        self._pending: dict[Any, tuple[_WorkerHandle, _Work | None]] = {}
        self._failed_starts: dict[EngineSlot, int] = {}
        #: Batches that are done and not yielded yet.
        self._filled: list[tuple[int, Batch]] = []
        self._packed: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in list(self._workers):
            self._stop_worker(worker)

    def fill(
        self,
        batches: Sequence[Sequence[Input]],
        known: Callable[[Sequence[Input], int], Sequence[Known | None]] = lambda items, _: [None] * len(items),
    ) -> Iterator[tuple[int, Batch]]:
        """Yields the number and the outcomes of each batch, as they arrive; `batches` may grow meanwhile.

        In a backfill `known` returns what is known of documents of the batch with this number. A batch whose
        parser or engine died, or which raised an error, is tried again as `retries` says. Raises the errors of that,
        RunError if no engine is ready in time or the cluster is gone, and UsageError or ModelError if a machine lacks
        something that the run needs.
        """
        if not batches:
            return
        self._start_worker(len(batches))
        waiting = [_Work(number, batch) for number, batch in enumerate(batches)]
        parsed: list[_Work] = []
        count = left = len(batches)
        engaged = time.monotonic()
        while left:
            self._hand_out(waiting, parsed, known)
            done = self._next()
            self._pulse.check()
            if self._ready(Filling):
                engaged = time.monotonic()
            elif not done and time.monotonic() - engaged > _START_LIMIT:
                raise RunError(
                    f"no engine was ready within {_START_LIMIT:g} s: the cluster may be busy (see"
                    " `ray status`); nothing is lost, run the same command again"
                )
            for ref in done:
                worker, work = self._pending.pop(ref)
                try:
                    result = self._ray.get(ref)
                except self._ray.exceptions.RayError as error:
                    waiting[:0] = self._take_failure(worker, work, error)
                else:
                    self._take_result(worker, work, result, parsed)
            while self._filled:
                yield self._filled.pop(0)
                added = range(count, len(batches))
                waiting += [_Work(number, batches[number]) for number in added]
                count, left = count + len(added), left + len(added) - 1

    def _start_worker(self, batches: int) -> None:
        """Starts as many engines as so many batches can use; running ones stay."""
        nodes = self._ray.nodes()
        device, memory = model_needs(self._assignment)
        if self._packed is None:
            self._packed = self._ray.put(packed_assignment(self._assignment, self._ray.cloudpickle))
            for machine in parser_machines(nodes):
                self._take_on(Parsing, EngineSlot(machine, 0))
        there = sum(worker.kind is Filling for worker in self._workers)
        for slot in engine_slots(nodes, device, memory)[there:batches]:
            self._take_on(Filling, slot)

    def _take_on(self, kind: type[Parsing] | type[Filling], slot: EngineSlot) -> None:
        ray = self._ray
        # If its machine is gone, Ray may place it on another one.
        place = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(slot.machine, soft=True)
        # Ray must not restart it, because this class counts its batches again.
        options = {"scheduling_strategy": place, "max_restarts": 0, "max_task_retries": 0}
        if kind is Parsing:
            run_options = self._assignment.options
            actor = ray.remote(Parsing).options(num_cpus=0, **options)
            actor = actor.remote(run_options.workers, run_options.max_tokens, parser_settings(run_options))
            started = actor.start.remote()
        else:
            share = {"num_gpus": slot.gpus, "num_cpus": 0} if slot.gpus else {"num_cpus": slot.threads}
            actor = ray.remote(Filling).options(**share, **options).remote(slot.threads)
            started = actor.start.remote(self._packed, self._assignment.shared_name)
        worker = _WorkerHandle(kind, slot, actor)
        self._workers.append(worker)
        self._pending[started] = worker, None

    def _hand_out(
        self,
        waiting: list[_Work],
        parsed: list[_Work],
        known: Callable[[Sequence[Input], int], Sequence[Known | None]],
    ) -> None:
        """Gives parsed batches to engines and waiting ones to parsers, up to the limits."""
        while parsed and (engine := self._taker(Filling, parsed[0])) and len(engine.works) < _DEPTH:
            work = parsed.pop(0)
            self._give(engine, work, engine.actor.fill.remote(work.parsed))
            # This process drops its last reference to the documents; Ray keeps them until they are filled. Of a
            # document that is lost alone it tells the pages.
            work.parsed = work.parsed if work.whole else None
        engines = sum(worker.kind is Filling for worker in self._workers)
        for work in list(waiting):
            under_way = [*parsed, *(one for worker in self._workers for one in worker.works)]
            full = len(under_way) >= _WINDOW * engines or sum(one.size for one in under_way) >= _BYTES
            if full and under_way:
                return
            if work.due > time.monotonic():
                continue
            parser = self._taker(Parsing, work)
            if parser is None:
                return
            waiting.remove(work)
            try:
                sent = shipments_of(work.batch, known(work.batch, work.number))
            except Exception as error:  # such as a mailbox that does not answer
                waiting.append(self._after_error(work, error))
                continue
            kept = {} if self._pages is None else self._pages.pages_of(letter.digest for letter in sent)
            work.size = shipment_bytes(sent, kept)
            read, work.parsed = parser.actor.parse.options(num_returns=2).remote(sent, kept)
            self._give(parser, work, read)

    def _next(self) -> list[Any]:
        """Returns the finished references, one at a time; [] if none finishes within a moment."""
        if not self._pending:
            time.sleep(_LOOK)
            return []
        done, _ = self._ray.wait(list(self._pending), timeout=_LOOK)
        return list(done)

    def _give(self, worker: _WorkerHandle, work: _Work, ref: Any) -> None:
        worker.works.append(work)
        self._pending[ref] = worker, work

    def _ready(self, kind: type[Parsing] | type[Filling]) -> list[_WorkerHandle]:
        return [worker for worker in self._workers if worker.kind is kind and worker.ready]

    def _taker(self, kind: type[Parsing] | type[Filling], work: _Work) -> _WorkerHandle | None:
        """Returns the least busy worker that may take the work."""
        # A process that ends can take the answer of the work before with it, which then looks as if it had ended the
        # process. A document that goes alone shares no process with other work, so only the right one is held back.
        free = [
            worker
            for worker in self._ready(kind)
            if not worker.works or (work.whole is None and worker.works[-1].whole is None)
        ]
        return min(free, key=lambda worker: len(worker.works), default=None)

    def _take_result(self, worker: _WorkerHandle, work: _Work | None, result: Any, parsed: list[_Work]) -> None:
        """Notes that a worker is ready or a batch is filled, or adds a batch to the parsed ones."""
        if work is None:
            worker.ready = True
            return
        worker.works.remove(work)
        if worker.kind is Filling:
            self._settle(work, result)
            return
        if self._pages is not None:
            self._pages.add(result)
        parsed.append(work)

    def _take_failure(self, worker: _WorkerHandle, work: _Work | None, error: Exception) -> list[_Work]:
        """Returns the batches to do again after a failure, and replaces a dead worker."""
        # Ray's error holds the worker's own error as its cause.
        cause: BaseException = getattr(error, "cause", None) or error
        if isinstance(cause, FINAL_ERRORS):
            raise cause
        died = self._ray.exceptions.RayActorError, self._ray.exceptions.OutOfMemoryError
        if work is not None and not isinstance(error, died):
            worker.works.remove(work)
            return [self._after_error(work, cause)]
        works, started = worker.works, worker.ready
        self._stop_worker(worker)
        if started:
            self._failed_starts.pop(worker.slot, None)
        else:
            self._failed_starts[worker.slot] = self._failed_starts.get(worker.slot, 0) + 1
        if self._failed_starts.get(worker.slot, 0) < ATTEMPTS:
            self._take_on(worker.kind, worker.slot)
        elif not any(other.kind is worker.kind for other in self._workers):
            what = "parser" if worker.kind is Parsing else "engine"
            raise NoEngine(f"no {what} starts on the cluster: {type(cause).__name__}: {cause}") from cause
        # The worker died of the batch that it was busy with; the batches behind it count no attempt.
        return [*(self._after_death(works[0], cause) if works else ()), *works[1:]]

    def _after_error(self, work: _Work, cause: BaseException) -> _Work:
        """Returns the batch for its next attempt. Raises the errors of `pause_after`."""
        pause = self._attempts.pause_after(cause, work.number, (work.whole or work).batch)
        work.due, work.parsed = time.monotonic() + pause, None
        return work

    def _after_death(self, work: _Work, cause: BaseException) -> list[_Work]:
        """Returns what is to be done after a process ended on a batch: the same again, or its documents alone."""
        work.deaths += 1
        if work.whole is not None:
            self._settle(work, self._lose(work, cause))
            return []
        work.parsed = None
        if work.deaths < WHOLE_ATTEMPTS:
            return [work]
        return [_Work(work.number, [item], work, at) for at, item in enumerate(work.batch)]

    def _lose(self, work: _Work, cause: BaseException) -> Batch:
        (item,), found = work.batch, None
        if work.parsed is not None:
            with suppress(self._ray.exceptions.RayError):
                ((_, _, found, _),) = self._ray.get(work.parsed, timeout=_FETCH_LIMIT)
        said = str(cause).partition("\n")[0]
        return lose_document(item.path, item.digest, found, f"{type(cause).__name__}: {said}")

    def _settle(self, work: _Work, batch: Batch) -> None:
        """Adds outcomes to what `fill` yields; those of a document alone wait for the others of its batch."""
        if work.whole is not None:
            alone = work.whole.alone
            alone[work.at] = batch
            if len(alone) < len(work.whole.batch):
                return
            batch = join_alone([alone[at] for at in range(len(alone))])
        self._filled.append((work.number, batch))

    def _stop_worker(self, worker: _WorkerHandle) -> None:
        """Ends a process and drops its outstanding results."""
        self._workers.remove(worker)
        self._pending = {ref: held for ref, held in self._pending.items() if held[0] is not worker}
        self._ray.kill(worker.actor)
