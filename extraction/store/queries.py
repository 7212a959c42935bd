"""Decides which SQL of a user is run: one query that reads the views of a folder, and does nothing else.

DuckDB itself tells what a text is. Its parser writes a query down as a tree (`json_serialize_sql`), and every part of
that tree is on one of the lists below: a parser that knows more kinds of statement than SELECT (DuckDB 2.0 takes COPY
and INSERT in a WITH) is no way around them. The connection is closed off as well: it reads the files of the folder's
tables and no others, and its settings are locked.

Tells the runs of a model from those that only hold a person's corrections.

A corrected record is stored in a run of its own, which has neither a model nor options. Questions about these mean the
run whose model read the document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from cinnabar.errors import UsageError
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.snapshot import DATABASE
from cinnabar.extraction.store.tables import COMMAND, CORRECT

#: The parts of a query that read: nodes, sources of rows, and what orders or bounds them.
_PARTS = {
    "SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE", "BASE_TABLE", "SUBQUERY", "JOIN",
    "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "PIVOT", "SHOW_REF", "ORDER_MODIFIER", "LIMIT_MODIFIER",
    "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER", "ORDER_DEFAULT", "ASCENDING", "DESCENDING",
}  # fmt: skip
#: The functions in FROM that make rows of values alone.
_OF_VALUES = {
    "unnest", "range", "generate_series", "repeat", "json_each", "json_tree", "icu_calendar_names", "pg_timezone_names",
}  # fmt: skip
#: Those and the ones that read a view which they are told, or tell of the folder's views and of DuckDB's own words.
#: Others read or write files, change settings, run a text as SQL (`query`), or take addresses in memory (`arrow_scan`).
TABLE_FUNCTIONS = _OF_VALUES | {
    "histogram", "histogram_values", "duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_tables",
    "duckdb_types", "duckdb_views", "pragma_show", "pragma_table_info", "pragma_version",
}  # fmt: skip
#: How DuckDB's own views begin, which tell of all others.
_CATALOG = ("duckdb_", "pragma_", "sqlite_", "pg_")
#: The functions on values that do more than compute: they write logs and counters, wait, or trust bytes as their own.
REFUSED_FUNCTIONS = {
    "write_log", "nextval", "currval", "setval", "setseed", "sleep_ms", "pg_sleep", "getvariable",
    "current_setting", "combine", "combine_aggr", "finalize", "to_aggregate_state",
}  # fmt: skip
_INTERNAL = "__internal"


def restrict_to_results(connection: duckdb.DuckDBPyConnection, out: Path, committed: Sequence[Manifest]) -> None:
    """Has this connection read the files of these commits only, and locks its settings."""
    # By a variable: a list in the text of the statement takes eight times as long (20,000 files: 1.8 s and .2 s).
    files = [str(out / file.path) for entry in committed for file in entry.files]
    connection.execute("SET VARIABLE files = ?::VARCHAR[]", [files])
    connection.execute("SET allowed_paths = getvariable('files')")
    connection.execute("RESET VARIABLE files; SET enable_external_access = false; SET lock_configuration = true")


def single_query(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """Returns the one query of this SQL, or the EXPLAIN of one.

    Raises UsageError for any other text, and for a query that does more than read the folder's views.
    """
    explain, asked = _split_explain(sql)
    statements = connection.extract_statements(asked)
    if len(statements) != 1:
        raise UsageError(f"sql: expected one query, got {len(statements) or 'none'}")
    (statement,) = statements
    tree = _tree(connection, asked)
    if statement.type != duckdb.StatementType.SELECT or tree["error"] or len(tree["statements"]) != 1:
        raise UsageError(_refusal(statement.type))
    for part in _parts(tree):
        _judge(part)
    if not explain:
        return statement
    # DuckDB's own spelling of the tree, so that nothing but the tree is explained.
    spelled = connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchall()[0][0]
    (explained,) = connection.extract_statements(explain + spelled)
    return explained


def views_named(connection: duckdb.DuckDBPyConnection, sql: str) -> set[str] | None:
    """Returns the names of views and of its own parts that a query reads; None if it may read any, or asks for them."""
    tree = _tree(connection, _split_explain(sql)[1])
    parts = [part for part in _parts(tree) if isinstance(part.get("type"), str)]
    functions = {_name(part["function"]) for part in parts if isinstance(part.get("function"), dict)}
    if tree["error"] or any(part["type"] in ("SHOW_REF", "PIVOT") for part in parts) or functions - _OF_VALUES:
        return None
    tables = [part for part in parts if part["type"] == "BASE_TABLE"]
    names = {str(part["table_name"]) for part in tables}
    qualified = any(part.get("schema_name") or part.get("catalog_name") for part in tables)
    return None if qualified or any(name.casefold().startswith(_CATALOG) for name in names) else names


def _split_explain(sql: str) -> tuple[str, str]:
    """Splits the words EXPLAIN and ANALYZE off, which have to come first; the rest is judged as a query."""
    explain, rest = "", sql.strip()
    for word in ("EXPLAIN", "ANALYZE"):
        first, *others = rest.split(None, 1)[:2] or [""]
        if first.upper() != word:
            break
        explain, rest = f"{explain}{word} ", "".join(others)
    return explain, rest


def _tree(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any]:
    (text,) = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()[0]
    try:
        tree: dict[str, Any] = json.loads(text)
    except RecursionError:
        raise UsageError("sql: expected a query that is less deeply nested; name its parts with WITH") from None
    return tree


def _parts(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _judge(part: dict[str, Any]) -> None:
    kind = part.get("type")
    if isinstance(kind, str) and "class" not in part and kind not in _PARTS:
        raise UsageError(f"sql: expected a query that only reads, got one with {_words(kind)}; {_ELSEWHERE}")
    function = part.get("function")
    if kind == "TABLE_FUNCTION" and (not isinstance(function, dict) or _name(function) not in TABLE_FUNCTIONS):
        named = _name(function) if isinstance(function, dict) else "another"
        raise UsageError(
            f"sql: expected the views of the folder or a function of"
            f" {', '.join(sorted(TABLE_FUNCTIONS))} in FROM, got the function {named}; {_ELSEWHERE}"
        )
    name = _name(part)
    if name in REFUSED_FUNCTIONS or name.startswith(_INTERNAL):
        raise UsageError(f"sql: expected functions that only compute, got {name}; {_ELSEWHERE}")


def _name(function: dict[str, Any]) -> str:
    """Returns the name of a called function as DuckDB finds it: in small letters, without catalog and schema."""
    return str(function.get("function_name", "")).casefold()


def _words(kind: str) -> str:
    return kind.removesuffix("_NODE").removesuffix("_QUERY").replace("_", " ")


_ELSEWHERE = f"for the rest use DuckDB itself, on a copy of the results or on {DATABASE}"


def _refusal(kind: duckdb.StatementType) -> str:
    if kind == duckdb.StatementType.MULTI:
        return "sql: expected PIVOT with its values, such as ON size IN (1, 2), got one without"
    if kind == duckdb.StatementType.EXPLAIN:
        return "sql: expected EXPLAIN or EXPLAIN ANALYZE as the first words, and a query after them"
    return f"sql: expected a query, got {kind.name}; Cinnabar only reads results; {_ELSEWHERE}"


#: The condition on a row of `runs` that a model did it; the others only hold corrections.
MODEL_RUN = f"coalesce(arguments ->> '{COMMAND}', '') <> '{CORRECT}'"
#: SQL of a table with a row for each corrected document, schema and engine: `read_by` is the last run of a model.
READ_BY = (
    "(SELECT document, schema_fingerprint, engine_fingerprint, max(run_id) AS read_by FROM outcomes"
    f" SEMI JOIN (SELECT run_id FROM runs WHERE {MODEL_RUN}) USING (run_id) WHERE outcome <> 'skipped' AND document IN"
    f" (SELECT document FROM outcomes SEMI JOIN (SELECT run_id FROM runs WHERE NOT ({MODEL_RUN})) USING (run_id))"
    " GROUP BY ALL)"
)
