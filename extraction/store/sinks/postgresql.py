"""Keeps tables of PostgreSQL equal to the views of a folder, one transaction for each time."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import pyarrow as pa
import pyarrow.compute as pc
from adbc_driver_manager import Error
from adbc_driver_manager.dbapi import Connection, Cursor
from adbc_driver_postgresql import dbapi

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.store.exporting import json_line
from cinnabar.extraction.store.names import quote_name, sql_literal
from cinnabar.extraction.store.sinks.sink import DIGEST, GONE, Delivered, Position, View, Views, check_follows, views_of

# An address without a password: no colon but that of a port, and no @ in a parameter.
_ADDRESS = re.compile(
    r"(postgres(?:ql)?://(?:[^:/?#@\s]*@)?(?:\[[0-9a-f:]+\]|[^:/?#@\s]*)(?::\d+)?(?:/[^:/?#@\s]*)?)(?:\?([^#@\s]*))?"
)
# The comment of our tables begins like this; their columns with their types follow as JSON.
_OURS = "Kept by Cinnabar: "
# One writer at a time and schema; the lock ends with the transaction.
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('cinnabar'), hashtext($1))"
_TABLES = (
    "SELECT relname::text, coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class"
    " WHERE relnamespace = quote_ident($1)::regnamespace"
)
_STATE = "batch bigint NOT NULL, run_id text NOT NULL, synced timestamptz NOT NULL DEFAULT now()"
# DuckDB's types that PostgreSQL calls otherwise.
_TYPES = {"VARCHAR": "text", "DOUBLE": "double precision", "FLOAT": "real", "TINYINT": "smallint"}
# The table that tells where the others stand, and the one of a delivery under way.
_SINK, _NEW = "cinnabar_sink", "cinnabar_new"
# The most bytes of a name, and those that are not free: columns that every table has already, and that table of ours.
_LONGEST, _TAKEN = 63, {"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", _SINK}
# PostgreSQL has no text with NUL. In JSON: a backslash that stands for itself, or a NUL; and what stands for it.
_NUL_IN_JSON, _NUL = re.compile(r"(\\\\)|\\u0000"), "\u2400"


class PostgresqlSink:
    """The tables in one schema of a database, `postgresql://USER@HOST/DATABASE?schema=NAME`.

    libpq finds the password (`PGPASSWORD`, `~/.pgpass`). Raises UsageError if the address is wrong or holds one.
    """

    def __init__(self, address: str) -> None:
        match = _ADDRESS.fullmatch(address)
        asked = dict(parse_qsl(match[2] or "", keep_blank_values=True)) if match else {}
        if match is None or any("password" in name for name in asked):
            raise UsageError(
                "postgresql://…: expected postgresql://USER@HOST/DATABASE, perhaps with ?schema=NAME, without a"
                " password; set PGPASSWORD, or put it into ~/.pgpass; write blanks, @ and # as %20, %40 and %23"
            )
        self._schema = asked.pop("schema", None)
        self._uri = f"{match[1]}?{urlencode(asked, quote_via=quote)}"
        self.address = match[1] if self._schema is None else f"{match[1]}?schema={self._schema}"

    def check(self) -> None:
        """Raises UsageError if the database cannot be reached."""
        try:
            with self._connect():
                pass
        except RunError as error:
            raise UsageError(str(error)) from error

    def bring(self, out: Path) -> Delivered:
        """Has the tables hold the rows of the folder's views; see `Sink`."""
        with self._connect() as connection, connection.cursor() as cursor:
            schema, tables = _begun(cursor, self._schema)
            # The database first and the folder afterwards, so that the folder is read as it is at least then.
            stood = _ask(cursor, f"SELECT batch, run_id FROM {schema}.{_SINK}")
            before = Position(*stood[0]) if stood else None
            with views_of(out) as views:
                check_follows(self.address, before, views.position, views.runs)
                sent = 0
                if views.position != before:
                    for view in views.all():
                        comment = tables.pop(name := _fit_name(view.name), None)
                        if comment is not None and not comment.startswith(_OURS):
                            raise UsageError(
                                f"{self.address}: there is a table {view.name} already, which Cinnabar has not made;"
                                " give another schema with ?schema=NAME"
                            )
                        sent += _sync(cursor, views, view, f"{schema}.{quote_name(name)}", comment)
                    for name, comment in tables.items():
                        if comment.startswith(_OURS):  # its view has gone
                            cursor.execute(f"DROP TABLE {schema}.{quote_name(name)}")
                    cursor.execute(f"DELETE FROM {schema}.{_SINK}")
                    here = f"{views.position.batch}, {sql_literal(views.position.run)}"
                    cursor.execute(f"INSERT INTO {schema}.{_SINK} VALUES ({here})")
            connection.commit()
        return Delivered(self.address, sent, "row")

    @contextmanager
    def _connect(self) -> Iterator[Connection]:
        """Opens a connection with a transaction, which is taken back unless it is committed."""
        try:
            with dbapi.connect(self._uri) as connection:
                yield connection
        except Error as error:
            told = str(error).partition("Query was:")[0]
            raise RunError(f"{self.address}: {' '.join(told.split())[:500]}") from error


def _ask(cursor: Cursor, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    cursor.execute(sql, values or None)
    return cursor.fetchall()


def _begun(cursor: Cursor, schema: str | None) -> tuple[str, dict[str, str]]:
    """Begins to work in this schema, and returns its name, for SQL, and the tables there with their comments."""
    name = schema or _ask(cursor, "SELECT current_schema()")[0][0] or "public"
    _ask(cursor, _LOCK, name)
    if not _ask(cursor, "SELECT 1 FROM pg_namespace WHERE nspname = $1", name):
        cursor.execute(f"CREATE SCHEMA {quote_name(name)}")
    # A view may have the name of any table or type: names without a schema are PostgreSQL's own.
    cursor.execute("SET LOCAL search_path TO pg_catalog")
    cursor.execute(f"CREATE TABLE IF NOT EXISTS {quote_name(name)}.{_SINK} ({_STATE})")
    return quote_name(name), dict(_ask(cursor, _TABLES, name))


def _sync(cursor: Cursor, views: Views, view: View, table: str, comment: str | None) -> int:
    """Has a table hold the rows of a view, and returns how many were sent; `comment` is None if there is no table."""
    columns = {_fit_name(name): _type(kind) for name, kind in view.types.items()} | {DIGEST: "bigint"}
    if comment is None:
        cursor.execute(f"CREATE TABLE {table} ()")
    if (old := json.loads(comment.removeprefix(_OURS)) if comment else {}) != columns:
        changes = [f"DROP COLUMN {quote_name(name)}" for name, kind in old.items() if columns.get(name) != kind]
        changes += [f"ADD COLUMN {quote_name(name)} {kind}" for name, kind in columns.items() if old.get(name) != kind]
        # Digests do not tell types: every row is sent again.
        cursor.execute(f"DELETE FROM {table}")
        cursor.execute(f"ALTER TABLE {table} {', '.join(changes)}")
        cursor.execute(f"COMMENT ON TABLE {table} IS {sql_literal(_OURS + json.dumps(columns))}")
    cursor.execute(f"SELECT DISTINCT {', '.join(view.keys)}, {DIGEST} FROM {table}")
    keys, rows = views.count_changed(view, cursor.fetch_arrow_table())
    if keys:
        new = _sendable(views.rows(view, gone=True), [*columns, GONE])
        cursor.adbc_ingest(_NEW, new, mode="create", temporary=True)
        cursor.execute(f"DELETE FROM {table} AS t USING pg_temp.{_NEW} AS n WHERE {view.key('t')} = n.{GONE}")
        cast = ", ".join(f"{quote_name(name)}::{kind}" for name, kind in columns.items())
        listed = ", ".join(map(quote_name, columns))
        cursor.execute(f"INSERT INTO {table} ({listed}) SELECT {cast} FROM pg_temp.{_NEW} WHERE {GONE} IS NULL")
        cursor.execute(f"DROP TABLE pg_temp.{_NEW}")
    return rows


def _fit_name(name: str) -> str:
    """Returns the name as PostgreSQL can have it: one that it cannot is cut and ends with the start of its SHA-256."""
    plain = name.replace("\0", _NUL)
    if len(plain.encode()) <= _LONGEST and plain not in _TAKEN:
        return plain
    tail = f"_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return plain.encode()[: _LONGEST - len(tail)].decode("utf-8", "ignore") + tail


def _type(kind: str) -> str:
    return "jsonb" if kind.endswith("]") or kind.startswith(("STRUCT(", "TUPLE(", "MAP(")) else _TYPES.get(kind, kind)


def _sendable(rows: pa.RecordBatchReader, names: Sequence[str]) -> pa.RecordBatchReader:
    """Returns rows under these names, with lists and objects as JSON."""
    kinds = [pa.string() if pa.types.is_nested(kind) else kind for kind in rows.schema.types]
    schema = pa.schema([*zip(names, kinds, strict=True)])
    batches = (pa.RecordBatch.from_arrays([*map(_column, batch.columns)], schema=schema) for batch in rows)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _column(column: pa.Array[Any]) -> pa.Array[Any]:
    if pa.types.is_nested(column.type):
        texts = (None if value is None else json_line(value) for value in column.to_pylist())
        return pa.array([text and _NUL_IN_JSON.sub(lambda m: m[1] or _NUL, text) for text in texts], pa.string())
    return pc.replace_substring(column, "\0", _NUL) if column.type == pa.string() else column
