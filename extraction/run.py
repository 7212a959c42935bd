"""A run over a folder: what is done already is skipped by its hash, the rest read, filled, committed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.filling import Metered
from cinnabar.extraction.assignment import Assignment
from cinnabar.extraction.batch_reader import BatchReader
from cinnabar.extraction.batched_run import BatchedRun, Opening, Summary
from cinnabar.extraction.inputs import Input, Location, examine, gather, path_of
from cinnabar.extraction.mailboxes.address import ImapAddress
from cinnabar.extraction.progress import Progress
from cinnabar.extraction.run_options import DEFAULT_OPTIONS, RunOptions
from cinnabar.extraction.sifting import sift
from cinnabar.extraction.sources import Escalation, RemoteSource, Source
from cinnabar.extraction.storage.folders import remember
from cinnabar.extraction.storage.records import Outcome
from cinnabar.extraction.storage.store import UNAVAILABLE, Store
from cinnabar.extraction.storage.tables import printable
from cinnabar.schemas import SchemaSource
from cinnabar.schemas.errors import UsageError

# Torch takes seconds to import, which a run that finds its work done does not pay.
if TYPE_CHECKING:
    from cinnabar.extraction.cluster.connection import Cluster
    from cinnabar.extraction.cluster.crew import Crew
    from cinnabar.extraction.pipeline import Batch


def extract(
    paths: Sequence[Location],
    source: SchemaSource,
    out: Path,
    model: Source,
    options: RunOptions = DEFAULT_OPTIONS,
    progress: Progress | None = None,
    escalation: Escalation | None = None,
    cluster: Cluster | None = None,
) -> Summary:
    """Read all documents of these files, folders and mailboxes with this schema into the output folder.

    With an `escalation` what the model is not sure of goes up to a stronger one. With a `cluster` its
    machines do the work; what is written is the same.
    Raises UsageError before any work begins where that cannot be done, RunError where the run fails; what was
    committed stands then, and the same call goes on from there.
    """
    with Extraction(paths, source, out, model, options, progress, escalation) as extraction:
        return extraction.work_through(cluster)


class Extraction(BatchedRun):
    """A run that has begun: its inputs are hashed, what is done is skipped, `batches` is what is left."""

    def __init__(
        self,
        paths: Sequence[Location],
        source: SchemaSource,
        out: Path,
        model: Source,
        options: RunOptions = DEFAULT_OPTIONS,
        progress: Progress | None = None,
        escalation: Escalation | None = None,
    ) -> None:
        if escalation is not None and isinstance(model, RemoteSource):
            raise UsageError("--escalate-to: expected a model of our own below it, for nothing goes up twice")
        super().__init__(Assignment(source, model, options, escalation), progress)
        #: The model behind a server that the run asks, if there is one.
        self._remote = next((one for one in self._sources() if isinstance(one, RemoteSource)), None)
        self._left = 0
        self._raised = {"escalated_documents": 0, "escalated_fields": 0}
        self._settled = False
        with ExitStack() as stack:
            items = gather(paths, out, stack)[: options.limit]
            store = stack.enter_context(Store.open(out))
            stack.callback(self._end_metered)
            store.check_united(source, self.assignment.compiled)
            if any(isinstance(path, Path) and not path.is_absolute() for path in paths):
                remember(store.out, Path.cwd())
            names = [path_of(item) for item in items]
            about = {"paths": [_name_of(path) for path in paths], "out": printable(str(out))}
            self._opening = Opening(store, names, self.assignment.fingerprint, about)
            done = self._begun().done
            known = store.digests([path.prefix for path in paths if isinstance(path, ImapAddress)])
            settled, left = sift([examine(item, paths, known) for item in items], done)
            self._settle(settled)
            self.batches = self._in_batches(left)
            self._reader = stack.enter_context(BatchReader(self.batches, options.workers))
            self._estimate()
            self._stack = stack.pop_all()

    def commit(self, batch: Batch) -> list[Outcome]:
        """Make the outcomes of a batch count, whoever filled it; a second call changes nothing."""
        outcomes = super().commit(batch)
        self._left += sum(outcome.code == "budget" for outcome in outcomes)
        self._raised["escalated_documents"] += batch.escalated.documents
        self._raised["escalated_fields"] += batch.escalated.fields
        return outcomes

    def finish(self) -> Summary:
        """End the run, once every batch was worked on. Raises RunError where an input has no outcome."""
        summary = super().finish()
        whole = self.assignment.options.limit is None  # of what lies beyond it answers may be paid for
        self._settled = whole and not self._left and UNAVAILABLE not in summary.reasons
        return summary

    def _sources(self) -> list[Source]:
        escalation = self.assignment.escalation
        return [self.assignment.model, *([escalation.source] if escalation else [])]

    def _in_batches(self, inputs: Sequence[Input]) -> list[Sequence[Input]]:
        size = max(self.assignment.options.batch, *(source.least_batch for source in self._sources()))
        return [inputs[start : start + size] for start in range(0, len(inputs), size)]

    def _fill(self, number: int) -> Batch:
        from cinnabar.extraction.pipeline import run_batch

        return run_batch(self._reader.read(number), self._whole_job())

    def _fill_all(self, crew: Crew) -> Iterator[Batch]:
        return crew.fill(self.batches)

    def _estimate(self) -> None:
        """Tell what models behind a server will cost, before they are asked."""
        items = [item.content for batch in self.batches for item in batch]
        if not items or self._remote is None:
            return
        from cinnabar.extraction.cost_estimate import estimate_cost

        found = estimate_cost(
            items,
            self.assignment.compiled.form,
            self._reader.pool,
            self._remote.served,
            self.assignment.options.context,
            at_most=self.assignment.escalation is not None,
        )
        self._progress.estimated(found)

    def _metered(self) -> list[Metered]:
        """The fillers that ask a server, of those that were loaded."""
        if self._job is None:
            return []
        fillers = [self._job.engine, *([self._job.tier.filler] if self._job.tier else [])]
        return [filler for filler in fillers if isinstance(filler, Metered)]

    def _usage(self) -> Mapping[str, Any] | None:
        """What models behind a server took, of which there is one at most that is asked."""
        metered = self._metered()
        if not metered:
            return None
        found: dict[str, Any] = dict(metered[-1].usage()) | {"left": self._left}
        return found | self._raised if self.assignment.escalation is not None else found

    def _end_metered(self) -> None:
        metered = self._metered()
        for filler in metered:
            filler.close(self._settled)
        if self._settled and not metered and self._remote is not None:
            self._remote.settle(self._place)


def _name_of(location: Location) -> str:
    return printable(location.path if isinstance(location, Input) else str(location))
