"""Keeps tables of PostgreSQL equal to the views of a folder, one transaction for each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import pyarrow as pa
from adbc_driver_manager import Error
from adbc_driver_manager.dbapi import Connection, Cursor
from adbc_driver_postgresql import dbapi

from cinnabar.extraction.store.names import literal, quoted
from cinnabar.extraction.store.sinks.postgresql_columns import Column, columns_of, fitting, sent_batches
from cinnabar.extraction.store.sinks.sink import Delivered, Position, check_follows
from cinnabar.extraction.store.sinks.tables import KEYS, View, Views, views_of
from cinnabar.schemas.errors import RunError, UsageError

# Our own tables: where the sink stands, its tables with their columns, and the digest of each key of a table.
_STATE = {
    "cinnabar_sink": "batch bigint NOT NULL, run_id text NOT NULL, synced timestamptz NOT NULL DEFAULT now()",
    "cinnabar_tables": "name text PRIMARY KEY, columns text NOT NULL",
    "cinnabar_keys": "name text, key text, digest bigint NOT NULL, PRIMARY KEY (name, key)",
}
# The lock of one writer at a time, with the schema's name; it ends with the transaction.
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('cinnabar'), hashtext($1))"
# What libpq takes in an address and nobody should see.
_SECRETS = {"password", "sslpassword"}


class PostgresqlSink:
    """The tables in one schema of a database, `postgresql://USER@HOST/DATABASE?schema=NAME`.

    libpq finds the password (`PGPASSWORD`, `~/.pgpass`). Raises UsageError if the address is wrong or holds one.
    """

    def __init__(self, address: str) -> None:
        shown = address.partition("?")[0]
        scheme, _, rest = shown.partition("://")
        shown = f"{scheme}://{rest.rpartition('@')[0].partition(':')[0]}@{rest.rpartition('@')[2]}"
        shown = shown.replace("://@", "://")
        try:
            parts = urlsplit(address)
            asked = dict(parse_qsl(parts.query, keep_blank_values=True))
            secret = parts.password is not None or not _SECRETS.isdisjoint(asked)
        except ValueError:
            raise UsageError(f"{shown}: expected postgresql://USER@HOST/DATABASE, got another address") from None
        if secret:
            raise UsageError(
                f"{shown}: expected an address without a password; set PGPASSWORD, or put it into ~/.pgpass"
            )
        self._schema = asked.pop("schema", None)
        query = urlencode(asked, quote_via=quote)
        self._uri = urlunsplit(("postgresql", parts.netloc, parts.path, query, ""))
        self.address = shown if self._schema is None else f"{shown}?schema={self._schema}"

    def check(self) -> None:
        """Raises UsageError if the database cannot be reached."""
        try:
            with self._connected():
                pass
        except RunError as error:
            raise UsageError(str(error)) from error

    def bring(self, out: Path) -> Delivered:
        """Has the tables hold the rows of the folder's views; see `Sink`."""
        sent = 0
        with self._connected() as connection, connection.cursor() as cursor:
            target = _Schema(cursor, self._schema)
            # The database first and the folder afterwards, so that the folder is read as it is at least then.
            before = target.position()
            with views_of(out) as views:
                check_follows(self.address, before, views.position, views.runs)
                if views.position == before:
                    return Delivered(self.address, 0, "row")
                names = target.names(views)
                for view in views.all:
                    sent += target.sync(views, view, names[view.name], self.address)
                target.finish(set(names.values()), views.position)
            connection.commit()
        return Delivered(self.address, sent, "row")

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Opens a connection with a transaction, which is taken back unless it is committed."""
        try:
            with dbapi.connect(self._uri) as connection:
                yield connection
        except Error as error:
            told = str(error).partition("Query was:")[0]
            raise RunError(f"{self.address}: {' '.join(told.split())[:500]}") from error


class _Schema:
    """One schema of a database within a transaction that has it to itself."""

    def __init__(self, cursor: Cursor, name: str | None) -> None:
        self._cursor = cursor
        if name is None:
            (row,) = self._ask("SELECT current_schema()")
            name = row[0] or "public"
        self._ask(_LOCK, name)
        if not self._ask("SELECT 1 FROM pg_namespace WHERE nspname = $1", name):
            cursor.execute(f"CREATE SCHEMA {quoted(name)}")
        self._name = name
        for table, columns in _STATE.items():
            if not self._there(table):
                cursor.execute(f"CREATE TABLE {self._of(table)} ({columns})")
        self._tables: dict[str, str] = dict(self._ask(f"SELECT name, columns FROM {self._of('cinnabar_tables')}"))

    def _ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        self._cursor.execute(sql, values or None)
        return self._cursor.fetchall()

    def _of(self, table: str) -> str:
        return f"{quoted(self._name)}.{quoted(table)}"

    def _there(self, table: str) -> bool:
        return bool(self._ask("SELECT 1 FROM pg_class WHERE oid = to_regclass($1)", self._of(table)))

    def position(self) -> Position | None:
        """Returns where the tables stand, None if there are none yet."""
        rows = self._ask(f"SELECT batch, run_id FROM {self._of('cinnabar_sink')}")
        return Position(*rows[0]) if rows else None

    def names(self, views: Views) -> dict[str, str]:
        """Returns the table of each view."""
        taken = set(_STATE)
        return {view.name: fitting(view.name, taken) for view in views.all}

    def sync(self, views: Views, view: View, table: str, address: str) -> int:
        """Has a table hold the rows of a view, and returns how many were sent.

        Raises UsageError if there is a table of this name that is not ours.
        """
        columns = columns_of(views.schema(view))
        wanted = "; ".join(f"{column.name} {column.type}" for column in columns)
        place, keys = self._of(table), self._of("cinnabar_keys")
        if table not in self._tables:
            if self._there(table):
                raise UsageError(
                    f"{address}: there is a table {table} already, which Cinnabar has not made; give another schema"
                    " with ?schema=NAME"
                )
            self._cursor.execute(f"CREATE TABLE {place} ({_defined(columns)})")
            if len(view.columns) == 1:
                self._cursor.execute(f"CREATE INDEX ON {place} ({quoted(view.columns[0])})")
        elif self._tables[table] != wanted:
            self._alter(place, columns)
        if self._tables.get(table) != wanted:
            # Digests do not tell types: every row is sent again.
            self._cursor.execute(f"DELETE FROM {keys} WHERE name = {literal(table)}")
            self._cursor.execute(f"DELETE FROM {place}")
            self._keep(table, wanted)
        self._cursor.execute(f"SELECT key, digest FROM {keys} WHERE name = {literal(table)}")
        changed = views.changed(view, self._cursor.fetch_arrow_table().cast(KEYS))
        if not changed.num_rows:
            return 0
        self._take("cinnabar_changed", changed)
        self._cursor.execute(f"DELETE FROM {place} AS t USING cinnabar_changed AS c WHERE {view.key('t')} = c.key")
        sent = self._take("cinnabar_new", sent_batches(views.rows(view)))
        casts = ", ".join(f"c{number}::{column.type}" for number, column in enumerate(columns))
        listed = ", ".join(quoted(column.name) for column in columns)
        self._cursor.execute(f"INSERT INTO {place} ({listed}) SELECT {casts} FROM cinnabar_new")
        self._cursor.execute(
            f"DELETE FROM {keys} AS k USING cinnabar_changed AS c WHERE k.name = {literal(table)} AND k.key = c.key"
        )
        self._cursor.execute(
            f"INSERT INTO {keys} SELECT {literal(table)}, key, digest FROM cinnabar_changed WHERE digest IS NOT NULL"
        )
        self._cursor.execute("DROP TABLE cinnabar_changed, cinnabar_new")
        return sent

    def finish(self, tables: set[str], position: Position) -> None:
        """Drops the tables whose views are gone, and keeps where the others stand now."""
        for table in self._tables.keys() - tables:
            self._cursor.execute(f"DROP TABLE {self._of(table)}")
            for state in ("cinnabar_tables", "cinnabar_keys"):
                self._cursor.execute(f"DELETE FROM {self._of(state)} WHERE name = {literal(table)}")
        place = self._of("cinnabar_sink")
        self._cursor.execute(f"DELETE FROM {place}")
        self._cursor.execute(f"INSERT INTO {place} (batch, run_id) VALUES ({position.batch}, {literal(position.run)})")

    def _alter(self, place: str, columns: list[Column]) -> None:
        """Gives an existing table these columns; one with another type is made anew."""
        sql = (
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute"
            " WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped"
        )
        old: dict[str, str] = dict(self._ask(sql, place))
        new = {column.name: column.type for column in columns}
        changes = [f"DROP COLUMN {quoted(name)}" for name, kind in old.items() if new.get(name) != kind]
        changes += [f"ADD COLUMN {quoted(name)} {kind}" for name, kind in new.items() if old.get(name) != kind]
        if changes:
            self._cursor.execute(f"ALTER TABLE {place} {', '.join(changes)}")

    def _keep(self, table: str, columns: str) -> None:
        place = self._of("cinnabar_tables")
        self._cursor.execute(f"DELETE FROM {place} WHERE name = {literal(table)}")
        self._cursor.execute(f"INSERT INTO {place} VALUES ({literal(table)}, {literal(columns)})")
        self._tables[table] = columns

    def _take(self, table: str, rows: pa.Table | pa.RecordBatchReader) -> int:
        """Sends rows into a new temporary table of this name, and returns their number."""
        self._cursor.adbc_ingest(table, rows, mode="create", temporary=True)
        return int(self._ask(f"SELECT count(*) FROM {table}")[0][0])


def _defined(columns: list[Column]) -> str:
    return ", ".join(f"{quoted(column.name)} {column.type}" for column in columns)
