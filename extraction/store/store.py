"""An output folder open for writing: the lock, recovery after a crash, the commits, and the done documents."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from cinnabar.closing import Closing
from cinnabar.engine.version import read_by
from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.documents.content.formats import format_named
from cinnabar.extraction.plan.outcomes import OTHER_KIND, UNREADABLE
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.compaction import batches_to_merge, merge_batches
from cinnabar.extraction.store.files import FolderLock, explain_broken_file, failures, make_folder, write_whole
from cinnabar.extraction.store.manifest import Manifest, StoredFile
from cinnabar.extraction.store.model_runs import MODEL_RUN
from cinnabar.extraction.store.names import check_local
from cinnabar.extraction.store.path_safety import check_links, is_own
from cinnabar.extraction.store.records import EMPTY_RECORD
from cinnabar.extraction.store.rows import StoredRows
from cinnabar.extraction.store.schema_versions import stored_columns
from cinnabar.extraction.store.snapshot import publish, published_number
from cinnabar.extraction.store.tables import RecordColumns
from cinnabar.schemas.columns.arrow import arrow_schema
from cinnabar.schemas.columns.united_columns import united_columns
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.loading import SchemaSource

#: How long the files of a replaced batch stay for readers of an older snapshot; the next opening removes them then.
KEEP_REPLACED = timedelta(days=1)

#: The code of documents whose model behind a server could not be reached, which says nothing about the documents.
UNAVAILABLE = "unavailable"
#: The argument of a run that names its routing, and the one with its number of passwords.
ROUTING, PASSWORD_COUNT = "routing", "passwords"
_PASSWORD = "password"
# A document, of `outcomes`, that lacks a password; and one that a run with another number of them read.
_LOCKED = (
    f"code IS NOT DISTINCT FROM '{_PASSWORD}' OR (document, run_id) IN (SELECT (document, run_id) FROM {{documents}}"
    f" WHERE list_contains(flags, 'attachment_{_PASSWORD}'))"
)
_LACKING = (
    f"({_LOCKED}) AND run_id IN (SELECT run_id FROM {{runs}}"
    f" WHERE coalesce((arguments ->> '{PASSWORD_COUNT}')::INT, 0) <> ?)"
)
_PROBLEMS = (
    "WITH unread AS (SELECT path, max(run_id) AS run_id, arg_max(code, run_id) AS code,"
    " arg_max(coalesce(detail, ''), run_id) AS detail, arg_max(engine_fingerprint, run_id) AS engine"
    " FROM {outcomes} WHERE schema_fingerprint = ? AND outcome = 'quarantined' AND document IS NULL GROUP BY path),"
    " seen AS (SELECT path, run_id, outcome <> 'skipped' AND document IS NOT NULL AS read FROM {outcomes}"
    " WHERE schema_fingerprint = ?),"
    " within AS (SELECT run_id, string_split(path, '/') AS parts FROM seen),"
    " opened AS (SELECT above, max(run_id) AS run_id FROM (SELECT run_id,"
    " unnest(list_transform(range(1, len(parts)), lambda n: array_to_string(parts[:n], '/'))) AS above FROM within)"
    " GROUP BY above)"
    " SELECT path, code, detail FROM unread WHERE engine = ? AND code <> ?"
    " AND path NOT IN (SELECT u.path FROM unread AS u JOIN seen AS s ON s.path = u.path AND s.run_id > u.run_id"
    " AND s.read)"
    # An archive was opened if a later run has seen files within it, be they done.
    " AND path NOT IN (SELECT u.path FROM unread AS u JOIN opened AS o ON o.above = u.path AND o.run_id > u.run_id)"
)
_ROUTED = (
    f"SELECT DISTINCT document, code IS NOT DISTINCT FROM '{OTHER_KIND}', schema_fingerprint FROM {{outcomes}}"
    f" WHERE run_id IN (SELECT run_id FROM {{runs}} WHERE arguments ->> '{ROUTING}' = ?) AND document <> ''"
    f" AND (outcome <> 'skipped' OR code IN ('{OTHER_KIND}', 'done', '{EMPTY_RECORD}'))"
)


_OF_MODELS = f"SELECT run_id FROM {{runs}} WHERE {MODEL_RUN}"
_READ_BY_MODELS = (
    "SELECT (document, schema_fingerprint) FROM {outcomes}"
    f" WHERE outcome <> 'skipped' AND run_id IN ({_OF_MODELS})"
)
#: Finished documents: the digests of those whose bytes were read, and digest and format of those that cannot be read as
#: what their suffix tells.
Done = set[str | tuple[str, str]]


def done_key(digest: str, code: str | None, path: str) -> str | tuple[str, str]:
    """Returns what is done by an outcome with this code: another name may have the bytes read by another parser."""
    return (digest, format_named(path)) if code in UNREADABLE else digest


def is_done(done: Collection[str | tuple[str, str]], digest: str, path: str | None) -> bool:
    """Returns True if a document, under this path if there is one, is among the finished ones."""
    return digest in done or (path is not None and (digest, format_named(path)) in done)


def time_of(run_id: str) -> datetime:
    """Returns the time at which a run began."""
    return datetime.strptime(run_id.split("-")[0], "%Y%m%dT%H%M%S%fZ").replace(tzinfo=UTC)


class Store(Closing):
    """The one writer of an output folder; a context manager.

    Threads of one process may share it. Raises UsageError if the folder cannot be used or another process writes to it,
    RunError if the disk fails or a committed file is missing.
    """

    @classmethod
    def open(cls, out: Path, *, trusting: bool = True) -> Self:
        """Takes the lock, makes the folders and removes the remains of a crash.

        With `trusting=False` (used by `verify`) missing files are tolerated and nothing is published, because the views
        cannot be built over them.
        """
        return cls(out, trusting)

    def __init__(self, out: Path, trusting: bool = True) -> None:
        check_local(out)
        self.out = out.absolute()
        self.mutex = threading.RLock()
        self._trusting = trusting
        self._failed = ""
        self._later: threading.Timer | None = None
        self._failed_later = False
        self._shown: int | None = None
        self.rows = StoredRows(self.out)
        check_links(self.out, everything=True)
        try:
            make_folder(self.out)
            self._lock = FolderLock(self.out)
        except OSError as error:
            raise UsageError(
                f"{out}: cannot be written to ({error.strerror or error}); choose another folder with --out"
            ) from error
        try:
            with failures(f"{out}: could not be opened"):
                self._recover()
        except BaseException:
            self._lock.release()
            raise

    def _recover(self) -> None:
        for folder in (*manifests.TABLES, manifests.FOLDER, "schemas"):
            make_folder(self.out / folder)
        commits = manifests.read_all(self.out)
        if self._trusting:
            manifests.check_files(self.out, manifests.live(commits), digest=False)
        for path in manifests.leftovers(self.out, commits):
            path.unlink(missing_ok=True)
        manifests.sort_out(self.out, commits)
        self._manifests = {entry.number: entry for entry in manifests.live(commits)}
        self._lost = manifests.lost(self.out, self._manifests.values())
        # A lost manifest may be put back, and its files lie where those of its number would.
        kept = [int(path.stem.removeprefix("batch-")) for path in manifests.unnamed(self.out, commits)[1]]
        # What the id of the next run tells at least.
        self._runs_after: datetime | None = None
        self._next = max(*kept, *(entry.number for entry in commits), manifests.published(self.out)[0], 0) + 1
        if self._next >= manifests.MOST_BATCHES:
            raise RunError(f"{self.out}: a file in it has a number that no batch has; remove it")
        self._shown = published_number(self.out)
        if self._trusting:
            manifests.warn_of_lost(self.out, self._manifests.values())
            self.publish_if_stale()
        for entry in manifests.find_replaced(commits, before=manifests.now() - KEEP_REPLACED):
            manifests.remove(self.out, entry)

    def close(self) -> None:
        """Publishes all commits and releases the lock."""
        try:
            with self.mutex:
                self._stop_waiting()
                if self._trusting:
                    self.publish_if_stale()
        finally:
            self.rows.close()
            self._lock.release()

    def commits(self) -> list[Manifest]:
        """Returns the commits that count, in order."""
        return [*self._manifests.values()]

    def check_united(self, source: SchemaSource, compiled: CompiledSchema) -> None:
        """Raises NotUnited if another version's records and those of this schema do not fit one table.

        A version that already has records here may have more: old folders hold such versions side by side.
        """
        others: dict[str, list[Manifest]] = {}
        for entry in self.commits():
            if entry.schema_name == source.name and entry.records:
                others.setdefault(entry.schema_fingerprint, []).append(entry)
        if source.fingerprint not in others:
            new = RecordColumns.of(arrow_schema(compiled)).schema
            for commits in others.values():
                united_columns(list(stored_columns(self.out, commits)), list(new))

    def done_keys(
        self, schema_fingerprint: str, engine_fingerprint: str, *, quarantined: bool = True, passwords: int = 0
    ) -> Done:
        """Returns the documents written with this schema and engine, and the quarantined ones if `quarantined`.

        Documents that are in quarantine because a service did not answer never count. With `passwords`, documents that
        lack one count only if a run with as many passwords read them, and never without `quarantined`.
        """
        wanted = "outcome = 'written'"
        if quarantined:
            wanted += f" OR outcome = 'quarantined' OR code IN {(EMPTY_RECORD, *UNREADABLE)}"
        lacking, values = "false", list[Any]([schema_fingerprint])
        if passwords:
            lacking = _LACKING if quarantined else _LOCKED
            values += [passwords] if quarantined else []
        sql = (
            "SELECT document, code, path, engine_fingerprint, parsers FROM {outcomes}"
            f" WHERE ({wanted}) AND schema_fingerprint = ? AND document IS NOT NULL"
            f" AND code IS DISTINCT FROM '{UNAVAILABLE}' AND NOT ({lacking})"
        )
        if self.files("corrections"):
            # What a model made may be set aside, and the corrected record not.
            sql += f" AND (run_id IN ({_OF_MODELS}) OR (document, schema_fingerprint) IN ({_READ_BY_MODELS}))"
        # What today's parsers would read alike, by the parsers of a row.
        engine_of = cache(lambda parsers: read_by(engine_fingerprint, (parsers or "").split()))
        return {
            done_key(digest, code, name)
            for digest, code, name, engine, parsers in self.ask(sql, values)
            if engine == engine_of(parsers)
        }

    def recorded_documents(self, schema_name: str) -> set[str]:
        """Returns the documents with a written record of a schema of this name."""
        sql = "SELECT document FROM {outcomes} WHERE schema_name = ? AND outcome = 'written'"
        return {str(document) for (document,) in self.ask(sql, [schema_name])}

    def problems(self, schema_fingerprint: str, engine_fingerprint: str) -> dict[str, tuple[str, str]]:
        """Returns the code and detail of each path in quarantine whose bytes could not be read, such as a damaged
        archive.

        A path is out of quarantine once a later run read it, or files within it.
        """
        values = [schema_fingerprint, schema_fingerprint, read_by(engine_fingerprint, ()), UNAVAILABLE]
        return {name: (code, detail) for name, code, detail in self.ask(_PROBLEMS, values)}

    def routed_documents(self, routing: str) -> tuple[dict[str, set[str]], set[str]]:
        """Returns the documents that runs with this routing sent to each schema (its fingerprint), and to none."""
        placed: dict[str, set[str]] = {}
        nowhere: set[str] = set()
        for document, other_kind, fingerprint in self.ask(_ROUTED, [routing]):
            (nowhere if other_kind else placed.setdefault(fingerprint, set())).add(document)
        return placed, nowhere

    def digests(self, prefixes: Sequence[str]) -> dict[str, str]:
        """Returns the digests of paths with these prefixes from any run, under any schema."""
        sql = "SELECT path, document FROM {outcomes} WHERE document <> '' AND starts_with(path, ?)"
        return {name: digest for prefix in prefixes for name, digest in self.ask(sql, [prefix])}

    def ask(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yields the answer to a query over the tables of the commits that count (`StoredRows.ask`)."""
        return self.rows.ask(self.commits(), sql, values)

    def files(self, table: str, schema_fingerprint: str | None = None) -> list[Path]:
        """Returns the committed files of this table in order, of one schema or of all."""
        return [
            self.out / file.path
            for entry in self.commits()
            if schema_fingerprint in (None, entry.schema_fingerprint)
            for file in entry.files
            if file.table == table
        ]

    def new_run_id(self, started: datetime | None = None) -> str:
        """Returns the id of a new run; it sorts behind all stored ones, even if the clock was set back."""
        stamp = manifests.now() if started is None else started
        if self._runs_after is None:
            self._runs_after = stamp
            for (run_id,) in self.ask("SELECT DISTINCT run_id FROM {runs}"):
                if is_own("run", run_id):
                    with contextlib.suppress(ValueError, OverflowError):  # no run of ours began then
                        self._runs_after = max(self._runs_after, time_of(str(run_id)) + timedelta(milliseconds=1))
        stamp = max(stamp, self._runs_after)
        self._runs_after = stamp + timedelta(milliseconds=1)
        return f"{stamp:%Y%m%dT%H%M%S}{stamp.microsecond // 1000:03d}Z-{secrets.token_hex(4)}"

    def commit(
        self, schema_name: str, schema_fingerprint: str, tables: Mapping[str, pa.Table], *, revises: bool = False
    ) -> None:
        """Writes and commits these tables, all or none.

        `tables` maps a path within the folder, whose first part is the table's name, to its rows. With `revises` this
        version of the schema becomes no later one, so that the schema's view stays that of the version it was.
        """
        with self.mutex, failures(f"{self.out}: could not write a batch"):
            number = self._take_number()
            files = tuple(self.write(folder, number, rows) for folder, rows in tables.items())
            behind = self._place_of(schema_fingerprint) if revises else 0
            self._commit(
                Manifest(number, 0, manifests.now(), schema_name, schema_fingerprint, files, (), behind=behind)
            )

    def _place_of(self, schema_fingerprint: str) -> int:
        """Returns the place of this version's last commit, 0 if it has none."""
        own = (entry.place for entry in self.commits() if entry.schema_fingerprint == schema_fingerprint)
        return max(own, default=0)

    def _take_number(self) -> int:
        # A number is never used twice, because a failed commit may leave files of its number.
        self._next += 1
        return self._next - 1

    def write(self, folder: str, number: int, rows: pa.Table) -> StoredFile:
        """Writes these rows as the file of the batch with this number; they count once the batch is committed."""
        path = self.out / folder / f"{manifests.batch_name(number)}.parquet"
        write_whole(path, lambda temporary: pq.write_table(rows, temporary, compression="zstd"))
        return manifests.describe_file(self.out, folder.split("/")[0], path, rows.num_rows)

    def _commit(self, entry: Manifest) -> None:
        if self._failed:
            raise RunError(f"{self.out}: an earlier commit failed ({self._failed}); run the same command again")
        counting = len(self._manifests.keys() - set(entry.replaces)) + 1 + self._lost
        entry = replace(entry, after=max(self._manifests, default=0), counting=counting)
        try:
            manifests.commit(self.out, entry)
        except BaseException as error:
            # It may fail after the rename: only reading the folder again tells.
            self._failed = f"{type(error).__name__}: {error}"
            raise
        self._manifests = {one.number: one for one in manifests.live([*self._manifests.values(), entry])}
        manifests.put_away(self.out, entry.replaces)

    def replace(self, make: Callable[[int], Manifest]) -> None:
        """Writes and commits a batch that replaces others; `make` gets its number."""
        with self.mutex, explain_broken_file(self.out):
            self._commit(make(self._take_number()))

    def go_on_without_lost(self) -> None:
        """Commits that the manifests which are lost count no more."""
        with self.mutex, failures(f"{self.out}: could not write a batch"):
            if self._lost and self._manifests:
                self._lost, last = 0, self._manifests[max(self._manifests)]
                self._commit(last.successor(self._take_number(), (), level=0, replaces=(), behind=last.place))

    def remove_replaced(self) -> None:
        """Removes all replaced batches now; a reader that has an older snapshot open has to open a new one."""
        with self.mutex, failures(f"{self.out}: could not remove replaced batches"):
            for entry in manifests.find_replaced(manifests.read_all(self.out)):
                manifests.remove(self.out, entry)

    def publish_within(self, seconds: float) -> None:
        """Publishes all commits so many seconds from now, with those that come until then; at once if it failed before.

        A timer does it, because the next batch may take long, and a short run ends before and publishes once.
        """
        with self.mutex:
            if seconds <= 0 or self._failed_later:
                self.publish()
            elif self._later is None:
                self._later = threading.Timer(seconds, self._publish_later)
                self._later.daemon = True
                self._later.start()

    def _publish_later(self) -> None:
        with self.mutex:
            if self._later is threading.current_thread():
                # The next commit, or the end, meets the same error and reports it.
                try:
                    self.publish()
                except Exception:
                    self._failed_later = True

    def _stop_waiting(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._failed_later = False

    def publish(self) -> None:
        """Merges small batches if there are many, and swaps in a snapshot of all commits."""
        with self.mutex:
            with failures(f"{self.out}: could not merge batches"):
                while group := batches_to_merge(self.commits()):
                    self.replace(partial(merge_batches, self.out, group))
            self._publish()
            self._stop_waiting()

    def publish_if_stale(self) -> None:
        """Swaps in a new snapshot if the last one lacks commits or was made at another path."""
        with self.mutex:
            newest = max(self._manifests, default=None)
            if newest is not None and self._shown != newest:
                self._publish()

    def _publish(self) -> None:
        publish(self.out, self.commits(), self.rows.new_database)
        self._shown = max(self._manifests, default=None)
