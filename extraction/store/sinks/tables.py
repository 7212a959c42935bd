"""The views of a folder as tables of a sink: which rows belong together, and which have changed.

Rows are sent by key: all rows of a document, or of a run. A digest for each key tells whether they differ from those
that the sink has, so it does not matter how a row came to change: a run, a correction, another version of the schema,
or a document that was forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from cinnabar.extraction.store.names import quoted
from cinnabar.extraction.store.reading import connect, views_in
from cinnabar.extraction.store.sinks.sink import Position

_KEY_COLUMNS: dict[str, pa.DataType] = {"key": pa.string(), "digest": pa.int64()}
#: The columns of a table of keys: `digest` is that of all rows of the key, null if there is none any more.
KEYS = pa.schema(_KEY_COLUMNS)
# How rows of a view belong together: by the first of these columns that is not null.
_BY_DOCUMENT = ("document",)
_BY = {"runs": ("run_id",), "outcomes": ("run_id",), "quarantine": ("document", "path")}
#: The last column of the rows that are sent: the digest of their key.
DIGEST = "cinnabar_digest"
# An alias that no column has: DuckDB takes it for the whole row.
_ROW = "_cinnabar_row"
_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class View:
    """A view of a folder; its rows belong together by the first of these columns that is not null."""

    name: str
    columns: tuple[str, ...]

    def key(self, alias: str) -> str:
        """Returns the key of a row of the table with this alias, in SQL that every sink reads."""
        columns = [f"{alias}.{quoted(column)}" for column in self.columns]
        return columns[0] if len(columns) == 1 else f"coalesce({', '.join(columns)})"


class Views:
    """The views of a folder at one moment, and where the folder stands."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        (batch,) = connection.execute("SELECT batch FROM _snapshot").fetchall()[0]
        self.runs = {str(row[0]) for row in connection.execute("SELECT run_id FROM runs").fetchall()}
        self.position = Position(batch, max(self.runs, default=""))
        self.all = [View(name, _BY.get(name, _BY_DOCUMENT)) for name in views_in(connection)]

    def schema(self, view: View) -> pa.Schema:
        """Returns the columns of a view."""
        none: pa.Table = self._connection.sql(f"FROM {quoted(view.name)} LIMIT 0").to_arrow_table()
        return none.schema

    def changed(self, view: View, before: pa.Table) -> pa.Table:
        """Returns the keys of which the sink has other rows, or rows that are gone; `before` are its keys, as `KEYS`.

        Their rows are the answer of `rows` until the next call.
        """
        self._connection.register("_before", before)
        self._connection.execute(
            "CREATE OR REPLACE TEMP TABLE _changed AS SELECT key, n.digest FROM"
            f" (SELECT {view.key(_ROW)} AS key, (sum(hash({_ROW})) % 9223372036854775807)::BIGINT AS digest"
            f" FROM {quoted(view.name)} AS {_ROW} GROUP BY ALL) AS n"
            " FULL JOIN _before AS b USING (key) WHERE n.digest IS DISTINCT FROM b.digest"
        )
        self._connection.unregister("_before")
        changed: pa.Table = self._connection.sql("FROM _changed").to_arrow_table()
        return changed.cast(KEYS)

    def keys(self, view: View, rows: pa.Table) -> pa.Table:
        """Returns the keys of rows that a sink holds, as `KEYS`, from their columns `view.columns` and `DIGEST`."""
        self._connection.register("_held", rows)
        sql = f"SELECT DISTINCT {view.key('h')} AS key, {DIGEST} AS digest FROM _held AS h"
        keys: pa.Table = self._connection.sql(sql).to_arrow_table()
        self._connection.unregister("_held")
        return keys.cast(KEYS)

    def rows(self, view: View) -> pa.RecordBatchReader:
        """Returns the rows of the changed keys, each with the digest of its key as last column."""
        reader: pa.RecordBatchReader = self._connection.sql(
            f"SELECT v.*, c.digest AS {DIGEST} FROM {quoted(view.name)} AS v"
            f" JOIN _changed AS c ON c.key = {view.key('v')}"
        ).to_arrow_reader(_ROWS)
        return reader


@contextmanager
def views_of(out: Path) -> Iterator[Views]:
    """Opens the views of a folder as they are now. Raises the errors of `connect`."""
    with connect(out, zone="UTC") as connection:
        yield Views(connection)
