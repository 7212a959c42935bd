"""The one door to DuckDB: a connection that computes, reads the files it is given and no others; and SQL of others.

DuckDB itself closes the connection off: no network, extension, secret or variable of this program, and its settings are
locked. An allowed file could still be written by a statement within a query, so a query holds none.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import duckdb

from cinnabar.errors import UsageError
from cinnabar.extraction.store.names import sql_literal

Setting = str | bool | int | float | list[str]
# DuckDB must never fetch an extension from the network.
_OFFLINE: dict[str, Setting] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
# A file of a database opens in every DuckDB since 1.1.
_READABLE = "v1.1.0"
#: The parts of a query that are queries themselves; of a statement within it DuckDB says COPY_QUERY_NODE or the like.
_QUERIES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_NODE = re.compile(r'"type":"(\w+_NODE)"')
# This function runs a query of its own, and is the one that takes a statement within it.
_RUNS_TEXT = re.compile(r'"function_name":"json_execute_serialized_sql"', re.IGNORECASE)
_ELSEWHERE = "for the rest use DuckDB itself, on a copy of the results or on cinnabar.duckdb"


@contextlib.contextmanager
def locked_connection(
    files: Sequence[str] = (),
    *,
    folder: Path | None = None,
    memory: str | None = None,
    zone: str | None = None,
    settings: Mapping[str, Setting] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Opens a database in memory that may read these files, or the files of a folder.

    It is closed off before anything of a folder is bound in it: a view's text, a name, an expression of a check.

    `memory`, such as 512MB, is the most that a query takes; without it rows that have no room are put aside in a
    temporary folder. `zone` is that of timestamps, `settings` are more of DuckDB's.
    """
    # DuckDB makes this folder when it needs it, and removes it; its own choice is the working directory.
    spilled = "" if memory else str(Path(tempfile.gettempdir()) / f"cinnabar-{uuid4().hex}")
    limits: dict[str, Setting] = {"memory_limit": memory} if memory else {}
    # Without replacements a name in a query is never a variable of this program.
    own: dict[str, Setting] = {"temp_directory": spilled, "python_enable_replacements": False}
    with duckdb.connect(":memory:", config=_OFFLINE | own | limits | dict(settings or {})) as connection:
        # The views of a folder bind the same files again and again, which no longer change.
        connection.execute("SET parquet_metadata_cache = true")
        if zone is not None:
            connection.execute(f"SET TimeZone = {sql_literal(zone)}")
        # By a variable: a list in the text of the statement takes eight times as long (20,000 files: 1.8 s and .2 s).
        connection.execute("SET VARIABLE files = ?::VARCHAR[]", [[*files]])
        connection.execute("SET allowed_paths = getvariable('files')")
        if folder is not None:
            connection.execute(f"SET allowed_directories = [{sql_literal(str(folder))}]")
        connection.execute("RESET VARIABLE files; SET enable_external_access = false; SET lock_configuration = true")
        yield connection


@contextlib.contextmanager
def database_beside(
    opened: duckdb.DuckDBPyConnection, path: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Opens a new database, in memory or at a path, beside that of a connection, whose limits hold for it too.

    It takes 1 ms, and a connection of its own 15; what one reads of a file's head is known to the next.
    """
    name, at = f"own_{uuid4().hex}", sql_literal(str(path or ":memory:"))
    with opened.cursor() as outer:
        outer.execute(f"ATTACH {at} AS {name} (STORAGE_VERSION '{_READABLE}')")
        try:
            with outer.cursor() as connection:
                connection.execute(f"USE {name}")
                yield connection
        finally:
            outer.execute(f"DETACH {name}")


@contextlib.contextmanager
def time_limit(connection: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    """Interrupts what this connection does in the block after so many seconds, which raises duckdb.Error there."""
    if seconds is None:
        yield
        return
    clock = threading.Timer(seconds, connection.interrupt)
    clock.start()
    try:
        yield
    finally:
        clock.cancel()
        clock.join()  # a thread that outlives the interpreter makes DuckDB print its leaks


def single_query(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """Returns the one query of this SQL. Raises UsageError for any other text, and for a query that writes."""
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise UsageError(f"sql: expected one query, got {len(statements) or 'none'}")
    (statement,) = statements
    if statement.type != duckdb.StatementType.SELECT:
        raise UsageError(_refusal(statement.type))
    (tree,) = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()[0]
    for kind in set(_NODE.findall(tree)) - _QUERIES:
        within = kind.removesuffix("_NODE").removesuffix("_QUERY")
        raise UsageError(f"sql: expected a query that only reads, got one with {within}; {_ELSEWHERE}")
    if _RUNS_TEXT.search(tree):
        raise UsageError(f"sql: expected a query, got the function json_execute_serialized_sql; {_ELSEWHERE}")
    return statement


def _refusal(kind: duckdb.StatementType) -> str:
    if kind == duckdb.StatementType.MULTI:
        return "sql: expected PIVOT with its values, such as ON size IN (1, 2), got one without"
    return f"sql: expected a query, got {kind.name}; Cinnabar only reads results; {_ELSEWHERE}"
