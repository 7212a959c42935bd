"""Gathers what a report tells of a run, aggregated by DuckDB: its size does not grow with the number of documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from cinnabar.errors import UsageError
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.names import sql_literal
from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.records import EMPTY
from cinnabar.extraction.store.snapshot import files_as_table

# Earlier runs are taken from the newest on until they have so many documents, and no more runs than this.
_BEFORE, _RUNS = 100_000, 10
# Documents that are named: for each reason of quarantine, and of the least sure ones. Reasons and fields that are told.
_EXAMPLES, _UNSURE, _REASONS, MOST_FIELDS = 3, 20, 30, 200
# The most characters of a detail.
_DETAIL = 300
_VALUE = "value_json IS NOT NULL AND value_json NOT IN ('null', '\"\"')"


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document of a run, with the reason for its outcome or its confidence."""

    path: str
    document: str
    detail: str = ""
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class HeldBack:
    """The documents in quarantine with this code, and some of them."""

    code: str
    documents: int
    examples: tuple[ShownDocument, ...]


@dataclass(frozen=True, slots=True)
class RunShares:
    """Of a run: its documents that were read; shares of those in quarantine, and of the values without one.

    confidence: the mean of its records. reviewed: its values that a person has looked at; wrong: the share of them that
    the person changed. What a run has nothing of is None.
    """

    run_id: str
    read: int
    quarantined: float | None
    empty: float | None
    confidence: float | None
    reviewed: int
    wrong: float | None


@dataclass(frozen=True, slots=True)
class FieldShare:
    """Of a field the share of documents with a value, and its mean confidence, in this run and in earlier ones."""

    field: str
    now: float | None
    before: float | None
    confidence: float | None
    confidence_before: float | None


@dataclass(frozen=True, slots=True)
class RunData:
    """All that a report tells."""

    run_id: str
    schema_name: str
    started: datetime
    seconds: float | None
    model: str
    options: Mapping[str, Any]
    outcomes: Mapping[str, int]
    skips: Mapping[str, int]
    reasons: Sequence[HeldBack]
    fields: Sequence[FieldShare]
    unsure: Sequence[ShownDocument]
    #: This run first, then the earlier ones that it stands beside.
    shares: Sequence[RunShares]
    stages: Mapping[str, float]
    #: Written records whose every value is null.
    empty: int
    #: Written documents with a list of another length than they tell, with what they tell.
    incomplete: Sequence[ShownDocument]

    @property
    def read(self) -> int:
        """Returns the number of documents that were read."""
        return self.outcomes.get("written", 0) + self.outcomes.get("quarantined", 0)


def gather_run(out: Path, run_id: str, stages: Mapping[str, float]) -> RunData:
    """Returns the data of this run. Raises UsageError if the folder has no such run."""
    out = out.absolute()
    committed = manifests.read_live(out)
    with connect(out, views=("runs", "outcomes", "records", "documents", "corrections")) as connection:
        return _Gathering(connection, run_id, files_as_table(out, committed, "fields")).data(stages)


class _Gathering:
    """The queries of one report; `fields` is the SQL of all values ever written."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, run_id: str, fields: str) -> None:
        self._connection, self._run = connection, run_id
        row = self._rows(
            "SELECT schema_name, epoch_us(started), epoch_us(finished), arguments, coalesce(model, '') FROM runs"
            " WHERE run_id = ?",
            run_id,
        )
        if not row:
            raise UsageError(f"{run_id}: no such run; the view `runs` has them")
        self._schema, self._started, self._finished, arguments, self._model = row[0]
        self._arguments = json.loads(arguments or "{}")
        self._runs = [run_id, *self._earlier()]
        self._values = fields
        # Only the values of these runs; the files of others are left out by their statistics.
        self._rows(
            f"CREATE TEMP VIEW own_values AS SELECT * FROM {fields}"
            f" WHERE run_id IN ({', '.join(map(sql_literal, self._runs))})"
            f" AND schema_name = {sql_literal(self._schema)} AND origin NOT IN ('list', 'length', 'other', 'thoughts')"
        )
        # Four queries read them; the view of all records would be planned and read for each.
        self._rows(
            "CREATE TEMP TABLE own_records AS SELECT path, document, confidence, flags, run_id FROM records"
            f" WHERE run_id IN ({', '.join(map(sql_literal, self._runs))})"
        )

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Returns the answer to a query with these values, or with those of one mapping by their names."""
        named = values[0] if values and isinstance(values[0], dict) else [*values]
        rows: list[tuple[Any, ...]] = self._connection.execute(sql, named).fetchall()
        return rows

    def _earlier(self) -> list[str]:
        """Returns the earlier runs of this schema that ended, the newest first, as far as they are shown."""
        earlier: list[str] = []
        documents = 0
        for run_id, count in self._rows(
            "SELECT run_id, written + quarantined FROM runs WHERE schema_name = ? AND run_id < ?"
            # A person's corrections are runs without a model.
            " AND finished IS NOT NULL AND written + quarantined > 0 AND arguments ->> 'model' IS NOT NULL"
            " ORDER BY run_id DESC LIMIT ?",
            self._schema,
            self._run,
            _RUNS,
        ):
            earlier.append(run_id)
            documents += count
            if documents >= _BEFORE:
                break
        return earlier

    def data(self, stages: Mapping[str, float]) -> RunData:
        """Returns the data of the run."""
        outcomes, skips = self._outcomes()
        finished = self._finished
        return RunData(
            run_id=self._run,
            schema_name=self._schema,
            started=datetime.fromtimestamp(self._started / 1e6, UTC),
            seconds=None if finished is None else max(0.0, (finished - self._started) / 1e6),
            model=self._model,
            options={name: self._arguments[name] for name in ("effort", "steps") if self._arguments.get(name)},
            outcomes=outcomes,
            skips=skips,
            reasons=self._reasons(),
            fields=self._fields(),
            unsure=self._unsure(),
            shares=self._shares(),
            stages=stages,
            empty=self._empty(),
            incomplete=self._incomplete(),
        )

    def _outcomes(self) -> tuple[dict[str, int], dict[str, int]]:
        outcomes: dict[str, int] = {}
        skips: dict[str, int] = {}
        for outcome, code, count in self._rows(
            "SELECT outcome, coalesce(code, ''), count(*) FROM outcomes WHERE run_id = ? GROUP BY ALL ORDER BY 3 DESC",
            self._run,
        ):
            outcomes[outcome] = outcomes.get(outcome, 0) + count
            if outcome == "skipped":
                skips[code] = count
        return outcomes, skips

    def _empty(self) -> int:
        ((count,),) = self._rows(
            "SELECT count(*) FROM own_records WHERE run_id = ? AND list_contains(flags, ?)", self._run, EMPTY
        )
        return int(count)

    def _incomplete(self) -> list[ShownDocument]:
        rows = self._rows(
            "SELECT path, document, string_agg(pointer || ': ' || (value_json ->> '$'), '; ')"
            f" FROM {self._values} JOIN (SELECT path, document, run_id FROM own_records WHERE run_id = ?) AS r"
            " USING (document, run_id) WHERE origin = 'length' AND len(flags) > 0 AND schema_name = ?"
            " GROUP BY ALL ORDER BY path LIMIT ?",
            self._run,
            self._schema,
            _UNSURE,
        )
        return [ShownDocument(path, document, detail[:_DETAIL]) for path, document, detail in rows]

    def _reasons(self) -> list[HeldBack]:
        counts = self._rows(
            "SELECT code, count(*) FROM outcomes WHERE run_id = ? AND outcome = 'quarantined' GROUP BY 1"
            " ORDER BY 2 DESC, 1 LIMIT ?",
            self._run,
            _REASONS,
        )
        examples: dict[str, list[ShownDocument]] = {}
        for code, path, document, detail in self._rows(
            "SELECT code, path, coalesce(document, ''), left(coalesce(detail, ''), ?) FROM outcomes"
            " WHERE run_id = ? AND outcome = 'quarantined'"
            " QUALIFY row_number() OVER (PARTITION BY code ORDER BY path) <= ? ORDER BY path",
            _DETAIL,
            self._run,
            _EXAMPLES,
        ):
            examples.setdefault(code, []).append(ShownDocument(path, document, detail))
        return [HeldBack(code, count, tuple(examples.get(code, ()))) for code, count in counts]

    def _fields(self) -> list[FieldShare]:
        """Returns the shares of this run's fields; a document counts for the fields of its version of the schema.

        A list that is always empty in a run has no row there, but its documents count.
        """
        rows = self._rows(
            "WITH sizes AS (SELECT schema_fingerprint, run_id = $run AS own, count(*) AS documents FROM outcomes"
            " WHERE list_contains($runs, run_id) AND outcome = 'written' GROUP BY ALL),"
            " known AS (SELECT DISTINCT field, schema_fingerprint FROM own_values),"
            " every AS (SELECT field, own, sum(documents) AS documents FROM known JOIN sizes USING (schema_fingerprint)"
            " GROUP BY ALL),"
            " there AS (SELECT field, run_id = $run AS own, avg(confidence) AS mean,"
            f" count(DISTINCT (document, run_id)) AS many FROM own_values WHERE {_VALUE} GROUP BY ALL),"
            " shares AS (SELECT field, own, coalesce(many, 0) / documents AS share, mean FROM every"
            " LEFT JOIN there USING (field, own))"
            " SELECT n.field, n.share, b.share, n.mean, b.mean FROM (FROM shares WHERE own) AS n"
            " LEFT JOIN (FROM shares WHERE NOT own) AS b USING (field) ORDER BY 1 LIMIT $most",
            {"run": self._run, "runs": self._runs, "most": MOST_FIELDS},
        )
        return [FieldShare(*row) for row in rows]

    def _shares(self) -> list[RunShares]:
        """Returns the shares of this run and of the earlier ones, the newest first."""
        # What a person decided on the document's values under this schema; the last decision counts.
        decided = "(SELECT NULL AS run_id, 0 AS reviewed, 0 AS changed LIMIT 0)"
        if self._rows("SELECT 1 FROM (SHOW TABLES) WHERE name = 'corrections'"):
            decided = (
                "(WITH last AS (SELECT document, pointer, arg_max(action, made) AS action FROM corrections"
                " WHERE schema_name = $schema AND undone IS NULL GROUP BY 1, 2)"
                " SELECT run_id, count(*) AS reviewed, count(*) FILTER (d.action IN ('value', 'absent')) AS changed"
                " FROM (FROM own_values WHERE origin <> 'human') AS v LEFT JOIN last AS d USING (document, pointer)"
                " LEFT JOIN (SELECT document FROM last WHERE pointer = '' AND action = 'accept') AS whole"
                " ON whole.document = v.document"
                " WHERE d.action IN ('value', 'absent', 'accept') OR whole.document IS NOT NULL GROUP BY 1)"
            )
        rows = self._rows(
            "SELECT run_id, coalesce(read, 0), held / nullif(read, 0), empty, confidence, coalesce(reviewed, 0),"
            " changed / nullif(reviewed, 0) FROM (SELECT unnest($runs) AS run_id)"
            " LEFT JOIN (SELECT run_id, count(*) FILTER (outcome <> 'skipped') AS read,"
            " count(*) FILTER (outcome = 'quarantined') AS held FROM outcomes GROUP BY 1) USING (run_id)"
            f" LEFT JOIN (SELECT run_id, 1 - count(*) FILTER ({_VALUE}) / count(*) AS empty FROM own_values GROUP BY 1)"
            " USING (run_id) LEFT JOIN (SELECT run_id, avg(confidence) AS confidence FROM own_records GROUP BY 1)"
            f" USING (run_id) LEFT JOIN {decided} USING (run_id) WHERE run_id = $run OR read > 0 ORDER BY 1 DESC",
            {"run": self._run, "runs": self._runs, "schema": self._schema},
        )
        return [RunShares(*row) for row in rows]

    def _unsure(self) -> list[ShownDocument]:
        rows = self._rows(
            "SELECT path, document, confidence FROM own_records WHERE run_id = ? ORDER BY confidence, path LIMIT ?",
            self._run,
            _UNSURE,
        )
        return [ShownDocument(path, document, "", confidence) for path, document, confidence in rows]
