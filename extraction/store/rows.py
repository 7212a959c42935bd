"""Asks the stored rows of an output folder: SQL over the Parquet files of its commits, by DuckDB.

The views of users stand over the same files (`snapshot`); `reading.connect` opens them, and a `Store` publishes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb

from cinnabar.closing import Closing
from cinnabar.errors import RunError
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.queries import database_beside, locked_connection
from cinnabar.extraction.store.snapshot import files_as_table, no_rows
from cinnabar.extraction.store.tables import TABLE_COLUMNS

# Rows that are fetched at a time.
_FETCHED = 10_000


class StoredRows(Closing):
    """The rows of the tables of a folder, also of batches that are committed later. Threads may share it.

    The database is opened for the first question: that takes as long as some of them.
    """

    def __init__(self, out: Path) -> None:
        self._out = out
        self._opening, self._stack = Lock(), ExitStack()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def close(self) -> None:
        """Closes the database."""
        self._stack.close()

    def ask(self, committed: Sequence[Manifest], sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yields the rows of the answer to a query over tables of these commits, each named like {outcomes}.

        A column that an older file lacks is null. Raises RunError, with the path of a file that has changed.
        """
        sources = {
            table: f"(SELECT * FROM {files_as_table(self._out, committed, table)} UNION ALL BY NAME {no_rows(columns)})"
            for table, columns in TABLE_COLUMNS.items()
            if f"{{{table}}}" in sql
        }
        try:
            with self._opened().cursor() as cursor:
                cursor.execute(sql.format_map(sources), values)
                while rows := cursor.fetchmany(_FETCHED):
                    yield from rows
        except duckdb.Error as error:
            manifests.check_files(self._out, committed)
            # The files are those that were committed, and somebody else wrote them.
            raise RunError(
                f"{self._out}: stored rows cannot be read ({error}); `cinnabar verify` finds broken files and sets"
                " their batches aside"
            ) from error

    def new_database(self, path: Path | None = None) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Opens a database that reads the files of the folder; one with a path, which lies in the folder, stays."""
        return database_beside(self._opened(), path)

    def _opened(self) -> duckdb.DuckDBPyConnection:
        with self._opening:
            if self._connection is None:
                self._connection = self._stack.enter_context(locked_connection(folder=self._out))
            return self._connection
