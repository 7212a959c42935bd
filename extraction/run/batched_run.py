"""The part that an extraction and a backfill share: a driver fills their batches, and each is committed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from cinnabar.closing import Closing
from cinnabar.engine.work_time import report_to
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.filling.model_sources import LanguageSource, name_of
from cinnabar.extraction.filling.time_estimate import Pace, usual_seconds
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batch.retries import BatchAttempts
from cinnabar.extraction.run.batches import Batches
from cinnabar.extraction.run.cluster.supervisor import Supervisor
from cinnabar.extraction.run.commits import Commits
from cinnabar.extraction.run.engines.pool import EnginePool, engines_of
from cinnabar.extraction.run.report.reports import report_of_run
from cinnabar.extraction.run.stored_run import Summary, commit_behind
from cinnabar.extraction.store.records import Outcome

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Batch, Job, OpenedInput
    from cinnabar.extraction.filling.refilling import Known
    from cinnabar.extraction.run.cluster.connection import Cluster

T = TypeVar("T")
#: A driver fills the batches of a run, which may grow meanwhile, and yields the number and the outcomes of each.
Driver = Callable[["BatchedRun"], Generator[tuple[int, "Batch"]]]
#: Returns what a backfill knows of these inputs; the batches that follow come next.
FindKnown = Callable[[Sequence[Input], Sequence[Sequence[Input]]], Sequence["Known"]]

# Batches under way for each engine: one that is filled and one that waits for it.
_AHEAD = 2


class BatchedRun(Closing):
    """A run that has begun: `batches` hold what is left to read, a driver fills them, and `commits` takes the outcomes.

    The stages of a document: its input is found and examined before (`begin_extraction`, `begin_backfill`), then read
    (`batches`), routed, filled, merged and judged (`run_batch`), revised by corrections and committed (`Run`), and told
    (`progress`). A batch is committed, and the next one is parsed, while another is filled. `known` has the stored
    records of a backfill; `ending` is called when all batches are done. A context manager.
    """

    def __init__(
        self,
        assignment: Assignment,
        commits: Commits,
        batches: Batches,
        known: FindKnown | None = None,
        ending: Callable[[], None] = lambda: None,
    ) -> None:
        self.assignment, self.batches, self._known = assignment, batches, known
        self._commits, self._progress, self._ending = commits, commits.progress, ending
        self._pace = Pace(self._progress.on_time)
        self.attempts = BatchAttempts(self._progress.note)
        self._stack = ExitStack()

    def closing(self, stack: ExitStack) -> Self:
        """Returns the run, whose end closes what is on the stack from now on."""
        self._stack = stack.pop_all()
        return self

    def close(self) -> None:
        """Closes what the run holds."""
        self._stack.close()

    def work_through(self, cluster: Cluster | None = None) -> Summary:
        """Works on all batches, here, in engine processes or on a cluster, and ends the run."""
        self.drive(driver_of(self.engines, cluster))
        return self.finish()

    def drive(self, driver: Driver) -> None:
        """Has a driver fill all batches, and commits each as it comes. Raises the errors of the driver."""
        self._begin()
        with closing(driver(self)) as filled:
            commit_behind(self._watched(filled), self._commit_filled)

    def _watched(self, filled: Iterable[tuple[int, Batch]]) -> Generator[tuple[int, Batch]]:
        """Yields the filled batches, and puts off what each has set aside once its commit has begun."""
        for number, batch in filled:
            self.attempts.check_lost(batch)
            yield number, batch
            self.batches.put_off(number, batch)

    def work(self, number: int) -> list[Outcome]:
        """Reads, fills and commits a batch while the next one is parsed; a second call changes nothing.

        Long and late documents have no outcome yet; after the last batch, `batches` has grown by them.
        """
        self._begin()
        batch = self.attempt(number, partial(self.fill, number))
        outcomes = self._commit_filled((number, batch))
        self.batches.put_off(number, batch)
        return outcomes

    def attempt(self, number: int, work: Callable[[], T]) -> T:
        """Returns what the work on this batch returns, after as many attempts as `work/retries.py` allows."""
        return self.attempts.make(number, self.batches[number], work)

    def _commit_filled(self, filled: tuple[int, Batch]) -> list[Outcome]:
        number, batch = filled
        outcomes = self.attempt(number, partial(self.commit, batch))
        self._pace.advance(len(outcomes))
        return outcomes

    def expect(self, seconds: float) -> None:
        """Takes in the seconds of a document, which the caller tells."""
        self._pace.expect(seconds)

    def _begin(self) -> None:
        """Begins the run in the store, and tells how long it takes."""
        self._commits.begin()
        options, upper = self.assignment.options, self.assignment.escalation
        usual = usual_seconds(self.assignment.sources, options, upper.times(options.effort) if upper else 1)
        self._pace.begin(sum(map(len, self.batches)), usual)

    def _within(self, documents: float) -> None:
        """Tells how much of a batch is answered before it is committed."""
        self._progress.within(documents)
        self._pace.within(documents)

    @cached_property
    def job(self) -> Job:
        """Returns the job; the first call loads its models, and tells of the memory that they take."""
        for note in self.assignment.memory_notes():
            self._progress.note(note)
        return self.assignment.job()

    def _usage(self) -> Mapping[str, Any] | None:
        """Returns the use of the one model behind a server, or of a local model for escalated fields, else None."""
        escalation, commits = self.assignment.escalation, self._commits
        raised = {"escalated_documents": commits.escalated_documents, "escalated_fields": commits.escalated_fields}
        if escalation is not None and isinstance(escalation.source, LanguageSource):
            return raised | {"model": name_of(escalation.source), "left": 0}
        if "job" not in vars(self):  # no model was loaded
            return None
        fillers = [self.job.engine, *(self.job.tier.loaded_fillers if self.job.tier else ())]
        charged = [used for filler in fillers if (used := filler.usage()) is not None]
        if not charged:
            return None
        usage: dict[str, Any] = {**charged[-1], "left": commits.without_budget}
        return usage | raised if escalation is not None else usage

    @property
    def empty(self) -> bool:
        """Returns True if the run has no input."""
        return not self._commits.names

    @property
    def out(self) -> Path:
        """Returns the output folder."""
        return self._commits.store.out

    @property
    def engines(self) -> int:
        """Returns the number of engines of this run on this machine; no more than it has batches."""
        return min(engines_of(self.assignment), max(1, len(self.batches)))

    def fill(self, number: int) -> Batch:
        """Reads and fills the batch with this number here, except for its long and late documents."""
        self.batches.begin(number)
        # Cold start: documents are parsed while torch is imported and the model is loaded.
        from cinnabar.extraction.filling.pipeline import run_batch

        job = self.job
        read = self.read(number)
        with report_to(lambda share: self._within(share * len(read))):
            batch = run_batch([one for one in read if one is not None], job, set_aside=True)
        return self.batches.set_aside_late(read, batch)

    def read(self, number: int) -> list[OpenedInput | None]:
        """Returns the parsed documents of a batch, None for late ones."""
        read, known = self.batches.read(number), self.known(self.batches[number], number)
        return [one and replace(one, known=own) for one, own in zip(read, known, strict=True)]

    def known(self, items: Sequence[Input], number: int) -> Sequence[Known | None]:
        """Returns what a backfill knows of each of these inputs of a batch, None in an extraction."""
        return [None] * len(items) if self._known is None else self._known(items, self.batches[number + 1 :])

    def commit(self, batch: Batch) -> list[Outcome]:
        """Commits the outcomes of a filled batch and returns them as stored; a second call changes nothing."""
        return self._commits.commit(batch)

    def finish(self) -> Summary:
        """Ends the run after all batches. Raises RunError if an input has no outcome."""
        self._ending()
        commits = self._commits
        commits.settle(self.batches.duplicates())
        usage, run = self._usage(), commits.begin()
        ended = run.finish(usage)
        # The steps of a model are stages of their own.
        steps = getattr(self.job.engine, "timings", {}) if "job" in vars(self) else {}
        own = {f"fill/{step}": seconds for step, seconds in steps.items()}
        seconds = {"parse": self.batches.seconds} | commits.seconds | own
        report = report_of_run(commits.store, run.ids, seconds, lambda text: self._progress.note(text))
        return replace(
            ended,
            steps=commits.steps,
            usage=usage,
            routing_ms=round(commits.routing_ms / commits.routed, 1) if commits.routed else None,
            report=None if report is None else str(report),
            empty=commits.empty,
        )


def driver_of(engines: int, cluster: Cluster | None) -> Driver:
    """Returns the driver of a run with so many engines on this machine, or on a cluster."""
    if cluster is not None:
        return lambda run: run_on_ray(run, cluster)
    return run_in_process if engines == 1 else lambda run: run_in_engines(run, engines)


def run_in_process(run: BatchedRun) -> Generator[tuple[int, Batch]]:
    """Fills batches in this process."""
    number = 0
    while number < len(run.batches):
        yield number, run.attempt(number, partial(run.fill, number))
        number += 1


def run_in_engines(run: BatchedRun, engines: int) -> Generator[tuple[int, Batch]]:
    """Fills batches in so many engine processes, and yields them in their order."""
    under_way: deque[tuple[int, list[OpenedInput | None], Future[Batch]]] = deque()
    number = 0
    with EnginePool(engines, run.assignment) as pool:
        while number < len(run.batches) or under_way:
            while number < len(run.batches) and len(under_way) < _AHEAD * engines:
                attempts = partial(run.attempt, number)
                read = attempts(partial(run.read, number))
                filled = pool.submit([one for one in read if one is not None], attempts)
                under_way.append((number, read, filled))
                number += 1
            first, read, filled = under_way.popleft()
            yield first, run.batches.set_aside_late(read, filled.result())


def run_on_ray(run: BatchedRun, cluster: Cluster) -> Generator[tuple[int, Batch]]:
    """Reads and fills batches on the machines of a cluster, and yields them as they come back.

    Raises RunError if a batch fails on every attempt, UsageError if the machines do not fit.
    """
    with Supervisor(cluster, run.assignment, run.attempts, run.out) as supervisor:
        yield from supervisor.fill(run.batches, run.known)
