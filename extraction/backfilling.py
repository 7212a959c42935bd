"""A backfill: stored records become records of another version of their schema, or surer ones.

It goes over the records that a folder holds, not over the files of a folder. Each becomes a record of the new
version by the same commits as in `run.py`, once: what a run that was broken off has done is skipped.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cinnabar.extraction.assignment import Assignment
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.inputs import Input, examine
from cinnabar.extraction.progress import Progress, Silent
from cinnabar.extraction.run import SKIPS, Options, Summary
from cinnabar.extraction.sources import Place, Source
from cinnabar.extraction.storage.quarantine import source_of
from cinnabar.extraction.storage.records import Outcome
from cinnabar.extraction.storage.store import Store
from cinnabar.extraction.storage.stored import CHANGED, GONE, Found, Selection, Stored, select, stored
from cinnabar.extraction.storage.tables import printable
from cinnabar.schemas import SchemaSource, compile_schema
from cinnabar.schemas.arrow import arrow_schema
from cinnabar.schemas.changes import Changes, changes
from cinnabar.schemas.uniting import united_columns

# Torch takes seconds to import, which a backfill that finds its work done does not pay.
if TYPE_CHECKING:
    from cinnabar.extraction.cluster.connection import Cluster
    from cinnabar.extraction.pipeline import Batch, Job, Read
    from cinnabar.extraction.refilling import Known

#: Documents that are read and filled, without storing anything, to tell how long all of them take.
SAMPLE = 4
#: Records that are fetched from the store at a time.
FETCH = 512


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a backfill takes: `documents` to fill, their `tokens`, and `seconds` on this machine.

    `asked` are the places that are filled in each, `done` the documents that are done already, `lost` those
    whose file is gone or has changed. `sampled` documents were read to tell tokens and seconds.
    """

    documents: int
    tokens: int
    seconds: float
    asked: tuple[str, ...]
    dropped: tuple[str, ...]
    done: int
    lost: int
    sampled: int


@dataclass(frozen=True, slots=True)
class _Item:
    """A document to fill: its name in the run, the path where its bytes are, and its record."""

    name: str
    path: Path
    found: Found


class Backfill:
    """A backfill that has begun: its records are chosen, what is done is skipped, `batches` is what is left.

    A context manager. `--below` (in `chosen`) asks leaves and rows anew that are less sure. Nothing is
    written where there is nothing to fill, nor before `begin`, which `work` calls. Raises UsageError
    (NotUnited) before any work where the new version does not go together with the stored one, or another
    process is writing.
    """

    def __init__(
        self,
        source: SchemaSource,
        out: Path,
        model: Source,
        chosen: Selection | None = None,
        options: Options | None = None,
        progress: Progress | None = None,
    ) -> None:
        chosen, options = chosen or Selection(), options or Options()
        self._source, self._model, self._chosen, self._options = source, model, chosen, options
        self._progress = progress or Silent()
        self.assignment = Assignment(source, model, options)
        _ = self.assignment.compiled.form, self.assignment.validator
        self.below = chosen.below or 0.0
        self._fingerprint = _fingerprint(self.assignment.fingerprint, chosen.below)
        self._job: Job | None = None
        self._steps = 0
        self._reading: dict[int, Future[tuple[list[Read], Known]]] = {}
        found = select(out, source.name, chosen)
        self._changes = {one: self._compare(out, one) for one in {f.schema_fingerprint for f in found}}
        asking = chosen.below is not None
        found = [f for f in found if asking or f.schema_fingerprint != source.fingerprint][: options.limit]
        with ExitStack() as stack:
            self._store = stack.enter_context(Store.open(out))
            self._out = self._store.out
            self._ahead = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="reader"))
            self._pool: ParserPool | None = None
            stack.callback(self._end_pool)
            done = self._store.done_keys(
                source.fingerprint, self._fingerprint, quarantined=not options.retry_quarantined
            )
            self._run: Any = None
            self._names = [f.paths[0] if f.current else f"{f.paths[0]}@{f.document[:16]}" for f in found]
            self._settled = [
                Outcome(name, "skipped", "done", digest=f.document)
                for name, f in zip(self._names, found, strict=True)
                if f.document in done
            ]
            left = [(n, f) for n, f in zip(self._names, found, strict=True) if f.document not in done]
            items = [self._locate(name, f) for name, f in left]
            self.lost = [item for item in items if isinstance(item, Outcome)]
            self._settled += self.lost
            whole = [item for item in items if isinstance(item, _Item)]
            size = max(options.batch, model.least_batch)
            self.batches = [whole[start : start + size] for start in range(0, len(whole), size)]
            self._fetched: dict[str, Stored] = {}
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
        return not self._names

    def _compare(self, out: Path, fingerprint: str) -> Changes:
        """What has changed since this version; NotUnited where the two cannot be one table."""
        if fingerprint == self._source.fingerprint:
            return Changes()
        old = compile_schema(source_of(out, self._source.name, fingerprint).schema)
        united_columns(list(arrow_schema(old)), list(arrow_schema(self.assignment.compiled)))
        return changes(old, self.assignment.compiled)

    def _locate(self, name: str, found: Found) -> _Item | Outcome:
        """The file that still has these bytes, or an outcome that says that there is none."""
        seen = []
        for path in map(Path, found.paths):
            digest = examine(path, [path]).digest
            if digest == found.document:
                return _Item(name, path, found)
            seen.append(bool(digest))
        code = CHANGED if any(seen) else GONE
        said = "holds other bytes than those of the record" if code == CHANGED else "is not there any more"
        detail = f"{found.paths[0]} {said}; the record of the version before stays"
        return Outcome(name, "skipped", code, detail, digest=found.document)

    def estimate(self) -> Estimate:
        """What is to be done, told from a few documents that are read and filled and not stored."""
        from cinnabar.extraction.refilling import refill_batch

        items = [item for batch in self.batches for item in batch]
        places = {at: None for one in self._changes.values() for at in one.asked}
        gone = {at: None for one in self._changes.values() for at in one.gone}
        tokens, seconds, sample = 0, 0.0, list[_Item]()
        if items:
            order = sorted(items, key=lambda item: item.found.characters)
            count = min(SAMPLE, len(order))
            sample = [order[(2 * at + 1) * len(order) // (2 * count)] for at in range(count)]
            job = self._whole_job()
            first = sample[:1]
            refill_batch(self._parse(first), self._records(first), job)  # the model and the parsers are warm
            # The first one's encoding is kept now, which tells nothing of the others.
            sample = sample[1:] or sample
            begin = time.perf_counter()
            read = self._parse(sample)
            refill_batch(read, self._records(sample), job)
            took = time.perf_counter() - begin
            texts = [one.found.text for one in read if not isinstance(one.found, Exception)]
            characters = max(1, sum(item.found.characters for item in sample))
            share = sum(item.found.characters for item in items) / characters
            tokens = round(sum(map(job.engine.count_tokens, texts)) * share)
            seconds = round(took * max(share, 1.0), 1)
        done = len(self._settled) - len(self.lost)
        asked = (*places, *([f"whatever is below {self.below:g}"] if self.below else []))
        return Estimate(
            len(items), tokens, seconds, tuple(asked), tuple(gone), done, len(self.lost), len(sample)
        )

    def work(self, number: int) -> list[Outcome]:
        """Read, fill and commit a batch, while the next one is parsed; a second call changes nothing."""
        from cinnabar.extraction.refilling import refill_batch

        self._begin()
        reading = self._reading.pop(number, None) or self._read(number)
        if number + 1 < len(self.batches) and number + 1 not in self._reading:
            self._reading[number + 1] = self._read(number + 1)
        return self._commit(refill_batch(*reading.result(), self._whole_job()))

    def spread(self, cluster: Cluster) -> None:
        """Have a cluster read and fill all batches; each is committed here, as it comes back.

        Raises RunError where a batch keeps failing, UsageError where the machines do not fit.
        """
        from cinnabar.extraction.cluster.crew import Crew

        self._begin()
        inputs = [
            [Input(item.name, item.path, item.found.document) for item in batch] for batch in self.batches
        ]
        with Crew(cluster, self.assignment, self._place) as crew:
            for batch in crew.fill(inputs, self._known):
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
        said |= {"backfill": about, "out": printable(str(self._out)), "model": self._model.fingerprint}
        self._run = self._store.begin_run(
            self._source,
            self.assignment.compiled,
            self._fingerprint,
            said,
            inputs=self._names,
            retry_quarantined=self._options.retry_quarantined,
        )
        self._progress.begin(len(self._names))
        for start in range(0, len(self._settled), SKIPS):
            some = self._settled[start : start + SKIPS]
            self._run.commit_batch(some)
            self._progress.advance(some)

    def _read(self, number: int) -> Future[tuple[list[Read], Known]]:
        return self._ahead.submit(lambda: (self._parse(self.batches[number]), self._known(number)))

    def _parse(self, items: Sequence[_Item]) -> list[Read]:
        from cinnabar.extraction.pipeline import Read

        if self._pool is None:
            self._pool = ParserPool(self._options.workers)
        parsed = self._pool.parse_many([item.path for item in items])
        found = zip(items, parsed, strict=True)
        return [Read(item.name, item.found.document, document) for item, (_, document) in found]

    def _known(self, number: int) -> Known:
        """The records of a batch, fetched with those of the batches that follow."""
        end = number + 1 + FETCH // len(self.batches[number])
        coming = [item for batch in self.batches[number + 1 : end] for item in batch]
        return self._records(self.batches[number], coming)

    def _records(self, items: Sequence[_Item], coming: Sequence[_Item] = ()) -> Known:
        from cinnabar.extraction.refilling import Known

        if any(item.found.document not in self._fetched for item in items):
            self._fetched = stored(self._out, [item.found for item in [*items, *coming]])
        found = [item.found for item in items]
        records = [(self._fetched[one.document], self._changes[one.schema_fingerprint]) for one in found]
        return Known(records, self.below)

    def _end_pool(self) -> None:
        if self._pool is not None:
            self._pool.close()

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
    cluster: Cluster | None = None,
) -> Summary | None:
    """Fill what a new version of a schema asks beyond the stored records; None where there is nothing to do.

    With a `cluster` its machines do the work; what is written is the same.
    Raises UsageError before any work begins where that cannot be done, RunError where the run fails; what was
    committed stands then, and the same call goes on from there.
    """
    with Backfill(source, out, model, chosen, options, progress) as begun:
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
