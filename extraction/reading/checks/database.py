"""A DuckDB in memory for the expressions of a schema, which come from anywhere: it computes and does nothing else.

It reads no file, loads no extension, spills nothing to disk, and its settings are locked. A query ends after a few
seconds. `extraction/reading/checks/expressions.py` lets only functions through that neither repeat nor generate.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "memory_limit": "512MB",
    "threads": 1,
    # Both `lambda x: x.amount` and the older `x -> x.amount`.
    "lambda_syntax": "ENABLE_SINGLE_ARROW",
}
#: The name of the table that expressions are about.
TABLE = "record"
# Seconds that a query may take. Two checks on 16 invoices take 2 ms.
_SECONDS = 5.0


class ExpressionDatabase:
    """A connection that threads may share. Errors of DuckDB come as `duckdb.Error`."""

    def __init__(self, columns: pa.Schema) -> None:
        self._columns = columns
        self._mutex = threading.Lock()
        self._connection = duckdb.connect(config=_SETTINGS)
        self._connection.execute("SET TimeZone = 'UTC'; SET lock_configuration = true")

    def syntax(self, expression: str) -> str:
        """Returns the syntax tree of `SELECT (expression)` as DuckDB's JSON text."""
        asked = f"SELECT ({expression}\n) FROM {TABLE}"
        (tree,) = self._run("SELECT json_serialize_sql(?)", [asked])[0]
        return str(tree)

    def type_of(self, expression: str) -> str:
        """Returns DuckDB's name for the type of an expression over the columns."""
        # On a record of NULLs: a constant that does not fit its column fails here, and not on each document.
        records = pa.table([pa.nulls(1, one.type) for one in self._columns], schema=self._columns)
        with self._mutex:
            self._connection.register(TABLE, records)
            try:
                cursor = self._connection.execute(f"SELECT ({expression}\n) FROM {TABLE}")
                cursor.fetchall()
                return str(cursor.description[0][1]) if cursor.description else ""
            finally:
                self._connection.unregister(TABLE)

    def evaluate(self, expressions: Sequence[str], records: pa.Table) -> list[tuple[Any, ...]]:
        """Returns the values of the expressions for each record; NULL if one cannot be computed."""
        asked = ", ".join(f"TRY(({expression}\n))" for expression in expressions)
        return self._run(f"SELECT {asked} FROM {TABLE}", [], records)

    def _run(self, query: str, values: list[Any], records: pa.Table | None = None) -> list[tuple[Any, ...]]:
        with self._mutex:
            if records is not None:
                self._connection.register(TABLE, records)
            timer = threading.Timer(_SECONDS, self._connection.interrupt)
            timer.start()
            try:
                return self._connection.execute(query, values).fetchall()
            finally:
                timer.cancel()
                timer.join()  # a thread that outlives the interpreter makes DuckDB print its leaks
                if records is not None:
                    self._connection.unregister(TABLE)
