"""A run over a folder: what is done already is skipped by its hash, the rest read, filled, committed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cinnabar.engine.effort import effort_of
from cinnabar.engine.filling import Metered
from cinnabar.engine.fingerprint import engine_fingerprint
from cinnabar.extraction.assignment import Assignment
from cinnabar.extraction.batch_reader import Reader
from cinnabar.extraction.chunking import LEAST_LIMIT
from cinnabar.extraction.inputs import Input, Location, examine, gather, path_of
from cinnabar.extraction.mailboxes.address import ImapAddress
from cinnabar.extraction.progress import Progress, Silent
from cinnabar.extraction.sifting import sift
from cinnabar.extraction.sources import Escalation, Place, RemoteSource, Source
from cinnabar.extraction.storage.folders import remember
from cinnabar.extraction.storage.records import Outcome
from cinnabar.extraction.storage.run import RunSummary
from cinnabar.extraction.storage.store import UNAVAILABLE, Store
from cinnabar.extraction.storage.tables import printable
from cinnabar.schemas import SchemaSource
from cinnabar.schemas.errors import RunError, UsageError

# Torch takes seconds to import, which a run that finds its work done does not pay.
if TYPE_CHECKING:
    from cinnabar.extraction.cluster.connection import Cluster
    from cinnabar.extraction.pipeline import Batch, Job, OnMissing

#: Raised when parsing, chunking, merging or evidence change, so that records made before are made anew.
VERSION = 2
#: Outcomes of skipped inputs that are committed together.
SKIPS = 5000
#: Documents of a failed batch that its message names.
NAMED = 5


@dataclass(frozen=True, slots=True)
class Options:
    """How a run reads its documents. Raises UsageError for what is out of range."""

    #: The level of effort: instant, low, medium or high.
    effort: str = "medium"
    #: Denoising steps, instead of those of the effort.
    steps: int | None = None
    #: What becomes of a record without a value that its schema demands: quarantine or guess.
    on_missing: OnMissing = "quarantine"
    #: A record with a leaf or a row that is less sure than this goes to quarantine. No part of a record's
    #: key: what is written stays, and what waits is released by `retry_quarantined` with a lower one.
    min_confidence: float = 0.0
    #: Inputs at most, the first ones in order of their paths.
    limit: int | None = None
    #: Tokens of a chunk at most; the model's context where None.
    context: int | None = None
    #: Parser processes.
    workers: int = 2
    #: Documents that are read, filled and committed together.
    batch: int = 16
    #: Whether documents are tried again that this very engine put into quarantine.
    retry_quarantined: bool = False

    def __post_init__(self) -> None:
        effort_of(self.effort, self.steps)
        if self.on_missing not in ("quarantine", "guess"):
            raise UsageError(f"on-missing: expected quarantine or guess, got {self.on_missing!r}")
        if not 0.0 <= self.min_confidence <= 1.0:
            raise UsageError(f"--min-confidence: expected 0 to 1, got {self.min_confidence}")
        for name, least in (("limit", 1), ("context", LEAST_LIMIT), ("workers", 1), ("batch", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name}: expected at least {least}, got {value}")

    def fingerprint(self, model: str) -> str:
        """What a record's key says of everything that read it but the parser's workers and the device."""
        engine = engine_fingerprint(model, effort_of(self.effort, self.steps))
        parts = repr((VERSION, engine, self.on_missing, self.context))
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Summary:
    """A finished run; `inputs = written + quarantined + skipped`.

    `steps` counts the denoising steps of all documents read, 0 where the model had nothing to do. `reasons`
    counts the codes of what is in quarantine. `usage` is what models behind a server took, None where none
    was asked for: requests, tokens, `cost` in dollars as decimal text, `left`, the documents that were not
    asked about for lack of budget (they are among the skipped), and with tiers what went up:
    `escalated_documents`, `escalated_fields`.
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

    @classmethod
    def of(cls, ended: RunSummary, steps: int, usage: Mapping[str, Any] | None = None) -> Self:
        """The summary of a run as the store ended it."""
        return cls(
            run_id=ended.run_id,
            schema=ended.schema_name,
            inputs=ended.inputs,
            written=ended.written,
            quarantined=ended.quarantined,
            skipped=ended.skipped,
            seconds=round(ended.seconds, 3),
            steps=steps,
            reasons=ended.reasons,
            usage=usage,
        )


def extract(
    paths: Sequence[Location],
    source: SchemaSource,
    out: Path,
    model: Source,
    options: Options = Options(),
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
        if cluster is not None:
            extraction.spread(cluster)
        else:
            for number in range(len(extraction.batches)):
                extraction.work(number)
        return extraction.finish()


class Extraction:
    """A run that has begun: its inputs are hashed, what is done is skipped, `batches` is what is left.

    A context manager. Batches are worked on one by one, in any order, each as often as it takes; the next one
    is parsed meanwhile.
    """

    def __init__(
        self,
        paths: Sequence[Location],
        source: SchemaSource,
        out: Path,
        model: Source,
        options: Options = Options(),
        progress: Progress | None = None,
        escalation: Escalation | None = None,
    ) -> None:
        self._model, self._options, self._progress = model, options, progress or Silent()
        if escalation is not None and isinstance(model, RemoteSource):
            raise UsageError("--escalate-to: expected a model of our own below it, for nothing goes up twice")
        self._escalation = escalation
        self.assignment = Assignment(source, model, options, escalation)
        # A schema under which nothing can be written is refused now, not document by document.
        _ = self.assignment.compiled.form, self.assignment.validator
        self._steps = self._left = 0
        self._raised = {"escalated_documents": 0, "escalated_fields": 0}
        self._metered: list[Metered] = []
        self._settled = False
        self._job: Job | None = None
        with ExitStack() as stack:
            items = gather(paths, out, stack)[: options.limit]
            store = stack.enter_context(Store.open(out))
            stack.callback(self._end_metered)
            store.check_united(source, self.assignment.compiled)
            self._out = store.out
            if any(isinstance(path, Path) and not path.is_absolute() for path in paths):
                remember(store.out, Path.cwd())
            self._run = store.begin_run(
                source,
                self.assignment.compiled,
                self.assignment.fingerprint,
                _arguments(paths, out, options) | {"model": model.fingerprint},
                inputs=[path_of(item) for item in items],
                retry_quarantined=options.retry_quarantined,
            )
            self._progress.begin(len(items))
            known = store.digests([path.prefix for path in paths if isinstance(path, ImapAddress)])
            self.batches = self._plan([examine(item, paths, known) for item in items])
            self._reader = stack.enter_context(Reader(self.batches, options.workers))
            self._estimate()
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def work(self, number: int) -> list[Outcome]:
        """Read, fill and commit a batch, while the next one is parsed; a second call changes nothing."""
        from cinnabar.extraction.pipeline import run_batch

        return self.commit(run_batch(self._reader.read(number), self._whole_job()))

    def spread(self, cluster: Cluster) -> None:
        """Have a cluster read and fill all batches; each is committed here, as it comes back.

        Raises RunError where a batch keeps failing, UsageError where the machines do not fit.
        """
        from cinnabar.extraction.cluster.crew import Crew

        with Crew(cluster, self.assignment, self._place) as crew:
            for batch in crew.fill(self.batches):
                self.commit(batch)

    def commit(self, batch: Batch) -> list[Outcome]:
        """Make the outcomes of a batch count, whoever filled it; a second call changes nothing."""
        self._run.commit_batch(batch.outcomes)
        self._steps += batch.steps
        self._left += sum(outcome.code == "budget" for outcome in batch.outcomes)
        self._raised["escalated_documents"] += batch.escalated.documents
        self._raised["escalated_fields"] += batch.escalated.fields
        self._progress.advance(batch.outcomes)
        return batch.outcomes

    def finish(self) -> Summary:
        """End the run, once every batch was worked on. Raises RunError where an input has no outcome."""
        usage = self._usage()
        ended = self._run.finish(usage)
        whole = self._options.limit is None  # of what lies beyond it answers may be paid for
        self._settled = whole and not self._left and UNAVAILABLE not in ended.reasons
        return Summary.of(ended, self._steps, usage)

    def _plan(self, inputs: Iterable[Input]) -> list[list[Input]]:
        """Skip what is done and what has the same bytes as an earlier path; the rest in batches."""
        settled, left = sift(inputs, self._run.done)
        for start in range(0, len(settled), SKIPS):
            some = settled[start : start + SKIPS]
            self._run.commit_batch(some)
            self._progress.advance(some)
        sources = [self._model, *([self._escalation.source] if self._escalation else [])]
        size = max(self._options.batch, *(source.least_batch for source in sources))
        return [left[start : start + size] for start in range(0, len(left), size)]

    @property
    def _place(self) -> Place:
        return Place(self._out, self._run.id)

    def _whole_job(self) -> Job:
        if self._job is None:
            job = self.assignment.job(self._place)
            fillers = [job.engine, *([job.tier.filler] if job.tier else [])]
            self._metered = [filler for filler in fillers if isinstance(filler, Metered)]
            self._job = job
        return self._job

    def _estimate(self) -> None:
        """Tell what models behind a server will cost, before they are asked."""
        remote = self._escalation.source if self._escalation else self._model
        items = [item.content for batch in self.batches for item in batch]
        if not items or not isinstance(remote, RemoteSource):
            return
        from cinnabar.extraction.estimate import estimate

        found = estimate(
            items,
            self.assignment.compiled.form,
            self._reader.pool,
            remote.served,
            self._options.context,
            at_most=self._escalation is not None,
        )
        self._progress.estimated(found)

    def _usage(self) -> dict[str, Any] | None:
        """What models behind a server took, of which there is one at most that is asked."""
        if not self._metered:
            return None
        found = dict(self._metered[-1].usage()) | {"left": self._left}
        return found | self._raised if self._escalation is not None else found

    def _end_metered(self) -> None:
        for filler in self._metered:
            filler.close(self._settled)
        remote = self._escalation.source if self._escalation else self._model
        if self._settled and not self._metered and isinstance(remote, RemoteSource):
            remote.settle(self._place)


def failure(number: int, batch: Sequence[Input], cause: BaseException) -> RunError:
    """The error of a batch that failed as often as it may, with the names of its documents."""
    named = ", ".join(printable(item.path) for item in batch[:NAMED])
    more = " …" if len(batch) > NAMED else ""
    return RunError(
        f"batch {number} of {len(batch)} documents ({named}{more}) failed three times:"
        f" {type(cause).__name__}: {cause}; what was committed stands, run it again"
    )


def _arguments(paths: Sequence[Location], out: Path, options: Options) -> dict[str, Any]:
    said = {name: getattr(options, name) for name in options.__slots__}
    named = [printable(path.path if isinstance(path, Input) else str(path)) for path in paths]
    return {"paths": named, "out": printable(str(out))} | said
