"""A backfill: stored records become records of another version of their schema, or surer ones.

It goes over the records that a folder holds, not over the files of a folder. Each becomes a record of the new
version by the same commits as in `run.py`, once: what a run that was broken off has done is skipped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cinnabar.extraction.assignment import Assignment
from cinnabar.extraction.backfill.estimate import Estimate, measure
from cinnabar.extraction.backfill.outstanding import Item, Outstanding
from cinnabar.extraction.backfill.rereading import Rereader
from cinnabar.extraction.backfill.whereabouts import Whereabouts
from cinnabar.extraction.inputs import Location
from cinnabar.extraction.mailboxes.address import password_of_environment
from cinnabar.extraction.progress import Progress, Silent
from cinnabar.extraction.run import SKIPS, Options, Summary
from cinnabar.extraction.sources import Place, Source
from cinnabar.extraction.storage.quarantine import source_of
from cinnabar.extraction.storage.records import Outcome
from cinnabar.extraction.storage.store import Store
from cinnabar.extraction.storage.stored import Selection, select
from cinnabar.extraction.storage.tables import printable
from cinnabar.schemas import SchemaSource, compile_schema
from cinnabar.schemas.arrow import arrow_schema
from cinnabar.schemas.changes import Changes, changes
from cinnabar.schemas.uniting import united_columns

# Torch takes seconds to import, which a backfill that finds its work done does not pay.
if TYPE_CHECKING:
    from cinnabar.extraction.cluster.connection import Cluster
    from cinnabar.extraction.pipeline import Batch, Job


class Backfill:
    """A backfill that has begun: its records are chosen, what is done is skipped, `batches` is what is left.

    A context manager. `--below` (in `chosen`) asks leaves and rows anew that are less sure. `others` are
    files, folders and mailboxes in which documents are looked for that are not where they were. Nothing is
    written where there is nothing to fill, nor before `begin`, which `work` calls. Raises UsageError
    (NotUnited) before any work where the new version does not go together with the stored one, a mailbox
    cannot be opened, or another process is writing.
    """

    def __init__(
        self,
        source: SchemaSource,
        out: Path,
        model: Source,
        chosen: Selection | None = None,
        options: Options | None = None,
        progress: Progress | None = None,
        others: Sequence[Location] = (),
        password: Callable[[], str] = password_of_environment,
    ) -> None:
        chosen, options = chosen or Selection(), options or Options()
        self._source, self._model, self._chosen, self._options = source, model, chosen, options
        self._progress, self._searched = progress or Silent(), others
        self.assignment = Assignment(source, model, options)
        _ = self.assignment.compiled.form, self.assignment.validator
        self.below = chosen.below or 0.0
        self._fingerprint = _fingerprint(self.assignment.fingerprint, chosen.below)
        self._job: Job | None = None
        self._run: Any = None
        self._steps = 0
        found = select(out, source.name, chosen)
        self._changes = {one: self._compare(out, one) for one in {f.schema_fingerprint for f in found}}
        asking = chosen.below is not None
        found = [f for f in found if asking or f.schema_fingerprint != source.fingerprint][: options.limit]
        with ExitStack() as stack:
            self._store = stack.enter_context(Store.open(out))
            self._out, self._named = self._store.out, printable(str(out))
            done = self._store.done_keys(
                source.fingerprint, self._fingerprint, quarantined=not options.retry_quarantined
            )
            whereabouts = stack.enter_context(Whereabouts(self._out, others, password))
            self._outstanding = Outstanding.of(found, done, whereabouts)
            items = self._outstanding.items
            size = max(options.batch, model.least_batch)
            self.batches = [items[start : start + size] for start in range(0, len(items), size)]
            self._reader = stack.enter_context(
                Rereader(self._out, self.batches, self._changes, options.workers, self.below)
            )
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def empty(self) -> bool:
        """Whether no record was chosen of which anything is to be filled."""
        return not self._outstanding.names

    def _compare(self, out: Path, fingerprint: str) -> Changes:
        """What has changed since this version; NotUnited where the two cannot be one table."""
        if fingerprint == self._source.fingerprint:
            return Changes()
        old = compile_schema(source_of(out, self._source.name, fingerprint).schema)
        united_columns(list(arrow_schema(old)), list(arrow_schema(self.assignment.compiled)))
        return changes(old, self.assignment.compiled)

    def estimate(self) -> Estimate:
        """What is to be done, told from a few documents that are read and filled and not stored."""
        work = self._outstanding
        tokens, seconds, sampled = measure(work.items, self._try)
        asked = {at: None for one in self._changes.values() for at in one.asked}
        below = [f"whatever is below {self.below:g}"] if self.below else []
        return Estimate(
            documents=len(work.items),
            tokens=tokens,
            seconds=seconds,
            asked=(*asked, *below),
            dropped=tuple({at: None for one in self._changes.values() for at in one.gone}),
            done=len(work.done),
            lost=len(work.lost),
            sampled=sampled,
        )

    def _try(self, items: Sequence[Item]) -> int:
        """Fill these without storing anything; the tokens of their texts."""
        from cinnabar.extraction.backfill.refilling import refill_batch

        job = self._whole_job()
        read, known = self._reader.parse(items)
        refill_batch(read, known, job)
        texts = [one.found.text for one in read if not isinstance(one.found, Exception)]
        return sum(map(job.engine.count_tokens, texts))

    def work(self, number: int) -> list[Outcome]:
        """Read, fill and commit a batch, while the next one is parsed; a second call changes nothing."""
        from cinnabar.extraction.backfill.refilling import refill_batch

        self._begin()
        return self._commit(refill_batch(*self._reader.read(number), self._whole_job()))

    def spread(self, cluster: Cluster) -> None:
        """Have a cluster read and fill all batches; each is committed here, as it comes back.

        Raises RunError where a batch keeps failing, UsageError where the machines do not fit.
        """
        from cinnabar.extraction.cluster.crew import Crew

        self._begin()
        with Crew(cluster, self.assignment, self._place) as crew:
            for batch in crew.fill(self._reader.inputs, self._reader.known):
                self._commit(batch)

    def _commit(self, batch: Batch) -> list[Outcome]:
        self._run.commit_batch(batch.outcomes)
        self._steps += batch.steps
        self._progress.advance(batch.outcomes)
        return batch.outcomes

    def finish(self) -> Summary:
        """End the run, once every batch was worked on. Raises RunError where an input has no outcome."""
        self._begin()
        return Summary.of(self._run.finish(), self._steps)

    def _begin(self) -> None:
        if self._run is not None:
            return
        said = {name: getattr(self._options, name) for name in self._options.__slots__}
        about = {name: getattr(self._chosen, name) for name in self._chosen.__slots__}
        said |= {"backfill": about, "from": [printable(str(one)) for one in self._searched]}
        said |= {"out": self._named, "model": self._model.fingerprint}
        self._run = self._store.begin_run(
            self._source,
            self.assignment.compiled,
            self._fingerprint,
            said,
            inputs=self._outstanding.names,
            retry_quarantined=self._options.retry_quarantined,
        )
        self._progress.begin(len(self._outstanding.names))
        settled = [*self._outstanding.done, *self._outstanding.lost]
        for start in range(0, len(settled), SKIPS):
            some = settled[start : start + SKIPS]
            self._run.commit_batch(some)
            self._progress.advance(some)

    @property
    def _place(self) -> Place:
        return Place(self._out, "backfill")

    def _whole_job(self) -> Job:
        if self._job is None:
            self._job = self.assignment.job(self._place)
        return self._job


def backfill(
    source: SchemaSource,
    out: Path,
    model: Source,
    chosen: Selection | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
    others: Sequence[Location] = (),
    cluster: Cluster | None = None,
) -> Summary | None:
    """Fill what a new version of a schema asks beyond the stored records; None where there is nothing to do.

    Raises UsageError before any work begins where that cannot be done, RunError where the run fails; what was
    committed stands then, and the same call goes on from there.
    """
    with Backfill(source, out, model, chosen, options, progress, others) as begun:
        if begun.empty:
            return None
        if cluster is not None:
            begun.spread(cluster)
        else:
            for number in range(len(begun.batches)):
                begun.work(number)
        return begun.finish()


def _fingerprint(engine: str, below: float | None) -> str:
    """What the key says of a backfill: as an extraction by the same engine, whose work it so does.

    Not so where leaves are asked anew, which may be of a record with that very key.
    """
    if below is None:
        return engine
    return hashlib.sha256(repr((engine, "below", below)).encode()).hexdigest()[:16]
