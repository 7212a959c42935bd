"""The part that an extraction and a backfill share: a driver fills their batches, and each is committed."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from cinnabar.engine.request import Filler
from cinnabar.engine.work_time import time_stage, told_to
from cinnabar.extraction.corrections.unread import unread_corrections
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.settings import ParserSettings
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.plan.outcomes import UNREADABLE
from cinnabar.extraction.reading.batch_reader import BatchReader
from cinnabar.extraction.reading.model_sources import RunPlace, named_folder
from cinnabar.extraction.reading.progress import NoProgress, Progress
from cinnabar.extraction.run.cluster.supervisor import Supervisor
from cinnabar.extraction.run.engines.pool import EnginePool, engines_of
from cinnabar.extraction.run.report.reports import report_of_run
from cinnabar.extraction.run.run_group import RunGroup
from cinnabar.extraction.run.stored_run import BackgroundCommits, Run, RunSummary
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.run.work.batch_filling import fill_batch
from cinnabar.extraction.store.records import EMPTY, EMPTY_RECORD, Outcome
from cinnabar.extraction.store.sinks.sink import deliver
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import OTHER_KIND

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.reading.pipeline import Batch, Job, Read
    from cinnabar.extraction.run.cluster.connection import Cluster
    from cinnabar.extraction.run.work.refilling import Known

#: A driver fills the batches of a run, which may grow meanwhile, and yields the number and the outcomes of each.
Driver = Callable[["BatchedRun"], Generator[tuple[int, "Batch"]]]

# Batches under way for each engine: one that is filled and one that waits for it.
_AHEAD = 2
# How many outcomes of skipped inputs are committed together.
_SKIPS = 5000
# The run id of documents that are filled before their run begins, to estimate a backfill.
_ESTIMATE = "estimate"


@dataclass(frozen=True, slots=True)
class Summary:
    """A finished run; `inputs = written + quarantined + skipped`.

    `steps` counts the denoising steps of all documents, 0 if no model ran. `reasons` counts the quarantine codes.
    `usage` is the use of models behind a server, None if the run asked none: requests, tokens, `cost` in dollars as
    decimal text, and `left`, the documents that the run skipped for lack of budget. With an escalation it also holds
    `escalated_documents` and `escalated_fields`; if no server took part, it holds these, `model` and `left` alone.
    `skips` counts the codes of skipped inputs. `routed` has the counts of each schema of a run that chooses among
    schemas, and `routing_ms` the mean time of a choice; both are None in other runs. `report` is the path of the run's
    report, and `drift` the sentences on what moved beyond chance against earlier runs; both are None if the report
    could not be written. `empty` counts the records whose every value is null, whether they were held back, skipped or
    written.
    """

    run_id: str
    schema: str
    inputs: int
    written: int
    quarantined: int
    skipped: int
    seconds: float
    steps: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = None
    skips: Mapping[str, int] = field(default_factory=dict)
    routed: Sequence[Mapping[str, Any]] | None = None
    routing_ms: float | None = None
    report: str | None = None
    empty: int = 0
    drift: Sequence[str] | None = None

    @property
    def held_back(self) -> int:
        """Returns how many documents that were read are in quarantine, or skipped because they say nothing."""
        return self.quarantined + self.skips.get(EMPTY_RECORD, 0)

    @property
    def counts(self) -> str:
        """Returns the outcomes in words: `48 written, 2 quarantined (truncated 2), 3 skipped`."""
        reasons = ", ".join(f"{code} {count}" for code, count in self.reasons.items())
        other = self.skips.get(OTHER_KIND, 0)
        held = f"{self.quarantined} quarantined{f' ({reasons})' if reasons else ''}"
        skipped = f"{self.skipped} skipped{f' ({other} of another kind: {OTHER_KIND} in outcomes)' if other else ''}"
        return f"{self.written} written, {held}, {skipped}"


def _is_empty(outcome: Outcome) -> bool:
    if outcome.status == "written" and outcome.record is not None:
        return EMPTY in outcome.record.flags
    return outcome.code == EMPTY_RECORD


def _counts(part: RunSummary) -> dict[str, Any]:
    names = ("run_id", "written", "quarantined", "skipped")
    return {"schema": part.schema_name} | {name: getattr(part, name) for name in names}


@dataclass(frozen=True, slots=True)
class Opening:
    """The values that begin a run: its store, the names of its inputs, and the fingerprint of its models and options.

    `about` is stored with the run, beside its options. `settled` holds the outcomes that need no model.
    """

    store: Store
    names: Sequence[str]
    fingerprint: str
    about: Mapping[str, Any]
    settled: Sequence[Outcome] = ()


class BatchedRun:
    """A run with a known list of inputs, of which `batches` are left to fill.

    A context manager. Batches may be worked on in any order and repeatedly; the next one is parsed meanwhile. `drive`
    commits a batch while the next one is filled. When all are done, the long documents among them follow as batches of
    their own, the shortest first, then those that take long to parse. A subclass sets `_opening` and `_stack`, and
    calls `_take`.
    """

    batches: list[Sequence[Input]]
    _reader: BatchReader
    _opening: Opening
    _stack: ExitStack

    def __init__(self, assignment: Assignment, progress: Progress | None) -> None:
        # A schema that allows no record fails here once instead of in every document.
        for part in assignment.parts:
            _ = part.compiled_schema.form, part.validator, part.checks
        self.assignment, self._progress = assignment, progress or NoProgress()
        self._run: Run | RunGroup | None = None
        self._job: Job | None = None
        self._steps = self._empty = 0
        # Documents of batches with a choice of schemas, and its time in ms.
        self._routed, self._routing = 0, 0.0
        # The seconds of the stages that are measured batch by batch.
        self._seconds: dict[str, float] = {}
        # The numbers of the first batches that are not done, and the long or late documents of the others with their
        # tokens.
        self._open: set[int] | None = None
        self._long: list[tuple[int, Input]] = []
        # Inputs that are read only if the same bytes under another name cannot be, and the digests of such.
        self._instead: list[Input] = []
        self._unread: set[str] = set()
        # The texts of the batch that is filled here.
        self._texts: list[str] = []
        self._time_told = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def work_through(self, cluster: Cluster | None = None) -> Summary:
        """Works on all batches, here, in engine processes or on a cluster, and ends the run."""
        self.drive(driver_of(self.engines, cluster))
        return self.finish()

    def drive(self, driver: Driver) -> None:
        """Has a driver fill all batches, and commits each as it comes. Raises the errors of the driver."""
        self._begun()
        with closing(driver(self)) as filled, BackgroundCommits(self.commit) as commits:
            for number, batch in filled:
                commits.add(batch)
                self._put_off(number, batch)

    def work(self, number: int) -> list[Outcome]:
        """Reads, fills and commits a batch while the next one is parsed; a second call changes nothing.

        Long and late documents have no outcome yet; after the last batch, `batches` has grown by them.
        """
        self._begun()
        batch = self.fill(number)
        outcomes = self.commit(batch)
        self._put_off(number, batch)
        return outcomes

    @property
    def empty(self) -> bool:
        """Returns True if the run has no input."""
        return not self._opening.names

    @property
    def engines(self) -> int:
        """Returns the number of engines of this run on this machine; no more than it has batches."""
        return min(engines_of(self.assignment), max(1, len(self.batches)))

    def fill(self, number: int) -> Batch:
        """Reads and fills the batch with this number here, except for its long and late documents."""
        # Documents are parsed while torch is imported and the model is loaded.
        self._reader.begin(number)
        job = self._whole_job()
        read, known = self.read(number)
        self._texts = [one.found.text for one in read if one is not None and isinstance(one.found, Document)]
        if not self._time_told:
            self._time_told = True
            self._tell_time(job.engine)
        with told_to(lambda share: self._progress.within(share * len(read))):
            return self.set_aside_late(read, fill_batch([one for one in read if one is not None], known, job))

    def _tell_time(self, filler: Filler) -> None:
        """Tells how long a language model on this machine will take, by the batch that it is about to read."""
        # Cold start: it imports torch, as the job has by now.
        from cinnabar.extraction.reading.time_estimate import time_note

        form, count = self.assignment.compiled_schema.form, sum(map(len, self.batches))
        note = time_note(filler, form, self._texts, count, at_most=self.assignment.escalation is not None)
        if note is not None:
            self._progress.note(note)

    def read(self, number: int) -> tuple[list[Read | None], Known | None]:
        """Returns the parsed documents of a batch, None for late ones, and the stored records of the others."""
        before = self._reader.seconds
        read = self._reader.read(number)
        self._progress.stages({"parse": self._reader.seconds - before})
        there = [item for item, one in zip(self.batches[number], read, strict=True) if one is not None]
        return read, self.known(there, number)

    def known(self, _items: Sequence[Input], _number: int) -> Known | None:
        """Returns the stored records of these documents of a batch in a backfill, None in an extraction."""
        return None

    def set_aside_late(self, read: Sequence[Read | None], batch: Batch) -> Batch:
        """Returns the filled batch of the documents that were read, with the late ones set aside too."""
        there = [at for at, one in enumerate(read) if one is not None]
        late = dict.fromkeys((at for at, one in enumerate(read) if one is None), sys.maxsize)
        batch = replace(batch, set_aside={there[at]: tokens for at, tokens in batch.set_aside.items()} | late)
        self._reader.keep([one for at in batch.set_aside if (one := read[at]) is not None])
        return batch

    def commit(self, batch: Batch) -> list[Outcome]:
        """Commits the outcomes of a filled batch and returns them as stored; a second call changes nothing."""
        stages = dict(batch.seconds)
        with time_stage(stages, "store"):
            stored = {one.path: one for one in self._begun().commit_batch(batch.outcomes)}
        for stage, seconds in stages.items():
            self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds
        self._steps += batch.steps
        self._empty += sum(_is_empty(one) for one in stored.values())
        if self.assignment.routing is not None:
            self._routed += len(batch.outcomes)
            self._routing += batch.routing
            stages = {"route": batch.routing / 1000} | stages
        self._progress.stages(stages, batch.steps)
        # A second call stores nothing, and the outcomes are those of the first.
        outcomes = [stored.get(one.path, one) for one in batch.outcomes]
        self._progress.advance(outcomes)
        return outcomes

    def finish(self) -> Summary:
        """Ends the run after all batches, and brings its results to the sinks.

        Raises RunError if an input has no outcome, or if a sink fails.
        """
        self._settle([
            Outcome(one.path, "skipped", "duplicate", digest=one.digest, duplicate_of=one.instead_of)
            for one in self._instead
        ])  # fmt: skip
        usage, run = self._usage(), self._begun()
        ended = run.finish(usage)
        report = report_of_run(self.place.out, run.ids, self._stages(), lambda text: self._progress.note(text))
        deliver(self.place.out, self.assignment.sinks, lambda text: self._progress.note(text))
        self._progress.on_runs_ended(run.ids, None if report is None else report.drift, usage)
        return Summary(
            run_id=ended.run_id,
            schema=ended.schema_name,
            inputs=ended.inputs,
            written=ended.written,
            quarantined=ended.quarantined,
            skipped=ended.skipped,
            seconds=round(ended.seconds, 3),
            steps=self._steps,
            reasons=ended.reasons,
            usage=usage,
            skips=ended.skips,
            routed=[_counts(part) for part in ended.parts] or None,
            routing_ms=round(self._routing / self._routed, 1) if self._routed else None,
            report=None if report is None else str(report.path),
            empty=self._empty,
            drift=None if report is None else report.drift,
        )

    def _stages(self) -> dict[str, float]:
        """Returns the seconds of the stages; those of a model's own steps are named `fill/STEP`."""
        stages = {"parse": self._reader.seconds} | self._seconds
        timings = getattr(self._job.engine, "timings", {}) if self._job is not None else {}
        return stages | {f"fill/{step}": seconds for step, seconds in timings.items()}

    def _take(self, inputs: Sequence[Input], parsers: ParserSettings, stack: ExitStack) -> None:
        """Cuts the inputs into batches, and makes their reader on the stack."""
        options = self.assignment.options
        self._instead = [one for one in inputs if one.instead_of]
        inputs = [one for one in inputs if not one.instead_of]
        size = max(options.batch, *(source.least_batch for source in self.assignment.sources))
        self.batches = [inputs[start : start + size] for start in range(0, len(inputs), size)]
        pages = PageStore(self._opening.store.out / PAGES)
        reader = BatchReader(self.batches, options.workers, options.max_tokens, parsers, pages)
        self._reader = stack.enter_context(reader)

    def _put_off(self, number: int, batch: Batch) -> None:
        """Adds the long documents behind all batches, each alone, once all others are done."""
        if self._open is None:
            self._open = set(range(len(self.batches)))
        self._unread |= {one.digest for one in batch.outcomes if one.code in UNREADABLE}
        if number not in self._open:
            return
        self._long += [(tokens, self.batches[number][at]) for at, tokens in batch.set_aside.items()]
        self._open.remove(number)
        if not self._open:
            for _, item in sorted(self._long, key=lambda one: one[0]):
                self.batches.append([item])
            # A long one is read only now; a duplicate of it is found at the commit.
            unread = self._unread.union(item.digest for _, item in self._long)
            self.batches += [[one] for one in self._instead if one.digest in unread]
            self._instead = [one for one in self._instead if one.digest not in unread]

    def _usage(self) -> Mapping[str, Any] | None:
        """Returns the use of models behind a server, None if the run asked none."""
        return None

    def _begun(self) -> Run | RunGroup:
        """Returns the run in the store; the first call begins it."""
        if self._run is None:
            opening, assignment = self._opening, self.assignment
            for sink in assignment.sinks:
                sink.check()
            arguments = assignment.options.model_dump() | dict(opening.about) | {"model": assignment.model.fingerprint}
            arguments |= named_folder(assignment.model)
            retry = assignment.options.retry_quarantined
            if assignment.routing is None:
                self._run = Run(
                    opening.store,
                    assignment.source,
                    assignment.compiled_schema,
                    opening.fingerprint,
                    arguments,
                    inputs=opening.names,
                    retry_quarantined=retry,
                )
            else:
                self._run = RunGroup(
                    opening.store,
                    [(part.source, part.compiled_schema) for part in assignment.parts],
                    opening.fingerprint,
                    arguments | assignment.routing.about,
                    inputs=opening.names,
                    retry_quarantined=retry,
                )
            self._progress.on_runs_started(self._run.ids)
            notice = self.assignment.model.notice
            if notice is not None:
                self._progress.note(notice)
            for path, why in unread_corrections(opening.store.out).items():
                self._progress.note(f"{path}: {why}")
            self._progress.on_inputs(len(opening.names))
            self._settle(opening.settled)
        return self._run

    def _settle(self, outcomes: Sequence[Outcome]) -> None:
        """Commits the outcomes of inputs that no model has to read."""
        run = self._begun()
        for start in range(0, len(outcomes), _SKIPS):
            some = outcomes[start : start + _SKIPS]
            self._progress.advance(run.commit_batch(some))

    @property
    def place(self) -> RunPlace:
        """Returns the output folder and the id of the run."""
        return RunPlace(self._opening.store.out, _ESTIMATE if self._run is None else self._run.id)

    def _whole_job(self) -> Job:
        """Returns the job; the first call loads its models."""
        if self._job is None:
            for note in self.assignment.memory_notes():
                self._progress.note(note)
            self._job = self.assignment.job(self.place, self._tell_time)
        return self._job


def driver_of(engines: int, cluster: Cluster | None) -> Driver:
    """Returns the driver of a run with so many engines on this machine, or on a cluster."""
    if cluster is not None:
        return lambda run: run_on_ray(run, cluster)
    return run_in_process if engines == 1 else lambda run: run_in_engines(run, engines)


def run_in_process(run: BatchedRun) -> Generator[tuple[int, Batch]]:
    """Fills batches in this process."""
    number = 0
    while number < len(run.batches):
        yield number, run.fill(number)
        number += 1


def run_in_engines(run: BatchedRun, engines: int) -> Generator[tuple[int, Batch]]:
    """Fills batches in so many engine processes, and yields them in their order."""
    under_way: deque[tuple[int, list[Read | None], Future[Batch]]] = deque()
    number = 0
    with EnginePool(engines, run.assignment, run.place) as pool:
        while number < len(run.batches) or under_way:
            while number < len(run.batches) and len(under_way) < _AHEAD * engines:
                read, known = run.read(number)
                under_way.append((number, read, pool.submit([one for one in read if one is not None], known)))
                number += 1
            first, read, filled = under_way.popleft()
            yield first, run.set_aside_late(read, filled.result())


def run_on_ray(run: BatchedRun, cluster: Cluster) -> Generator[tuple[int, Batch]]:
    """Reads and fills batches on the machines of a cluster, and yields them as they come back.

    Raises RunError if a batch fails on every attempt, UsageError if the machines do not fit.
    """
    with Supervisor(cluster, run.assignment, run.place) as supervisor:
        yield from supervisor.fill(run.batches, lambda number: run.known(run.batches[number], number))
