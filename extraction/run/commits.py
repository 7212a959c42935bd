"""The commits of a run: the first one begins it in the store, and what each stores is counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.work_time import time_stage
from cinnabar.extraction.corrections.carrying import check_corrections_kept
from cinnabar.extraction.corrections.journal import unread_corrections
from cinnabar.extraction.corrections.waiting_commits import commit_waiting
from cinnabar.extraction.filling.model_sources import name_of, named_folder
from cinnabar.extraction.filling.packets.boundaries import SEVERAL
from cinnabar.extraction.filling.progress import ProgressListener
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.run_group import RunGroup
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store.left_over import remove_left_over
from cinnabar.extraction.store.records import EMPTY, EMPTY_RECORD, Outcome
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import MODELS

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Batch

# How many outcomes of skipped inputs are committed together.
_SKIPS = 5000


def open_output(assignment: Assignment, out: Path, stack: ExitStack) -> Store:
    """Opens the output folder of a run on the stack.

    Corrections that wait are committed first: a run may choose records by what people said. Raises UsageError if a
    schema does not go with the stored records, or corrections would be lost.
    """
    store = stack.enter_context(Store.open(out))
    commit_waiting(store)
    for part in assignment.parts:
        store.check_united(part.source, part.compiled_schema)
        if not assignment.options.drop_corrections:
            check_corrections_kept(store, part.source, part.compiled_schema)
    return store


@dataclass(slots=True)
class Commits:
    """Commits the outcomes of a run, and counts what they say.

    `names` are those of its inputs, `fingerprint` that of its models and options. `about` is stored with the run,
    beside its options. `settled` holds the outcomes that need no model.

    `steps` counts denoising steps, `empty` the records without a value, `several` the files that look like several
    documents, `without_budget` the documents that no model was paid for, `routed` the documents whose schema was
    chosen, in `routing_ms`. `seconds` are those of the stages that are measured batch by batch.
    """

    assignment: Assignment
    progress: ProgressListener
    store: Store
    names: Sequence[str]
    fingerprint: str
    about: Mapping[str, Any]
    settled: Iterable[Outcome] = ()
    steps: int = 0
    empty: int = 0
    several: int = 0
    without_budget: int = 0
    escalated_documents: int = 0
    escalated_fields: int = 0
    routed: int = 0
    routing_ms: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    _run: Run | RunGroup | None = None

    def begin(self) -> Run | RunGroup:
        """Returns the run in the store; the first call begins it and settles what needs no model."""
        if self._run is None:
            self._run = self._begin()
            for notice in filter(None, (source.notice for source in self.assignment.sources)):
                self.progress.note(notice)
            if removed := remove_left_over(self.store.out):
                self.progress.note(removed)
            for path, why in unread_corrections(self.store.out).items():
                self.progress.note(f"{path}: {why}")
            self.progress.on_inputs(len(self.names))
            self.settle(self.settled)
        return self._run

    def _begin(self) -> Run | RunGroup:
        assignment = self.assignment
        arguments = assignment.options.model_dump() | dict(self.about) | {"model": assignment.model.fingerprint}
        arguments |= named_folder(assignment.model) | {MODELS: [name_of(one) for one in assignment.sources]}
        retry = assignment.options.retry_quarantined
        if assignment.routing is None:
            return Run(
                self.store,
                assignment.source,
                assignment.compiled_schema,
                self.fingerprint,
                arguments,
                inputs=self.names,
                retry_quarantined=retry,
            )
        return RunGroup(
            self.store,
            [(part.source, part.compiled_schema) for part in assignment.parts],
            self.fingerprint,
            arguments | assignment.routing.about,
            inputs=self.names,
            retry_quarantined=retry,
        )

    def settle(self, outcomes: Iterable[Outcome]) -> None:
        """Commits the outcomes of inputs that no model has to read."""
        run, left = self.begin(), iter(outcomes)
        while some := [*islice(left, _SKIPS)]:
            self.progress.advance(run.commit_batch(some))

    def commit(self, batch: Batch) -> list[Outcome]:
        """Commits the outcomes of a filled batch and returns them as stored; a second call changes nothing."""
        stages = dict(batch.seconds)
        with time_stage(stages, "store"):
            stored = {one.path: one for one in self.begin().commit_batch(batch.outcomes)}
        for stage, seconds in stages.items():
            self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        self.steps += batch.steps
        self.empty += sum(_is_empty(one) for one in stored.values())
        if self.assignment.routing is not None:
            self.routed += len(batch.outcomes)
            self.routing_ms += batch.routing
        # A second call stores nothing, and the outcomes are those of the first.
        outcomes = [stored.get(one.path, one) for one in batch.outcomes]
        self.progress.advance(outcomes)
        self.without_budget += sum(outcome.code == "budget" for outcome in outcomes)
        self.several += sum(one.record is not None and SEVERAL in one.record.flags for one in outcomes)
        self.escalated_documents += batch.escalated.documents
        self.escalated_fields += batch.escalated.fields
        return outcomes


def _is_empty(outcome: Outcome) -> bool:
    if outcome.status == "written" and outcome.record is not None:
        return EMPTY in outcome.record.flags
    return outcome.code == EMPTY_RECORD
