"""Lists the documents of an output folder by need of a look, with search and filters, from a table in memory.

The table is made from the views once, and made again beside the old one when the folder has a new commit. So a page of
the list costs milliseconds, and nobody waits for a run.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from cinnabar.extraction.storage import manifest as manifests
from cinnabar.extraction.storage.model_runs import READ_BY
from cinnabar.extraction.storage.names import quoted
from cinnabar.extraction.storage.reading import connect
from cinnabar.schemas.errors import CinnabarError, UsageError

#: Orders of the list, by name: what most needs a look, the paths, the newest run, the surest.
ORDERS = {
    "need": "reviewed, need DESC, path, schema_name",
    "path": "path, schema_name",
    "newest": "run_id DESC, path, schema_name",
    "sure": "confidence DESC NULLS LAST, path, schema_name",
}
#: The most rows of one answer.
MOST_LISTED = 500
#: A document is doubtful if a place of its record is less sure than this.
DOUBTFUL = 0.8

_COLUMNS = (
    "document", "path", "schema_name", "outcome", "code", "confidence", "flags", "failed", "media_type",
    "reviewed", "corrected", "other_kind",
)  # fmt: skip

# Documents in quarantine need a look most, then those with failed checks, then the least sure ones.
_LISTING = """
CREATE TABLE listing AS
SELECT coalesce(o.document, o.path) AS document, o.document IS NOT NULL AS opened, o.path, o.schema_name,
  o.schema_fingerprint, o.run_id, o.outcome, coalesce(o.code, '') AS code, coalesce(o.detail, '') AS detail,
  coalesce(o.pointers, []) AS pointers, r.confidence, coalesce(r.flags, []) AS flags,
  coalesce(c.failed, []) AS failed, coalesce(d.media_type, '') AS media_type, coalesce(d.size, 0) AS size,
  coalesce(d.flags, []) AS document_flags, lower(o.path) AS searched, false AS reviewed, 0 AS corrected,
  false AS other_kind,
  CASE WHEN o.outcome = 'quarantined' THEN CASE WHEN o.record_json IS NULL THEN 2.0 ELSE 3.0 END
    ELSE coalesce(len(c.failed) > 0, false)::INT + 1.0 - coalesce(r.confidence, 0.0) END AS need
FROM (
  SELECT * FROM outcomes WHERE outcome <> 'skipped'
  QUALIFY row_number() OVER (PARTITION BY coalesce(document, path), schema_name ORDER BY run_id DESC) = 1
) AS o
LEFT JOIN (SELECT document, schema_fingerprint, run_id, confidence, flags FROM records)
  AS r USING (document, schema_fingerprint, run_id)
LEFT JOIN (
  SELECT document, schema_fingerprint, run_id, list_sort(list(check_name)) AS failed FROM checks WHERE holds = false
  GROUP BY ALL
) AS c USING (document, schema_fingerprint, run_id)
LEFT JOIN documents AS d ON d.document = o.document
"""


@dataclass(frozen=True, slots=True)
class ListSelection:
    """Which documents a list has.

    search: words that the path has. schema: the name of a schema, "" for all. status: `written`, `quarantined`, or
    "" for both. code: a code of quarantine. flag: a flag of the record or the document, or the name of a failed check.
    reviewed: whether a person has looked; None for both. doubtful: only records less sure than DOUBTFUL. among: only
    these digests, in this order. order: a name in ORDERS.

    Raises UsageError for an unknown order or status.
    """

    search: str = ""
    schema: str = ""
    status: str = ""
    code: str = ""
    flag: str = ""
    reviewed: bool | None = None
    doubtful: bool = False
    among: tuple[str, ...] | None = None
    order: str = "need"

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise UsageError(f"order: expected one of {', '.join(ORDERS)}, got {self.order!r}")
        if self.status not in ("", "written", "quarantined"):
            raise UsageError(f"status: expected written or quarantined, got {self.status!r}")

    def condition(self) -> tuple[str, list[Any]]:
        """Returns the SQL condition on the columns of the listing, and its values."""
        parts, values = ["true"], list[Any]()
        for word in self.search.casefold().split():
            parts.append("contains(searched, ?)")
            values.append(word)
        for column, value in (("schema_name", self.schema), ("outcome", self.status), ("code", self.code)):
            if value:
                parts.append(f"{column} = ?")
                values.append(value)
        if self.flag:
            parts.append("(list_contains(flags, ?) OR list_contains(document_flags, ?) OR list_contains(failed, ?))")
            values += [self.flag] * 3
        if self.reviewed is not None:
            parts.append("reviewed = ?")
            values.append(self.reviewed)
        if self.doubtful:
            parts.append(f"confidence < {DOUBTFUL}")
        if self.among is not None:
            parts.append("list_contains(?, document)")
            values.append(list(self.among))
        return " AND ".join(parts), values

    def sorting(self) -> tuple[str, list[Any]]:
        """Returns the SQL order, and its values."""
        if self.among is not None:
            return "list_position(?, document), path", [list(self.among)]
        return ORDERS[self.order], []


@dataclass(frozen=True, slots=True)
class ListPage:
    """Some rows of a list, and the number of rows of the whole list."""

    total: int
    rows: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Marks:
    """A person's work on one document: whether they looked, how many values they changed, and not of this kind."""

    reviewed: bool
    corrected: int = 0
    other_kind: bool = False


class Listing:
    """The documents of an output folder. Threads may share it; `close` ends it.

    Raises UsageError if the folder has no commit.
    """

    def __init__(self, out: Path) -> None:
        self._out = out
        self._lock = threading.RLock()
        self._refreshing = threading.Lock()
        self._marks: dict[tuple[str, str], Marks] = {}
        self._stack, self._connection, self._seen = self._read()

    def close(self) -> None:
        """Lets go of the folder's files."""
        with self._lock:
            self._stack.close()

    @property
    def snapshot(self) -> int:
        """Returns the number of the newest commit in the list."""
        return max(self._seen, default=0)

    def refresh(self) -> bool:
        """Reads the folder again if it has a new commit; returns whether it had one. Other threads go on meanwhile."""
        with self._refreshing:
            if _commits(self._out) == self._seen:
                return False
            try:
                stack, connection, seen = self._read()
            except CinnabarError:
                # A run may be replacing files; the next refresh finds them.
                return False
            with self._lock:
                old, self._stack, self._connection, self._seen = self._stack, stack, connection, seen
                self._apply(self._marks)
            old.close()
            return True

    def mark(self, marks: dict[tuple[str, str], Marks]) -> None:
        """Sets a person's work on documents, by document and schema."""
        with self._lock:
            self._marks |= marks
            self._apply(marks)

    def page(self, selection: ListSelection, start: int, count: int) -> ListPage:
        """Returns rows of a list, from `start` on, at most `count` and MOST_LISTED of them."""
        condition, values = selection.condition()
        order, sorting = selection.sorting()
        columns = ", ".join(map(quoted, _COLUMNS))
        asked = f"SELECT {columns} FROM listing WHERE {condition} ORDER BY {order} LIMIT ? OFFSET ?"
        counted = f"SELECT count(*) FROM listing WHERE {condition}"
        with self._lock:
            (total,) = self._connection.execute(counted, values).fetchone() or (0,)
            rows = self._rows(asked, [*values, *sorting, max(0, min(count, MOST_LISTED)), max(0, start)])
        return ListPage(total, rows)

    def facets(self) -> dict[str, Any]:
        """Returns the schemas, codes and flags of the folder with their numbers of documents, and the totals."""
        schemas = (
            "SELECT schema_name AS name, count(*)::INT AS documents, sum(reviewed::INT)::INT AS reviewed,"
            " sum((outcome = 'quarantined')::INT)::INT AS quarantined FROM listing GROUP BY ALL ORDER BY name"
        )
        codes = (
            "SELECT code AS name, count(*)::INT AS documents FROM listing WHERE outcome = 'quarantined'"
            " GROUP BY ALL ORDER BY documents DESC, name"
        )
        flags = (
            "SELECT name, count(*)::INT AS documents FROM"
            " (SELECT unnest(list_distinct(flags || document_flags || failed)) AS name FROM listing)"
            " GROUP BY ALL ORDER BY documents DESC, name LIMIT 100"
        )
        with self._lock:
            found = {"schemas": self._rows(schemas), "codes": self._rows(codes), "flags": self._rows(flags)}
        totals = {name: sum(one[name] for one in found["schemas"]) for name in ("documents", "reviewed", "quarantined")}
        return {**found, **totals}

    def row(self, document: str, schema: str) -> dict[str, Any]:
        """Returns all columns of one document's row. Raises UsageError if there is none."""
        with self._lock:
            rows = self._rows(
                "SELECT * FROM listing WHERE document = ? AND schema_name = ? LIMIT 1", [document, schema]
            )
        if not rows:
            raise UsageError(f"{document[:80]}: no document of this digest under the schema {schema[:80]}")
        return rows[0]

    def paths(self, document: str) -> list[str]:
        """Returns the paths under which runs met this document, the newest first."""
        asked = "SELECT path FROM outcomes WHERE document = ? GROUP BY path ORDER BY max(run_id) DESC"
        with self._lock:
            return [row["path"] for row in self._rows(asked, [document])]

    def arguments(self, row: Mapping[str, Any]) -> str:
        """Returns the arguments of the run whose model read this document, as JSON text."""
        asked = (
            "SELECT arguments FROM runs WHERE run_id = coalesce((SELECT max(read_by) FROM"
            f" {READ_BY} WHERE document = ? AND schema_fingerprint = ?), ?) LIMIT 1"
        )
        with self._lock:
            rows = self._rows(asked, [row["document"], row["schema_fingerprint"], row["run_id"]])
        return rows[0]["arguments"] or "{}" if rows else "{}"

    def failed_checks(self, document: str, fingerprint: str) -> list[str]:
        """Returns the names of the checks that fail for a document's latest record."""
        asked = "SELECT check_name FROM checks WHERE document = ? AND schema_fingerprint = ? AND holds = false"
        with self._lock:
            return [row["check_name"] for row in self._rows(asked, [document, fingerprint])]

    def _read(self) -> tuple[contextlib.ExitStack, duckdb.DuckDBPyConnection, frozenset[int]]:
        stack = contextlib.ExitStack()
        with stack:
            # Before the views are made: a commit between the two is read again later.
            seen = _commits(self._out)
            connection = stack.enter_context(connect(self._out))
            connection.execute(_LISTING)
            return stack.pop_all(), connection, seen

    def _apply(self, marks: dict[tuple[str, str], Marks]) -> None:
        rows = [(m.reviewed, m.corrected, m.other_kind, document, name) for (document, name), m in marks.items()]
        if rows:
            asked = (
                "UPDATE listing SET reviewed = ?, corrected = ?, other_kind = ? WHERE document = ? AND schema_name = ?"
            )
            self._connection.executemany(asked, rows)

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        cursor = self._connection.execute(sql, list(values))
        columns = [column[0] for column in cursor.description or ()]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def _commits(out: Path) -> frozenset[int]:
    """Returns the numbers of the folder's commits."""
    found: Collection[int | None] = {manifests.number_of(path) for path in manifests.paths(out)}
    return frozenset(number for number in found if number is not None)
