"""One run in the store: it commits batches one by one and checks at the end that every input has one outcome.

Commits batches in a thread, so that the next batch is filled meanwhile.
"""

from __future__ import annotations

import time
from collections import ChainMap, Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cache, cached_property, partial
from typing import Any, TypeVar

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from cinnabar.engine.version import read_by
from cinnabar.errors import CinnabarError, DocumentError, RunError, UsageError
from cinnabar.extraction.corrections.corrected_run import Revision
from cinnabar.extraction.corrections.revising import Rules, outcome_of, rules_of
from cinnabar.extraction.corrections.waiting_commits import commit_waiting, corrected_rows
from cinnabar.extraction.documents.content.parse_context import problem_message
from cinnabar.extraction.plan.outcomes import OTHER_KIND, UNREADABLE
from cinnabar.extraction.plan.run_options import OnCheck
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.files import explain_broken_file, failures, write_bytes
from cinnabar.extraction.store.names import identifier
from cinnabar.extraction.store.records import EMPTY_RECORD, STATUSES, Outcome
from cinnabar.extraction.store.store import PASSWORD_COUNT, Store, done_key, is_done
from cinnabar.extraction.store.tables import Key, RecordColumns
from cinnabar.schemas.columns.arrow import arrow_schema
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.loading import SchemaSource
from cinnabar.schemas.parsing.texts import schema_text

_Batch = TypeVar("_Batch")
#: Seconds after which commits appear in the snapshot while a run goes on. A snapshot takes 0.1 s.
PUBLISH_EVERY = 2.0
# The outcomes of a run by number; a corrected document has a second one in a run of corrections, which counts.
_OUTCOMES = (
    "WITH again AS (SELECT * FROM {outcomes} WHERE list_contains(?, run_id))"
    " SELECT outcome, code, count(*) FROM (FROM {outcomes} WHERE run_id = ? AND (outcome = 'skipped'"
    " OR document IS NULL OR (document, path) NOT IN (SELECT (document, path) FROM again)) UNION ALL FROM again)"
    " GROUP BY ALL"
)


@dataclass(frozen=True, slots=True)
class Summary:
    """A finished run; `inputs = written + quarantined + skipped`.

    `steps` counts the denoising steps of all documents, 0 if no model ran. `reasons` counts the quarantine codes.
    `usage` is the use of models behind a server, None if the run asked none: requests, tokens, `cost` in dollars as
    decimal text, and `left`, the documents that the run skipped for lack of budget. With an escalation it also holds
    `escalated_documents` and `escalated_fields`; if no server took part, it holds these, `model` and `left` alone.
    `skips` counts the codes of skipped inputs. `routed` has the counts of each schema of a run that chooses among
    schemas, and `routing_ms` the mean time of a choice; both are None in other runs. `report` is the path of the run's
    report, None if it could not be written. `empty` counts the records whose every value is null, whether they were
    held back, skipped or written.
    """

    run_id: str
    schema: str
    inputs: int
    written: int
    quarantined: int
    skipped: int
    seconds: float
    steps: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = None
    skips: Mapping[str, int] = field(default_factory=dict)
    routed: Sequence[Mapping[str, Any]] | None = None
    routing_ms: float | None = None
    report: str | None = None
    empty: int = 0

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


class Run:
    """A run over these inputs, which has begun.

    With `inputs` (the paths as their outcomes will name them) `finish` checks that each has exactly one outcome. With
    `retry_quarantined` documents in quarantine under this key do not count as done. Raises UsageError if the output
    folder has this schema with other column types.
    """

    def __init__(
        self,
        store: Store,
        source: SchemaSource,
        compiled: CompiledSchema,
        engine_fingerprint: str,
        arguments: Mapping[str, Any],
        *,
        inputs: Collection[str] | None = None,
        retry_quarantined: bool = False,
    ) -> None:
        self._store = store
        self._record_schema = arrow_schema(compiled)
        schema_path = store.out / "schemas" / f"{source.fingerprint}.json"
        own_text = schema_text(source.schema, indent=2, ensure_ascii=False).encode() + b"\n"
        if schema_path.is_file() and schema_path.read_bytes() != own_text:
            # Schemas that differ in the order of properties are one: the columns stand as in the first.
            with suppress(CinnabarError):
                self._record_schema = rules_of(store.out, source.name, source.fingerprint).columns
                own_text = b""
        self._columns = RecordColumns.of(self._record_schema)
        self._expected = None if inputs is None else set(inputs)
        on_check: OnCheck = arguments.get("on_check", "flag")
        # A backfill freezes the values that people corrected.
        self._revision = Revision(store, Rules(source, compiled, store.out, on_check), keeps="backfill" in arguments)
        self._arguments = orjson.dumps(dict(arguments), default=str).decode()
        self._accounted: set[str] = set()
        self._written: dict[str | tuple[str, str], str] = {}
        # The runs that hold the corrected records of this one.
        self._corrected: list[str] = []
        self._folder = f"{identifier(source.name)}/{source.fingerprint[:12]}"
        self._engine_of = cache(partial(read_by, engine_fingerprint))
        self._started = manifests.now()
        self._clock = time.monotonic()
        with store.mutex:
            self._check_columns(source)
            self.key = Key(store.new_run_id(self._started), source.name, source.fingerprint, engine_fingerprint)
            self._done = store.done_keys(
                source.fingerprint,
                engine_fingerprint,
                quarantined=not retry_quarantined,
                passwords=arguments.get(PASSWORD_COUNT, 0),
            )
            self._problems = {} if retry_quarantined else store.problems(source.fingerprint, engine_fingerprint)
            with failures(f"{store.out}: the schema could not be stored"):
                if own_text:
                    write_bytes(schema_path, own_text)
            # The schema's view has its columns from the first run on, also without a record.
            there = self._store.files("data", source.fingerprint)
            empty = {} if there else {f"data/{self._folder}": self._columns.schema.empty_table()}
            self._commit({"runs": self._run_row(None, {}, {})} | empty)

    @property
    def id(self) -> str:
        """Returns the run's id; ids sort in the order in which runs began."""
        return self.key.run_id

    @property
    def ids(self) -> tuple[str, ...]:
        """Returns the ids of this run and of no other, as a group of runs has several."""
        return (self.id,)

    def _check_columns(self, source: SchemaSource) -> None:
        for path in self._store.files("data", source.fingerprint)[-1:]:
            with explain_broken_file(path):
                stored = pq.read_schema(path)
            if not stored.equals(self._columns.schema):
                raise UsageError(
                    f"{self._store.out}: holds records of the schema {source.name} with other column types,"
                    " written by another version of Cinnabar; choose another folder with --out"
                )

    @cached_property
    def _recorded_documents(self) -> set[str]:
        """The documents with a record of this schema, in any version."""
        return self._store.recorded_documents(self.key.schema_name)

    def done(self, digest: str, path: str | None = None) -> bool:
        """Returns True if this document is written, or in quarantine, with this schema and engine.

        One that could not be read is done under paths that tell the same format.
        """
        return is_done(self._done, digest, path) or is_done(self._written, digest, path)

    def known_problem(self, path: str, problem: DocumentError) -> bool:
        """Returns True if the path is in quarantine with this problem, with this schema and engine."""
        return self._problems.get(tables.printable(path)) == (problem.code, tables.printable(problem_message(problem)))

    def commit_batch(self, batch: Sequence[Outcome]) -> list[Outcome]:
        """Commits these outcomes, all or none, and returns the new ones as they are stored: corrections count in them.

        A second commit changes nothing: a path with an outcome in this run keeps it, and a document whose key is
        written already is `skipped`. A record that does not fit its columns goes to quarantine as `unstorable`. A
        document that has a record of this schema and cannot be read this time is skipped with the reason. Raises
        RunError if the disk fails; then nothing of the batch counts.
        """
        with self._store.mutex:
            before = self._revision.states_before(batch, self.id)
            made = self._accept(self._revision.made_by_model(outcome, before) for outcome in batch)
            accepted, content = tables.batch_rows(made, self.key, self._record_schema)
            if not accepted:
                return []
            shown: dict[str, Outcome] = {}
            if revised := self._revision.revise(accepted, batch, before):
                shown = {one.path: one for one in map(outcome_of, revised)}
                # A model's record does not count beside its corrected one in quarantine.
                held = [_held_as(one, shown[one.path]) if one.path in shown else one for one in accepted]
                if any(one is not other for one, other in zip(held, accepted, strict=True)):
                    accepted, content = tables.batch_rows(held, self.key, self._record_schema)
                self._corrected.append(self._store.new_run_id())
                key = replace(self.key, run_id=self._corrected[-1])
                content = _join(content, corrected_rows(revised, key, self._record_schema))
            self._commit(content)
            self._accounted.update(outcome.path for outcome in accepted)
            finished = (one for one in accepted if one.status != "skipped" and one.digest)
            self._written |= {done_key(one.digest, one.code, one.path): one.path for one in finished}
            self._store.publish_within(PUBLISH_EVERY)
            return [shown.get(one.path, one) for one in accepted]

    def is_refused(self, digest: str) -> bool:
        """Returns True if a person, or its packet, took this document out of this schema."""
        return self._revision.is_refused(digest)

    def _accept(self, batch: Iterable[Outcome]) -> Iterator[Outcome]:
        """Yields the new outcomes."""
        paths: set[str] = set()
        taken = ChainMap(dict[str | tuple[str, str], str](), self._written)
        for outcome in batch:
            if outcome.path in self._accounted or outcome.path in paths:
                continue
            if outcome.status != "skipped" and outcome.digest:
                own = done_key(outcome.digest, outcome.code, outcome.path)
                other = taken.get(outcome.digest, taken.get(own))
                if other is not None:
                    outcome = _skipped_outcome(outcome, "duplicate", other)
                elif is_done(self._done, outcome.digest, outcome.path):
                    outcome = _skipped_outcome(outcome, "done")
                else:
                    taken[own] = outcome.path
                    if outcome.code in UNREADABLE and outcome.digest in self._recorded_documents:
                        detail = f"{outcome.detail}; the record that was read before stays"
                        outcome = Outcome(outcome.path, "skipped", outcome.code, detail, outcome.digest)
            if not outcome.engine:
                outcome = replace(outcome, engine=self._engine_of(outcome.parsers))
            paths.add(outcome.path)
            yield outcome

    def finish(self, usage: Mapping[str, Any] | None = None) -> Summary:
        """Ends the run: checks that every input has exactly one outcome, and publishes the snapshot.

        `usage` is the use of a model behind a server: tokens, the cost in dollars as decimal text, and more. Raises
        RunError if an input has no outcome, or the stored outcomes differ from the accepted ones.
        """
        with self._store.mutex:
            commit_waiting(self._store)
            outcomes, codes = self._stored_outcomes()
            self._check_sum(outcomes)
            self._commit({"runs": self._run_row(manifests.now(), outcomes, usage or {})})
            self._store.publish()
        return Summary(
            run_id=self.id,
            schema=self.key.schema_name,
            inputs=len(self._accounted),
            written=outcomes["written"],
            quarantined=outcomes["quarantined"],
            skipped=outcomes["skipped"],
            seconds=round(time.monotonic() - self._clock, 3),
            reasons=dict(codes["quarantined"].most_common()),
            skips=dict(codes["skipped"].most_common()),
        )

    def _stored_outcomes(self) -> tuple[Counter[str], dict[str, Counter[str]]]:
        """Returns counts from the committed files of this run: its outcomes, and the codes of each outcome."""
        outcomes: Counter[str] = Counter()
        codes: dict[str, Counter[str]] = defaultdict(Counter)
        for outcome, code, count in self._store.ask(_OUTCOMES, [self._corrected, self.id]):
            outcomes[outcome] += count
            codes[outcome][code] += count
        return outcomes, codes

    def _check_sum(self, outcomes: Counter[str]) -> None:
        if self._expected is not None and self._expected != self._accounted:
            without = sorted(self._expected - self._accounted)
            unknown = sorted(self._accounted - self._expected)
            some = ", ".join(map(tables.printable, (without or unknown)[:3]))
            raise RunError(
                f"run {self.id}: {len(without)} inputs have no outcome, {len(unknown)} outcomes have no input"
                f" ({some} …); run the same command again"
            )
        if outcomes.total() != len(self._accounted) or set(outcomes) - set(STATUSES):
            raise RunError(
                f"run {self.id}: {len(self._accounted)} inputs, but {dict(outcomes)} outcomes are stored;"
                " run the same command again"
            )

    def _commit(self, content: Mapping[str, pa.Table]) -> None:
        self._store.commit(self.key.schema_name, self.key.schema_fingerprint, content)

    def _run_row(
        self, finished: datetime | None, outcomes: Mapping[str, int], usage: Mapping[str, Any]
    ) -> pa.Table:
        cost = usage.get("cost")
        row: dict[str, Any] = {
            "run_id": self.id,
            "started": self._started,
            "finished": finished,
            "schema_name": self.key.schema_name,
            "schema_fingerprint": self.key.schema_fingerprint,
            "engine_fingerprint": self.key.engine_fingerprint,
            "arguments": self._arguments,
            "inputs": len(self._accounted) if finished else None,
            **{status: outcomes.get(status, 0) if finished else None for status in STATUSES},
            **{name: usage.get(name) for name in ("input_tokens", "cached_tokens", "output_tokens")},
            "cost": None if cost is None else Decimal(cost),
            "usage": orjson.dumps(dict(usage)).decode() if usage else None,
        }
        return pa.Table.from_pylist([row], tables.RUNS)


def _join(some: Mapping[str, pa.Table], others: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Returns the rows of both, by their folders."""
    both = {folder: pa.concat_tables([some[folder], others[folder]]).combine_chunks() for folder in {*some} & {*others}}
    return {**some, **others, **both}


def _held_as(outcome: Outcome, corrected: Outcome) -> Outcome:
    """Returns the outcome of a model as one in quarantine if its corrected record is held back."""
    if outcome.status != "written" or corrected.status != "quarantined":
        return outcome
    code, detail, pointers = corrected.code, corrected.detail, corrected.pointers
    return replace(outcome, status="quarantined", code=code, detail=detail, pointers=pointers)


def _skipped_outcome(outcome: Outcome, code: str, duplicate_of: str = "") -> Outcome:
    return Outcome(outcome.path, "skipped", code, digest=outcome.digest, duplicate_of=duplicate_of)


def commit_behind(filled: Iterable[_Batch], commit: Callable[[_Batch], object]) -> None:
    """Commits batches in order, each in a thread and in the context of the caller, while the next one is filled.

    Once a commit has failed its error is raised, and no later batch is committed.
    """
    # A commit in flight ends even after an error, because the store must not be closed under it.
    with ThreadPoolExecutor(1, thread_name_prefix="commit") as thread:
        flying: Future[object] | None = None
        for batch in filled:
            if flying is not None:
                flying.result()
            # Prefect's loggers find their run in the context.
            flying = thread.submit(copy_context().run, commit, batch)
        if flying is not None:
            flying.result()
