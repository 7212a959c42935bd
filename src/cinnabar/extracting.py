"""`extract` and `aextract`: documents and a schema in, a table of typed records out."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Generic, TypeVar, Unpack, cast, overload

from pydantic import BaseModel

from cinnabar.documents import Documents, locations_of
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.progress import ProgressListener
from cinnabar.extraction.plan.run_options import RunOptions, RunPlan
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.extract import begin_extraction
from cinnabar.extraction.store.names import check_local
from cinnabar.extraction.store.records import LeafRow, Outcome
from cinnabar.keywords import PLAN_KEYWORDS, Options
from cinnabar.results import TOLD_SKIPS, Failure, Found, Reader, Table, Value

_R = TypeVar("_R")
_M = TypeVar("_M", bound=BaseModel)
# Seconds between two lines of progress without a terminal, and with one.
_LINES, _REDRAWN = 30.0, 0.2


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run: of its `inputs` so many are `done`, which are those written, quarantined and skipped."""

    inputs: int
    written: int = 0
    quarantined: int = 0
    skipped: int = 0

    @property
    def done(self) -> int:
        """Returns the number of inputs with an outcome."""
        return self.written + self.quarantined + self.skipped

    def __str__(self) -> str:
        counts = {"written": self.written, "quarantined": self.quarantined, "skipped": self.skipped}
        text = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        return f"{self.done} of {self.inputs} documents{f': {text}' if text else ''}"


#: Receives the progress after each batch, or True for lines on standard error.
Shown = bool | Callable[[Progress], object]


@overload
def extract(
    paths: Documents, schema: type[_M], *, out: str | Path | None = None, progress: Shown = False,
    **options: Unpack[Options],
) -> Table[_M]: ...  # fmt: skip
@overload
def extract(
    paths: Documents, schema: Any, *, out: str | Path | None = None, progress: Shown = False,
    **options: Unpack[Options],
) -> Table[Any]: ...  # fmt: skip


def extract(
    paths: Documents,
    schema: Any,
    *,
    out: str | Path | None = None,
    progress: Shown = False,
    **options: Unpack[Options],
) -> Table[Any]:
    """Reads documents into a table of typed records, as `cinnabar extract` does.

    `paths` are files, folders, mbox files, Maildir folders, archives, and imaps://USER@HOST/MAILBOX, and without a file
    bytes, files that are open for bytes (BytesIO), or (name, bytes); one of these or a list. `schema` is a Pydantic
    class, another type, a dict, a type of outlines, a name of the library, a JSON Schema file, or module:Class; records
    of a type are instances of it. The results go to the folder `out`, where a second call reads only documents that are
    new, or to a temporary folder that goes with the table. `options` are those of the command, such as `model`,
    `budget` (dollars), `effort` or `on_missing`; without a `model` it is the one that `cinnabar improve` kept in `out`,
    else `default`. `progress` is True for lines on standard error, or gets a `Progress` after each batch.

    A document that cannot be read raises nothing: it is one of the table's `failures`. Raises UsageError before any
    document is read if the arguments are wrong, and RunError if the run fails; the same call with `out` continues it.
    """
    return _Run(paths, _plan(schema, out, options), progress).table()


@overload
def aextract(
    paths: Documents, schema: type[_M], *, out: str | Path | None = None, progress: Shown = False,
    **options: Unpack[Options],
) -> Extracting[_M]: ...  # fmt: skip
@overload
def aextract(
    paths: Documents, schema: Any, *, out: str | Path | None = None, progress: Shown = False,
    **options: Unpack[Options],
) -> Extracting[Any]: ...  # fmt: skip


def aextract(
    paths: Documents,
    schema: Any,
    *,
    out: str | Path | None = None,
    progress: Shown = False,
    **options: Unpack[Options],
) -> Extracting[Any]:
    """Does the work of `extract` in a thread: `await` it for the table, or iterate over its documents as they come.

        table = await cinnabar.aextract("mails", schema=Invoice)

        async for found in cinnabar.aextract("mails", schema=Invoice):
            ...  # a Found with a record, or a Failure with a reason

    The arguments are those of `extract`, and wrong ones raise UsageError at once. A loop that is left, or cancelled,
    ends the run after the batch in work; what is committed stays in `out`.
    """
    return Extracting(_Run(paths, _plan(schema, out, options), progress))


class _Run:
    """One extraction, whose arguments are checked."""

    def __init__(self, paths: Documents, plan: RunPlan, progress: Shown) -> None:
        self._assignment = Assignment.of(plan)
        self.reader = Reader[Any](self._assignment.source.model)
        if not isinstance(progress, bool) and not callable(progress):
            raise UsageError(f"progress: expected True, False or a function of one argument, got {progress!r}")
        self.progress = _Progress(progress)
        self._locations, self._out = locations_of(paths), plan.out

    def table(self) -> Table[Any]:
        """Does the work and returns its table."""
        folder, source = self._out or Path(tempfile.mkdtemp(prefix="cinnabar-")), self._assignment.source
        owned = self._out is None
        try:
            with begin_extraction(self._assignment, self._locations, folder, self.progress) as extraction:
                summary = extraction.work_through()
        except BaseException:
            if owned:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        return Table(folder, source.name, self.reader, summary, source.fingerprint, owned)


def _plan(schema: Any, out: str | Path | None, options: Mapping[str, Any]) -> RunPlan:
    """Returns the plan of these options. Raises UsageError if one is out of range, or `out` is no path of here."""
    if out is not None:
        check_local(out, "out")
    of_plan = {name: value for name, value in options.items() if name in PLAN_KEYWORDS}
    rest = {name: value for name, value in options.items() if name not in of_plan}
    return RunPlan.of([schema], out, options=RunOptions(**rest), **of_plan)


class _Left(Exception):
    """Ends a run whose results nobody waits for any more."""


class _Progress(ProgressListener):
    """Shows the progress of a run, hands its outcomes over as they are committed, and ends it once it is `left`."""

    def __init__(self, shown: Shown) -> None:
        self._show: Callable[[Progress], object] | None = _make_printer() if shown is True else shown or None
        self._inputs, self._counts = 0, Counter[str]()
        self.hand: Callable[[Outcome], object] = lambda _: None
        self.left = Event()

    def note(self, text: str) -> None:
        """Prints a warning, or an estimate."""
        if self._show:
            print(f"cinnabar: {text}", file=sys.stderr)

    def on_inputs(self, inputs: int) -> None:
        """Shows the number of inputs."""
        self._inputs = inputs
        self.advance(())

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Shows the counts with these outcomes."""
        if self.left.is_set():
            raise _Left
        self._counts.update(one.status for one in outcomes)
        if self._show:
            self._show(Progress(self._inputs, **self._counts))
        for outcome in outcomes:
            self.hand(outcome)


def _make_printer() -> Callable[[Progress], None]:
    """Returns a function that prints the progress on standard error: one line that changes, or one now and then."""
    terminal, last = sys.stderr.isatty(), float("-inf")

    def show(now: Progress) -> None:
        nonlocal last
        ended, due = now.done >= now.inputs, time.monotonic() - last >= (_REDRAWN if terminal else _LINES)
        if now.done and (ended or due):
            last = time.monotonic()
            begin, end = ("\r\x1b[K", "\n" if ended else "") if terminal else ("", "\n")
            print(f"{begin}cinnabar: {now}", end=end, file=sys.stderr, flush=True)

    return show


class Extracting(Generic[_R]):
    """An extraction to `await`, or to iterate over; it does its work once."""

    def __init__(self, run: _Run) -> None:
        self._run, self._begun = run, False
        #: The table of all results, once the iteration has come to its end.
        self.table: Table[_R] | None = None

    def __await__(self) -> Generator[Any, None, Table[_R]]:
        return self._all().__await__()

    async def __aiter__(self) -> AsyncIterator[Found[_R] | Failure]:
        """Yields each document that this run read, once it is committed, and those that it skipped for a reason."""
        arrived: asyncio.Queue[Outcome | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        done = self._start()  # its thread begins at the first await
        self._run.progress.hand = lambda outcome: loop.call_soon_threadsafe(arrived.put_nowait, outcome)
        done.add_done_callback(lambda _: arrived.put_nowait(None))
        try:
            while (outcome := await arrived.get()) is not None:
                if outcome.status != "skipped" or outcome.code in TOLD_SKIPS:
                    yield self._result_of(outcome)
            self.table = await done
        finally:
            await self._end(done)

    async def _all(self) -> Table[_R]:
        done = self._start()
        try:
            self.table = await asyncio.shield(done)
        finally:
            await self._end(done)
        return self.table

    def _start(self) -> asyncio.Future[Table[_R]]:
        """Starts the work in a thread."""
        if self._begun:
            raise UsageError("aextract: this extraction was awaited or iterated over already; call aextract again")
        self._begun = True
        return asyncio.ensure_future(asyncio.to_thread(lambda: cast("Table[_R]", self._run.table())))

    async def _end(self, done: asyncio.Future[Any]) -> None:
        """Waits until a run that nobody listens to any more has let go of its folder."""
        self._run.progress.left.set()
        if not done.done():
            await asyncio.wait([done])
            # Its own end is no failure that anybody asks for.
            done.exception()

    def _result_of(self, outcome: Outcome) -> Found[_R] | Failure:
        record = outcome.record
        if outcome.status == "written" and record is not None:
            values = {leaf.pointer: value_of(leaf) for leaf in record.leaves}
            typed: _R = self._run.reader(record.text)
            flags = tuple(record.flags)
            return Found(outcome.path, outcome.digest, typed, record.confidence, flags, values, record.text)
        rejected = None if record is None else record.text
        status, code, detail = outcome.status, outcome.code, outcome.detail
        return Failure(outcome.path, outcome.digest, status, code, detail, outcome.pointers, rejected)


def value_of(leaf: LeafRow) -> Value:
    """Returns a leaf of a record with its evidence."""
    evidence = leaf.evidence
    return Value(
        leaf.pointer,
        None if leaf.value is None else json.loads(leaf.value),
        leaf.confidence,
        leaf.page,
        "" if evidence is None else evidence.text,
        () if evidence is None else tuple((span.start, span.end) for span in evidence.spans),
        leaf.origin,
        leaf.flags,
    )
