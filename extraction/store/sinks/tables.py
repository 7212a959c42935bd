"""The views of a folder as tables of a sink: which rows belong together, and which have changed.

Rows are sent by key: all rows of a document, or of a run. Each row has the digest of all rows of its key, which tells
whether they differ from those that the sink has. So it does not matter how a row came to change: a run, a correction,
another version of the schema, or a document that was forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from cinnabar.extraction.store.names import columns_of, quote_name
from cinnabar.extraction.store.reading import connect, views_in
from cinnabar.extraction.store.sinks.sink import Position

# How rows of a view belong together: by the first of these columns that is not null.
_BY = {"runs": ("run_id",), "outcomes": ("run_id",), "quarantine": ("document", "path")}
#: The last column of each table: the digest of all rows of the row's key.
DIGEST = "cinnabar_digest"
#: A row in which only this column has a value takes away the rows of that key.
GONE = "cinnabar_key"
# An alias that no column has, so DuckDB takes it for the whole row.
_ROW = "_cinnabar_row"
_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class View:
    """A view of a folder: its columns in sinks with their types as DuckDB spells them, and those of its key."""

    name: str
    types: dict[str, str]
    keys: tuple[str, ...]

    def key(self, alias: str) -> str:
        """Returns the key of a row of the table with this alias, in SQL that every sink reads."""
        columns = [f"{alias}.{quote_name(column)}" for column in self.keys]
        return columns[0] if len(columns) == 1 else f"coalesce({', '.join(columns)})"

    def source(self, alias: str) -> str:
        """Returns the view under this alias, with its columns by their names in `types`, for a query of DuckDB."""
        return f"{quote_name(self.name)} AS {alias}({', '.join(map(quote_name, self.types))})"

    def column_list(self) -> str:
        """Returns its columns for a query of DuckDB that calls the view `v`."""
        # Only a column without any value needs a cast, and DuckDB does not read every type that it spells.
        cast = {"VARCHAR": "::VARCHAR"}
        listed = (
            f"v.{quote_name(name)}{cast.get(kind, '')} AS {quote_name(name)}" for name, kind in self.types.items()
        )
        return ", ".join(listed)


class Views:
    """The views of a folder at one moment, and where the folder stands."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        (batch,) = connection.execute("SELECT batch FROM _snapshot").fetchall()[0]
        self.runs = {str(row[0]) for row in connection.execute("SELECT run_id FROM runs").fetchall()}
        self.position = Position(batch, max(self.runs, default=""))

    def all(self) -> list[View]:
        """Returns the views, `runs` first."""
        found = []
        for name in sorted(views_in(self._connection), key=lambda name: name != "runs"):
            rows = self._connection.sql(f"FROM {quote_name(name)} LIMIT 0")
            # A column without any value is one of texts.
            kinds = ("VARCHAR" if str(kind) == '"NULL"' else str(kind) for kind in rows.types)
            columns = columns_of(rows.columns, (DIGEST, GONE, _ROW)).values()
            found.append(View(name, dict(zip(columns, kinds, strict=True)), _BY.get(name, ("document",))))
        return found

    def schema(self, view: View) -> pa.Schema:
        """Returns the columns of `rows`."""
        none = f"SELECT {view.column_list()}, 0::BIGINT AS {DIGEST} FROM {view.source('v')} LIMIT 0"
        schema: pa.Schema = self._connection.sql(none).to_arrow_table().schema
        return schema

    def count_changed(self, view: View, held: pa.Table | None) -> tuple[int, int]:
        """Returns how many keys have other rows than the sink, or none any more, and how many rows they have now.

        `held` has the columns `view.keys` and `DIGEST` of the rows in the sink. The answer of `rows` is of these keys
        until the next call.
        """
        none = pa.table({name: pa.array([], pa.string()) for name in view.keys} | {DIGEST: pa.array([], pa.int64())})
        self._connection.register("_held", none if held is None else held)
        self._connection.execute(
            "CREATE OR REPLACE TEMP TABLE _changed AS SELECT DISTINCT key, n.digest, n.rows FROM"
            f" (SELECT {view.key(_ROW)} AS key, (sum(hash({_ROW})) % 9223372036854775807)::BIGINT AS digest,"
            f" count(*) AS rows FROM {view.source(_ROW)} GROUP BY 1) AS n"
            f" FULL JOIN (SELECT {view.key('h')} AS key, {DIGEST} AS digest FROM _held AS h) AS b USING (key)"
            " WHERE n.digest IS DISTINCT FROM b.digest"
        )
        self._connection.unregister("_held")
        keys, rows = self._connection.execute("SELECT count(*), coalesce(sum(rows), 0) FROM _changed").fetchall()[0]
        return int(keys), int(rows)

    def rows(self, view: View, gone: bool = False) -> pa.RecordBatchReader:
        """Returns the rows of the changed keys; with `gone` also one for each key, which takes its old rows away."""
        sql = (
            f"SELECT {view.column_list()}, c.digest AS {DIGEST} FROM {view.source('v')}"
            f" JOIN _changed AS c ON c.key = {view.key('v')}"
        )
        if gone:
            sql += f" UNION ALL BY NAME SELECT key AS {GONE} FROM _changed"
        reader: pa.RecordBatchReader = self._connection.sql(sql).to_arrow_reader(_ROWS)
        return reader


@contextmanager
def views_of(out: Path) -> Iterator[Views]:
    """Opens the views of a folder as they are now. Raises the errors of `connect`."""
    with connect(out, zone="UTC") as connection:
        yield Views(connection)
