"""Lists the documents of an output folder by need of a look, with search and filters, from a table in memory.

The table is made from the views once, and anew when the folder has a new commit. So a page of the list costs
milliseconds, and nobody waits for a run. A list is sorted once and keeps its order, because a person
works through it: its rows show what holds now, and what has come since is counted until somebody sorts again.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from cinnabar.errors import CinnabarError, UsageError
from cinnabar.extraction.review.shown_state import DOUBTFUL_BELOW
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.model_runs import READ_BY
from cinnabar.extraction.store.names import quote_name
from cinnabar.extraction.store.queries import locked_connection
from cinnabar.extraction.store.reading import connect

#: Orders of the list, by name: what most needs a look, the paths, the newest run, the surest.
ORDERS = {
    "need": "reviewed, need DESC, path, schema_name",
    "path": "path, schema_name",
    "newest": "run_id DESC, path, schema_name",
    "sure": "confidence DESC NULLS LAST, path, schema_name",
}
#: The most rows of one answer, and the most characters and words of a search: each word costs a look at all paths.
MOST_LISTED, MOST_SEARCHED, MOST_WORDS = 500, 400, 16
# Lists that keep their order, and the documents of all of them together, the last used ones.
_LISTS, _LISTED = 64, 4_000_000

_COLUMNS = (
    "document", "path", "schema_name", "outcome", "code", "confidence", "flags", "failed",
    "reviewed", "corrected", "other_kind", "has_record", "sure", "values",
)  # fmt: skip

# Records in quarantine need a look most, then those with failed checks, then the least sure ones. Files that cannot be
# read come last, because nobody can mend them here. `paths` are those at which runs met the document, the newest first;
# `hidden` and `day_first` are options of the run whose model read it.
_LISTING = f"""
SELECT coalesce(o.document, 'path ' || o.path) AS document, o.document IS NOT NULL AS opened, o.path, o.schema_name,
  o.schema_fingerprint, o.run_id, o.outcome, coalesce(o.code, '') AS code, coalesce(o.detail, '') AS detail,
  coalesce(o.pointers, []) AS pointers, r.confidence, coalesce(r.flags, []) AS flags,
  v.sure, v."values",
  coalesce(c.failed, []) AS failed,
  d.size, coalesce(d.flags, []) AS document_flags, coalesce(p.paths, [o.path]) AS paths,
  coalesce(TRY_CAST(a.arguments ->> 'hidden' AS BOOLEAN), false) AS hidden, a.arguments ->> 'day_first' AS day_first,
  lower(o.path) AS searched, false AS reviewed, 0 AS corrected,
  false AS other_kind, o.outcome = 'written' OR o.record_json IS NOT NULL AS has_record,
  CASE WHEN o.outcome = 'quarantined' THEN CASE WHEN o.record_json IS NULL THEN -1.0 ELSE 3.0 END
    ELSE (c.failed IS NOT NULL)::INT + 1.0 - coalesce(r.confidence, 0.0) END AS need
FROM (
  SELECT * FROM outcomes WHERE outcome <> 'skipped'
  QUALIFY row_number() OVER (PARTITION BY coalesce(document, 'path ' || path), schema_name
    ORDER BY run_id DESC, outcome = 'written' DESC) = 1
) AS o
LEFT JOIN (SELECT document, schema_fingerprint, run_id, confidence, flags FROM records)
  AS r USING (document, schema_fingerprint, run_id)
LEFT JOIN (
  SELECT document, schema_fingerprint, run_id, list_sort(list(check_name)) AS failed FROM _checks WHERE holds = false
  GROUP BY ALL
) AS c USING (document, schema_fingerprint, run_id)
LEFT JOIN (
  SELECT document, schema_fingerprint, run_id, sum((confidence >= .9)::INT)::INT AS sure, count(*)::INT AS "values"
  FROM _fields WHERE origin NOT IN ('list', 'length', 'other') AND value_json <> 'null' GROUP BY ALL
) AS v USING (document, schema_fingerprint, run_id)
LEFT JOIN documents AS d ON d.document = o.document
LEFT JOIN (
  SELECT document, list(path ORDER BY run_id DESC) AS paths FROM outcomes WHERE hash(document) IN (
    SELECT hash(document) FROM outcomes WHERE document IS NOT NULL GROUP BY 1 HAVING min(hash(path)) <> max(hash(path)))
  GROUP BY document
) AS p ON p.document = o.document
LEFT JOIN (
  SELECT document, schema_fingerprint, max(read_by) AS read_by FROM {READ_BY} GROUP BY ALL
) AS m ON m.document = o.document AND m.schema_fingerprint = o.schema_fingerprint
LEFT JOIN (SELECT run_id AS its_run, arguments FROM runs) AS a ON its_run = coalesce(m.read_by, o.run_id)
"""
_VIEWS = ("outcomes", "records", "_checks", "documents", "_fields", "runs")


@dataclass(frozen=True, slots=True)
class ListSelection:
    """The conditions on the documents of a list.

    search: words that the path has. schema: the name of a schema, "" for all. status: `written`, `quarantined`, or
    "" for both. code: a code of quarantine. flag: a flag of the record or the document, or the name of a failed check.
    reviewed: whether a person has looked; None for both. doubtful: only records less sure than DOUBTFUL_BELOW. order: a
    name in ORDERS.

    Raises UsageError for an unknown order or status, and for a search that is too long.
    """

    search: str = ""
    schema: str = ""
    status: str = ""
    code: str = ""
    flag: str = ""
    reviewed: bool | None = None
    doubtful: bool = False
    order: str = "need"

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise UsageError(f"order: expected one of {', '.join(ORDERS)}, got {self.order[:40]!r}")
        if self.status not in ("", "written", "quarantined"):
            raise UsageError(f"status: expected written or quarantined, got {self.status[:40]!r}")
        words = len(self.search.split())
        if len(self.search) > MOST_SEARCHED or words > MOST_WORDS:
            raise UsageError(
                f"search: expected at most {MOST_WORDS} words and {MOST_SEARCHED} characters, got {words:,} words of"
                f" {len(self.search):,} characters"
            )

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
            parts.append(f"confidence < {DOUBTFUL_BELOW}")
        return " AND ".join(parts), values


@dataclass(frozen=True, slots=True)
class SortedList:
    """A list whose order stands: what it selects, and the number of its documents; a table of this name has them."""

    name: str
    selection: ListSelection
    total: int


class ListGone(UsageError):
    """A list that the server does not know any more; the page makes it anew."""

    def __init__(self) -> None:
        super().__init__("the list is not known any more; make it again")


@dataclass(frozen=True, slots=True)
class ReviewMarks:
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
        self._lists: OrderedDict[str, SortedList] = OrderedDict()
        self._stack = contextlib.ExitStack()
        self._connection = self._stack.enter_context(locked_connection())
        self._commits, self._lost = frozenset[int](), ""
        self.refresh(dict)

    def close(self) -> None:
        """Lets go of the table."""
        self._stack.close()

    @property
    def snapshot(self) -> int:
        """Returns the number of the newest commit in the list."""
        return max(self._commits, default=0)

    def refresh(self, stored: Callable[[], dict[tuple[str, str], ReviewMarks]]) -> bool:
        """Reads the folder again if it has a new commit; returns whether it had one. Other threads go on meanwhile.

        `stored` gives the work of people as it is in the folder then.
        """
        with self._refreshing:
            # Before the views are made: a commit between the two is read again later.
            seen = _commits(self._out)
            if seen and seen == self._commits:
                return False
            try:
                with connect(self._out, views=_VIEWS) as folder:
                    rows = folder.sql(_LISTING).to_arrow_table()
            except CinnabarError:
                if not self._commits:
                    raise
                # A run may be replacing files; the next refresh finds them.
                return False
            self._lost = manifests.about_lost(self._out, manifests.read_live(self._out))
            marks = stored()
            with self._lock:
                self._connection.register("fresh", rows)
                self._connection.execute("CREATE OR REPLACE TABLE listing AS FROM fresh")
                self._connection.unregister("fresh")
                self._commits = seen
                self.mark(marks)
            return True

    def mark(self, marks: dict[tuple[str, str], ReviewMarks]) -> None:
        """Sets a person's work on documents, by document and schema."""
        rows = [(m.reviewed, m.corrected, m.other_kind, document, name) for (document, name), m in marks.items()]
        asked = "UPDATE listing SET reviewed = ?, corrected = ?, other_kind = ? WHERE document = ? AND schema_name = ?"
        with self._lock:
            if rows:
                self._connection.executemany(asked, rows)

    def sort(self, selection: ListSelection) -> SortedList:
        """Makes a list; it keeps its order as long as it is used."""
        condition, values = selection.condition()
        order, name = ORDERS[selection.order], f"list_{secrets.token_hex(8)}"
        sorted_rows = (
            f"SELECT row_number() OVER (ORDER BY {order}) - 1 AS place, document, schema_name FROM listing"
            f" WHERE {condition}"
        )
        made = SortedList(name, selection, self._rows(f"CREATE TABLE {name} AS {sorted_rows}", values)[0]["Count"])
        with self._lock:
            self._lists[name] = made
            while len(self._lists) > _LISTS or sum(one.total for one in self._lists.values()) > _LISTED:
                if len(self._lists) == 1:
                    break
                self._connection.execute(f"DROP TABLE {self._lists.popitem(last=False)[0]}")
        return made

    def place(self, name: str, document: str, schema: str) -> int:
        """Returns the place of a document in a list, -1 if it is not there. Raises ListGone."""
        asked = f"SELECT place FROM {self._list(name).name} WHERE document = ? AND schema_name = ?"
        return next((int(row["place"]) for row in self._rows(asked, [document, schema])), -1)

    def _list(self, name: str) -> SortedList:
        with self._lock:
            if (kept := self._lists.get(name)) is None:
                raise ListGone
            self._lists.move_to_end(name)
            return kept

    def page(self, name: str, start: int, count: int) -> dict[str, Any]:
        """Returns `rows` of a list, from `start` on, at most `count` and MOST_LISTED of them. Raises ListGone.

        A row is None for a document that is gone; `total` is the number of rows of the whole list. `added` counts the
        documents that would be in the list if it were made now.
        """
        listed, first = self._list(name), max(0, start)
        columns = ", ".join(f"l.{quote_name(column)}" for column in _COLUMNS)
        condition, values = listed.selection.condition()
        # The count stands also beside a page without a row.
        asked = (
            f"SELECT * FROM (SELECT count(*) AS added FROM listing ANTI JOIN {name} USING (document, schema_name)"
            f" WHERE {condition}) LEFT JOIN (SELECT place, {columns} FROM {name} AS s"
            " LEFT JOIN listing AS l USING (document, schema_name) WHERE place >= ? AND place < ?) ON true"
            " ORDER BY place"
        )
        found = self._rows(asked, [*values, first, first + max(0, min(count, MOST_LISTED))])
        added = found[0]["added"]
        rows = [{column: row[column] for column in _COLUMNS} for row in found if row["place"] is not None]
        return {"total": listed.total, "rows": [row if row["document"] else None for row in rows], "added": added}

    def next_place(self, name: str, after: int) -> dict[str, int | None]:
        """Returns the next `place` of a list, from the beginning again at its end, that nobody has reviewed.

        It is None if none is left; `left` tells how many are. Documents without a record are left out. Raises ListGone.
        """
        asked = (
            "SELECT coalesce(min(place) FILTER (place > ?), min(place)) AS place, count(*) AS \"left\""
            f" FROM {self._list(name).name} JOIN listing USING (document, schema_name)"
            " WHERE NOT reviewed AND has_record AND place <> ?"
        )
        return self._rows(asked, [after, after])[0]

    def facets(self) -> dict[str, Any]:
        """Returns the schemas, codes and flags of the folder with their numbers of documents, and the totals.

        A document without a record is no work for a reviewer, so that `reviewable` leaves it out.
        """
        schemas = (
            "SELECT schema_name AS name, count(*)::INT AS documents, sum(reviewed::INT)::INT AS reviewed,"
            " sum((reviewed OR has_record)::INT)::INT AS reviewable,"
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
        parts = {"schemas": schemas, "codes": codes, "flags": flags}
        asked = ", ".join(f"array(SELECT part FROM ({sql}) AS part) AS {name}" for name, sql in parts.items())
        tables = self._rows(f"SELECT {asked}")[0]
        counts = ("documents", "reviewed", "reviewable", "quarantined")
        totals = {name: sum(one[name] for one in tables["schemas"]) for name in counts}
        return {**tables, **totals, "lost": self._lost}

    def row(self, document: str, schema: str) -> dict[str, Any]:
        """Returns all columns of one document's row. Raises UsageError if there is none."""
        asked = "SELECT * FROM listing WHERE document = ? AND schema_name = ? LIMIT 1"
        rows = self._rows(asked, [document, schema])
        if not rows:
            raise UsageError(f"{document[:80]!r}: no document of this digest under the schema {schema[:80]!r}")
        return rows[0]

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        # With a cursor of its own a long search makes nobody wait for the lock.
        with self._lock:
            cursor = self._connection.cursor()
        with cursor:
            try:
                cursor.execute(sql, list(values))
            except duckdb.CatalogException:  # another thread has dropped the list meanwhile
                raise ListGone from None
            columns = [column[0] for column in cursor.description or ()]
            return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def _commits(out: Path) -> frozenset[int]:
    """Returns the numbers of the folder's commits."""
    numbers: Collection[int | None] = {manifests.number_of(path) for path in manifests.paths(out)}
    return frozenset(number for number in numbers if number is not None)

