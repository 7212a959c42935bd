"""Gathers what a report tells of a run, aggregated by DuckDB: its size does not grow with the number of documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from cinnabar.errors import UsageError
from cinnabar.extraction.plan.thresholds import DRIFT_LEVEL, DRIFT_SHARE
from cinnabar.extraction.run.report.drift import Share, chi_squared, holm, is_large_shift
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.names import sql_literal
from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.records import EMPTY
from cinnabar.extraction.store.snapshot import files_as_table

#: Intervals of the confidence.
BINS = 10
# Earlier runs are taken from the newest on until they have so many documents, and no more runs than this.
_BEFORE, _RUNS = 100_000, 200
# Documents that are named: for each reason of quarantine, and of the least sure ones. Reasons and fields that are told.
_EXAMPLES, _UNSURE, _REASONS, MOST_FIELDS = 3, 20, 30, 200
# The columns that are told for a field.
_HEADS = 3
# The most characters of a detail.
_DETAIL = 300
_BIN = f"least(floor(confidence * {BINS}), {BINS - 1})::INTEGER"
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
class FieldShare:
    """A field's documents with a value and all that could have one, in this run and in earlier runs.

    confidence: the means, None if there is no value.
    """

    field: str
    now: tuple[int, int]
    before: tuple[int, int]
    confidence: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Shift:
    """A comparison with earlier runs: what differs, its corrected p-value, and whether it is reported."""

    what: str
    p: float
    reported: bool

    @property
    def sentences(self) -> str:
        """Returns what every page, log and message says of it."""
        return f"{self.what}. That is more than chance explains (p = {self.p:.2g})."


@dataclass(frozen=True, slots=True)
class RunData:
    """All that a report tells.

    bins: the values of the run's records by confidence; reviewed and corrected: those of them that a person has looked
    at and that the person changed. risks: of values and of nulls the share that is wrong by its own confidence, among
    the surest tenth, two tenths, … all of them; only kinds that the run has. before: the earlier runs that it is
    compared with, and their documents.
    """

    run_id: str
    schema_name: str
    fingerprint: str
    started: datetime
    seconds: float | None
    model: str
    options: Mapping[str, Any]
    outcomes: Mapping[str, int]
    skips: Mapping[str, int]
    reasons: Sequence[HeldBack]
    kinds: Mapping[str, tuple[int, int]]
    bins: Sequence[int]
    reviewed: Sequence[int]
    corrected: Sequence[int]
    risks: Mapping[str, Sequence[float]]
    fields: Sequence[FieldShare]
    unsure: Sequence[ShownDocument]
    before: tuple[int, int]
    shifts: Sequence[Shift]
    comparisons: int
    stages: Mapping[str, float] = field(default_factory=dict)
    #: Written records whose every value is null.
    empty: int = 0
    #: Written documents with a list of another length than they tell, with what they tell.
    incomplete: Sequence[ShownDocument] = ()
    #: The columns of tables in which the values of fields stand: field, column, documents; the commonest of each field.
    columns: Sequence[tuple[str, str, int]] = ()

    @property
    def read(self) -> int:
        """Returns the number of documents that were read."""
        return self.outcomes.get("written", 0) + self.outcomes.get("quarantined", 0)

    @property
    def drift(self) -> tuple[str, ...]:
        """Returns the sentences on what moved beyond chance against earlier runs, the surest first."""
        return tuple(shift.sentences for shift in self.shifts if shift.reported)


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
            "SELECT schema_name, schema_fingerprint, epoch_us(started), epoch_us(finished), arguments FROM runs"
            " WHERE run_id = ?",
            run_id,
        )
        if not row:
            raise UsageError(f"{run_id}: no such run; `cinnabar status runs` lists them")
        self._schema, self._fingerprint, self._started, self._finished, arguments = row[0]
        self._arguments = json.loads(arguments or "{}")
        self._before = self._earlier()
        # A run that read nothing is compared with nothing.
        read = self._rows("SELECT 1 FROM outcomes WHERE run_id = ? AND outcome <> 'skipped' LIMIT 1", run_id)
        self._runs = [run_id, *self._before] if read else [run_id]
        self._values = fields
        # Only the values of these runs; the files of others are left out by their statistics.
        self._rows(
            f"CREATE TEMP VIEW own_values AS SELECT * FROM {fields}"
            f" WHERE run_id IN ({', '.join(map(sql_literal, self._runs))})"
            f" AND schema_name = {sql_literal(self._schema)} AND origin NOT IN ('list', 'length', 'thoughts')"
        )
        # Four queries read them; the view of all records would be planned and read for each.
        self._rows(
            "CREATE TEMP TABLE own_records AS SELECT path, document, confidence, flags, run_id FROM records"
            f" WHERE run_id IN ({', '.join(map(sql_literal, self._runs))})"
        )

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._connection.execute(sql, [*values]).fetchall()
        return rows

    def _earlier(self) -> list[str]:
        """Returns the earlier runs of this schema that ended, the newest first, as far as they are compared."""
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
        kinds = self._kinds()
        fields, field_bins = self._fields()
        totals = self._totals()
        bins, reviewed, corrected = self._confidence()
        shifts, comparisons = self._shifts(totals, kinds, fields, field_bins)
        finished = self._finished
        return RunData(
            run_id=self._run,
            schema_name=self._schema,
            fingerprint=self._fingerprint,
            started=datetime.fromtimestamp(self._started / 1e6, UTC),
            seconds=None if finished is None else max(0.0, (finished - self._started) / 1e6),
            model=str(self._arguments.get("model") or ""),
            options={name: self._arguments[name] for name in ("effort", "steps") if self._arguments.get(name)},
            outcomes=outcomes,
            skips=skips,
            reasons=self._reasons(),
            kinds=kinds,
            bins=bins,
            reviewed=reviewed,
            corrected=corrected,
            risks=self._risks(),
            fields=fields[:MOST_FIELDS],
            unsure=self._unsure(),
            before=(len(self._before), totals["before"][0] + totals["before"][1]),
            shifts=shifts,
            comparisons=comparisons,
            stages=stages,
            empty=self._empty(),
            incomplete=self._incomplete(),
            columns=self._columns(),
        )

    def _columns(self) -> list[tuple[str, str, int]]:
        rows = self._rows(
            "SELECT field, regexp_extract(place, '(?:^| › )(column [^›]*)$', 1) AS head, count(DISTINCT document) AS n"
            " FROM own_values WHERE run_id = ? AND contains(field, '/*/') AND head <> '' GROUP BY 1, 2"
            " QUALIFY row_number() OVER (PARTITION BY field ORDER BY n DESC, head) <= ? ORDER BY 1, 3 DESC, 2 LIMIT ?",
            self._run,
            _HEADS,
            MOST_FIELDS,
        )
        return [(field, head, many) for field, head, many in rows]

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

    def _totals(self) -> dict[str, tuple[int, int, int]]:
        """Returns the documents written, in quarantine, and of another kind, of this run and of earlier ones."""
        totals = {"now": (0, 0, 0), "before": (0, 0, 0)}
        for own, written, quarantined, other in self._rows(
            "SELECT run_id = ?, count(*) FILTER (outcome = 'written'), count(*) FILTER (outcome = 'quarantined'),"
            " count(*) FILTER (code = 'other_kind') FROM outcomes WHERE list_contains(?, run_id) GROUP BY 1",
            self._run,
            self._runs,
        ):
            totals["now" if own else "before"] = written, quarantined, other
        return totals

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

    def _kinds(self) -> dict[str, tuple[int, int]]:
        """Returns the documents of each media type that were read, in this run and in earlier ones."""
        rows = self._rows(
            "SELECT media_type, count(*) FILTER (run_id = ?), count(*) FILTER (run_id <> ?) FROM"
            " (SELECT document, run_id FROM outcomes WHERE list_contains(?, run_id) AND outcome <> 'skipped')"
            " JOIN (SELECT document, media_type FROM documents) USING (document) GROUP BY 1 ORDER BY 2 DESC, 3 DESC, 1",
            self._run,
            self._run,
            self._runs,
        )
        return {kind: (now, before) for kind, now, before in rows}

    def _fields(self) -> tuple[list[FieldShare], dict[str, tuple[list[int], list[int]]]]:
        """Returns the shares of documents with a value, and of single fields the values by confidence.

        A document counts for the fields of its version of the schema. Only fields of this run's version are compared.
        """
        # In a list a document may have several values; elsewhere a row is a document.
        versions = self._rows(
            "SELECT schema_fingerprint, run_id = ?, count(*) FROM outcomes WHERE list_contains(?, run_id)"
            " AND outcome = 'written' GROUP BY ALL",
            self._run,
            self._runs,
        )
        rows = self._rows(
            "SELECT field, schema_fingerprint, run_id = ?,"
            f" CASE WHEN contains(field, '/*') THEN count(DISTINCT hash(document)) FILTER ({_VALUE})"
            f" ELSE count(*) FILTER ({_VALUE}) END,"
            f" avg(confidence) FILTER ({_VALUE}), count(*) FILTER ({_VALUE})"
            " FROM own_values GROUP BY 1, 2, 3",
            self._run,
        )
        order: dict[str, None] = {}
        there: dict[tuple[str, bool], int] = {}
        every: dict[tuple[str, bool], int] = {}
        sums: dict[tuple[str, bool], tuple[float, int]] = {}
        sizes = {(version, own): count for version, own, count in versions}
        for name, version, own, documents, mean, values in sorted(rows, key=lambda row: row[0]):
            if version == self._fingerprint:
                order.setdefault(name)
            key = name, bool(own)
            there[key] = there.get(key, 0) + documents
            every[key] = every.get(key, 0) + sizes.get((version, own), 0)
            total, count = sums.get(key, (0.0, 0))
            sums[key] = total + (mean or 0.0) * values, count + values
        # A list that is always empty in one of the runs has no row there, but its documents count.
        own_version = {own: sizes.get((self._fingerprint, own), 0) for own in (True, False)}

        def pair(name: str, own: bool) -> tuple[int, int]:
            key = name, own
            return there.get(key, 0), every.get(key, own_version[own])

        def mean_of(name: str, own: bool) -> float | None:
            total, count = sums.get((name, own), (0.0, 0))
            return total / count if count else None

        shares = [
            FieldShare(name, pair(name, True), pair(name, False), (mean_of(name, True), mean_of(name, False)))
            for name in order
        ]
        bins: dict[str, tuple[list[int], list[int]]] = {}
        if self._before:
            for name, own, at, count in self._rows(
                f"SELECT field, run_id = ?, {_BIN}, count(*) FROM own_values"
                f" WHERE NOT contains(field, '/*') AND origin <> 'human' AND {_VALUE} GROUP BY 1, 2, 3",
                self._run,
            ):
                bins.setdefault(name, ([0] * BINS, [0] * BINS))[0 if own else 1][at] = count
        return shares, bins

    def _confidence(self) -> tuple[list[int], list[int], list[int]]:
        """Returns the values of this run by confidence, those a person reviewed, and those of them changed."""
        bins, reviewed, corrected = [0] * BINS, [0] * BINS, [0] * BINS
        for at, count in self._rows(
            f"SELECT {_BIN}, count(*) FROM own_values WHERE run_id = ? AND origin <> 'human' GROUP BY 1", self._run
        ):
            bins[at] = count
        if not self._rows("SELECT 1 FROM (SHOW TABLES) WHERE name = 'corrections'"):
            return bins, reviewed, corrected
        # What a person decided on the document's values under this schema; the last decision counts.
        for at, seen, changed in self._rows(
            "WITH decided AS (SELECT document, pointer, arg_max(action, made) AS action FROM corrections"
            " WHERE schema_name = ? AND undone IS NULL AND action <> 'audit' GROUP BY 1, 2),"
            f" own AS (SELECT document, pointer, {_BIN} AS bin FROM own_values"
            " WHERE run_id = ? AND origin <> 'human')"
            " SELECT bin, count(*), count(*) FILTER (d.action IN ('value', 'absent')) FROM own"
            " LEFT JOIN decided AS d USING (document, pointer)"
            " LEFT JOIN (SELECT document FROM decided WHERE pointer = '' AND action = 'accept') AS whole"
            " ON whole.document = own.document"
            " WHERE d.action IN ('value', 'absent', 'accept') OR whole.document IS NOT NULL GROUP BY 1",
            self._schema,
            self._run,
        ):
            reviewed[at], corrected[at] = seen, changed
        return bins, reviewed, corrected

    def _risks(self) -> dict[str, list[float]]:
        """Returns the expected share of wrong values, and of wrong nulls, among the surest tenths."""
        wrong: dict[str, list[float]] = {}
        taken: dict[str, int] = {}
        for kind, _, count, doubt in self._rows(
            "WITH own AS (SELECT CASE WHEN " + _VALUE + " THEN 'values' ELSE 'nulls' END AS kind, confidence"
            " FROM own_values WHERE run_id = ? AND origin <> 'human' AND confidence IS NOT NULL),"
            " tenths AS (SELECT *, ntile(10) OVER (PARTITION BY kind ORDER BY confidence DESC) AS tenth FROM own)"
            " SELECT kind, tenth, count(*), sum(1 - confidence) FROM tenths GROUP BY 1, 2 ORDER BY 1 DESC, 2",
            self._run,
        ):
            so_far = wrong.get(kind, [0.0])[-1] * taken.get(kind, 0) + doubt
            taken[kind] = taken.get(kind, 0) + count
            wrong.setdefault(kind, []).append(so_far / taken[kind])
        return wrong

    def _unsure(self) -> list[ShownDocument]:
        rows = self._rows(
            "SELECT path, document, confidence FROM own_records WHERE run_id = ? ORDER BY confidence, path LIMIT ?",
            self._run,
            _UNSURE,
        )
        return [ShownDocument(path, document, "", confidence) for path, document, confidence in rows]

    def _record_bins(self) -> tuple[list[int], list[int]]:
        now, before = [0] * BINS, [0] * BINS
        for own, at, count in self._rows(
            f"SELECT run_id = ?, {_BIN}, count(*) FROM own_records GROUP BY 1, 2",
            self._run,
        ):
            (now if own else before)[at] = count
        return now, before

    def _shifts(
        self,
        totals: Mapping[str, tuple[int, int, int]],
        kinds: Mapping[str, tuple[int, int]],
        fields: Sequence[FieldShare],
        field_bins: Mapping[str, tuple[list[int], list[int]]],
    ) -> tuple[list[Shift], int]:
        """Returns the comparisons that differ by more than chance, and the number of all comparisons."""
        now, before = totals["now"], totals["before"]
        if not self._before or not now[0] + now[1] or not before[0] + before[1]:
            return [], 0
        made: list[tuple[str, float, bool]] = []

        def share(what: str, pair: Share) -> None:
            sentence = f"{what}: {_share_text(pair.now)}, in earlier runs {_share_text(pair.before)}"
            made.append((sentence, pair.p, abs(pair.difference) >= DRIFT_SHARE))

        def spread(what: str, a: Sequence[int], b: Sequence[int], means: tuple[float, float]) -> None:
            how = f"{means[0]:.2f} on average, in earlier runs {means[1]:.2f}"
            made.append((f"{what}: {how}", chi_squared(a, b), is_large_shift(a, b, means)))

        share("Documents in quarantine", Share((now[1], now[0] + now[1]), (before[1], before[0] + before[1])))
        if now[2] or before[2]:
            share("Documents of another kind", Share((now[2], sum(now)), (before[2], sum(before))))
        read, earlier = (sum(pair[at] for pair in kinds.values()) for at in (0, 1))
        for kind, pair in [*kinds.items()][:8]:
            share(f"Documents of the type {kind}", Share((pair[0], read), (pair[1], earlier)))
        a, b = self._record_bins()
        if sum(a) and sum(b):
            spread("Confidence of records", a, b, (_mean(a), _mean(b)))
        for one in fields:
            empty = Share((one.now[1] - one.now[0], one.now[1]), (one.before[1] - one.before[0], one.before[1]))
            if one.before[1]:
                share(f"{one.field or '/'} is empty", empty)
            now_mean, mean_before = one.confidence
            if one.field in field_bins and now_mean is not None and mean_before is not None:
                spread(f"Confidence of {one.field or '/'}", *field_bins[one.field], (now_mean, mean_before))
        corrected = holm([p for _, p, _ in made])
        shifts = [
            Shift(sentence, p, large and p < DRIFT_LEVEL)
            for (sentence, _, large), p in zip(made, corrected, strict=True)
            if p < DRIFT_LEVEL
        ]
        return sorted(shifts, key=lambda one: (not one.reported, one.p)), len(made)


def _share_text(pair: tuple[int, int]) -> str:
    share = 100 * pair[0] / pair[1] if pair[1] else 0.0
    return f"{share:.1f}% ({pair[0]:,} of {pair[1]:,})"


def _mean(bins: Sequence[int]) -> float:
    return sum((at + 0.5) / BINS * count for at, count in enumerate(bins)) / sum(bins)
