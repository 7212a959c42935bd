"""`extract` and `aextract`: documents and a schema in, a table of typed records out."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any, Generic, TypeVar, cast, overload

from pydantic import BaseModel

from cinnabar.extraction.inputs import located
from cinnabar.extraction.progress import Silent
from cinnabar.extraction.quality.kept_models import model_for
from cinnabar.extraction.run import extract as extract_documents
from cinnabar.extraction.run_options import RunOptions
from cinnabar.extraction.sources import check_models, escalation_of, model_source, settings_of
from cinnabar.extraction.storage.records import LeafRow, Outcome
from cinnabar.results import Failure, Found, Reader, Table, Value
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.errors import UsageError

_R = TypeVar("_R")
_M = TypeVar("_M", bound=BaseModel)
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@overload
def extract(
    paths: Paths, schema: type[_M], *, out: str | Path | None = None, model: str | None = None, device: str = "auto",
    escalate_to: str | None = None, below: float | None = None, server: Mapping[str, Any] | None = None, **options: Any,
) -> Table[_M]: ...  # fmt: skip
@overload
def extract(
    paths: Paths, schema: Any, *, out: str | Path | None = None, model: str | None = None, device: str = "auto",
    escalate_to: str | None = None, below: float | None = None, server: Mapping[str, Any] | None = None, **options: Any,
) -> Table[Any]: ...  # fmt: skip


def extract(
    paths: Paths,
    schema: Any,
    *,
    out: str | Path | None = None,
    model: str | None = None,
    device: str = "auto",
    escalate_to: str | None = None,
    below: float | None = None,
    server: Mapping[str, Any] | None = None,
    **options: Any,
) -> Table[Any]:
    """Reads documents into a table of typed records, as `cinnabar extract` does.

    `paths` are files, folders, mbox files, Maildir folders, archives, and imaps://USER@HOST/MAILBOX. `schema` is a
    Pydantic class, another type, a dict, a type of outlines, a name of the library, a JSON Schema file, or
    module:Class; records of a type are instances of it. The results go to the folder `out`, where a second call reads
    only documents that are new, or to a temporary folder that goes with the table. `model`, `device`, `escalate_to` and
    `below` are those of the command; without a `model` it is the one that `cinnabar improve` kept in `out`, else
    `default`. `server` has the settings of a model behind a server (`base_url`, `budget` …), and `options` are the
    fields of `extraction.run_options.RunOptions`, such as `effort`, `on_missing` or `engines`.

    A document that cannot be read raises nothing: it is one of the table's `failures`. Raises UsageError before any
    document is read if the arguments are wrong, and RunError if the run fails; the same call with `out` continues it.
    """
    return _Run(paths, schema, out, model, device, escalate_to, below, server, options).table(Silent())


@overload
def aextract(
    paths: Paths, schema: type[_M], *, out: str | Path | None = None, model: str | None = None, device: str = "auto",
    escalate_to: str | None = None, below: float | None = None, server: Mapping[str, Any] | None = None, **options: Any,
) -> Extracting[_M]: ...  # fmt: skip
@overload
def aextract(
    paths: Paths, schema: Any, *, out: str | Path | None = None, model: str | None = None, device: str = "auto",
    escalate_to: str | None = None, below: float | None = None, server: Mapping[str, Any] | None = None, **options: Any,
) -> Extracting[Any]: ...  # fmt: skip


def aextract(
    paths: Paths,
    schema: Any,
    *,
    out: str | Path | None = None,
    model: str | None = None,
    device: str = "auto",
    escalate_to: str | None = None,
    below: float | None = None,
    server: Mapping[str, Any] | None = None,
    **options: Any,
) -> Extracting[Any]:
    """Does the work of `extract` in a thread: `await` it for the table, or iterate over its documents as they come.

        table = await cinnabar.aextract("mails", schema=Invoice)

        async for found in cinnabar.aextract("mails", schema=Invoice):
            ...  # a Found with a record, or a Failure with a reason

    The arguments are those of `extract`, and wrong ones raise UsageError at once. A loop that is left, or cancelled,
    ends the run after the batch in work; what is committed stays in `out`.
    """
    return Extracting(_Run(paths, schema, out, model, device, escalate_to, below, server, options))


class _Run:
    """The checked arguments of one extraction."""

    def __init__(
        self,
        paths: Paths,
        schema: Any,
        out: str | Path | None,
        model: str | None,
        device: str,
        escalate_to: str | None,
        below: float | None,
        server: Mapping[str, Any] | None,
        options: Mapping[str, Any],
    ) -> None:
        from cinnabar.extraction.records.checks.checks import Checks
        from cinnabar.extraction.records.validation import Validator

        self.source = load_schema(schema)
        compiled = compile_schema(self.source.schema)
        _ = compiled.form
        Validator(self.source)
        Checks(self.source, compiled)
        self.reader = Reader[Any](self.source.model)
        self.options = RunOptions(**options)
        named = [paths] if isinstance(paths, (str, os.PathLike)) else [*paths]
        if not named:
            raise UsageError("paths: expected at least one file, folder or mailbox, got none")
        self.locations = located([os.fspath(one) for one in named])
        said = dict(server or {})
        settings = settings_of(said | {"context": self.options.context})
        self._out = None if out is None else Path(out)
        named_model = model or "default" if self._out is None else model_for(self._out, [self.source.name], model)
        check_models(named_model, escalate_to, below, self.options.steps, said)
        self.model = model_source(named_model, device, settings)
        self.escalation = escalation_of(escalate_to, below, settings, device)

    def table(self, progress: Silent) -> Table[Any]:
        """Does the work and returns its table."""
        owned = self._out is None
        folder = Path(tempfile.mkdtemp(prefix="cinnabar-")) if self._out is None else self._out
        try:
            summary = extract_documents(
                self.locations, self.source, folder, self.model, self.options, progress, self.escalation
            )
        except BaseException:
            if owned:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        return Table(folder, self.source.name, self.reader, summary, self.source.fingerprint, owned)


class _Left(Exception):
    """Ends a run whose results nobody waits for any more."""


class _Handing(Silent):
    """Hands the outcomes of a run over as they are committed; ends the run once it is left."""

    def __init__(self, hand: Callable[[Outcome], object]) -> None:
        self._hand, self.left = hand, Event()

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Hands the outcomes over."""
        if self.left.is_set():
            raise _Left
        for outcome in outcomes:
            self._hand(outcome)


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
        progress = _Handing(lambda outcome: loop.call_soon_threadsafe(arrived.put_nowait, outcome))
        done = self._start(progress)
        done.add_done_callback(lambda _: arrived.put_nowait(None))
        try:
            while (outcome := await arrived.get()) is not None:
                if outcome.status != "skipped" or outcome.code in ("budget", "other_kind"):
                    yield self._told(outcome)
            self.table = await done
        finally:
            await _ended(progress, done)

    async def _all(self) -> Table[_R]:
        progress = _Handing(lambda _: None)
        done = self._start(progress)
        try:
            self.table = await asyncio.shield(done)
        finally:
            await _ended(progress, done)
        return self.table

    def _start(self, progress: _Handing) -> asyncio.Future[Table[_R]]:
        """Starts the work in a thread."""
        if self._begun:
            raise UsageError("aextract: this extraction was awaited or iterated over already; call aextract again")
        self._begun = True
        return asyncio.ensure_future(asyncio.to_thread(lambda: cast("Table[_R]", self._run.table(progress))))

    def _told(self, outcome: Outcome) -> Found[_R] | Failure:
        record = outcome.record
        if outcome.status == "written" and record is not None:
            values = {leaf.pointer: value_of(leaf) for leaf in record.leaves}
            typed: _R = self._run.reader(record.text)
            flags = tuple(record.flags)
            return Found(outcome.path, outcome.digest, typed, record.confidence, flags, values, record.text)
        rejected = None if record is None else record.text
        status, code, detail = outcome.status, outcome.code, outcome.detail
        return Failure(outcome.path, outcome.digest, status, code, detail, outcome.pointers, rejected)


async def _ended(progress: _Handing, done: asyncio.Future[Any]) -> None:
    """Waits until a run that nobody listens to any more has let go of its folder."""
    progress.left.set()
    if not done.done():
        await asyncio.wait([done])
        # Its own end is no failure that anybody asks for.
        done.exception()


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
