"""The cases of a folder: documents that belong together, such as an order and its invoice, with checks between them.

`cases.json` holds what makes a case and the checks of the schemas. From it the views `cases` (a row a case) and
`case_checks` are made; a check that cannot be computed stays open there, with the problem.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from cinnabar.errors import UsageError
from cinnabar.extraction.store.files import failures, write_bytes
from cinnabar.extraction.store.names import quote_name, sql_literal

CASES = "cases.json"
#: The view of the documents that a failed check between them is about; every folder has it.
FAILURES = "_case_failures"
NO_FAILURES = "SELECT '' AS document, '' AS schema_name, '' AS check_name, '' AS case_name WHERE false"
#: Before the name of a schema: all of its documents in a case, and not the only one.
ALL = "all_"
_FIELD = "field:"
# Columns of a record's view that tell nothing about its document.
_LEFT_OUT = ("flags", "run_id", "schema_fingerprint", "engine_fingerprint", "record_json")
_DOUBLE = re.compile(r'"(?:[^"]|"")*"|\bDOUBLE\b')
# Sums of these, and products with whole numbers, are exact.
_DECIMAL = "DECIMAL(28,9)"


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """A check between the documents of a case; `names` are those of them in its expression, in small letters."""

    expression: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cases:
    """The rule that makes a case, "" if nothing does yet, and the checks by schema and name."""

    by: str
    checks: Mapping[str, Mapping[str, CaseCheck]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The view of a schema's records: its name, the schema's, the document's in a case, and its columns with types."""

    view: str
    schema_name: str
    name: str
    columns: Sequence[tuple[str, str]]

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Returns the columns that a case has of its document, by their names as SQL spells them, with their types."""
        return [(quote_name(name), kind) for name, kind in self.columns if name not in _LEFT_OUT]

    @property
    def exact_type(self) -> str:
        """Returns the type of a document in a case, with decimals in place of floats."""
        return f"STRUCT({', '.join(f'{name} {_exact(kind)}' for name, kind in self.shown)})"

    @property
    def struct_sql(self) -> str:
        """Returns the SQL of a document in a case over a row of its view."""
        return f"struct_pack({', '.join(f'{name} := {name}' for name, _ in self.shown)})"


def name_in_case(schema_name: str) -> str:
    """Returns the name under which a case has the document of a schema: its letters, digits and underscores."""
    return re.sub(r"\W+", "_", schema_name).strip("_") or "schema"


def _exact(kind: str) -> str:
    return _DOUBLE.sub(lambda found: _DECIMAL if found[0] == "DOUBLE" else found[0], kind)


def stored_cases(out: Path) -> Cases | None:
    """Returns the cases of a folder, None without any. Raises UsageError if their file is broken."""
    if not (out / CASES).is_file():
        return None
    try:
        stored: dict[str, Any] = json.loads((out / CASES).read_bytes())
        checks = {
            schema: {name: CaseCheck(one["expression"], tuple(one["names"])) for name, one in own.items()}
            for schema, own in stored["checks"].items()
        }
        return Cases(str(stored["by"]), checks)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{out / CASES}: expected what a run with --case wrote, got {error}; remove it") from None


def remember_cases(out: Path, by: str | None, checks: Mapping[str, Mapping[str, CaseCheck]]) -> None:
    """Keeps what makes a case, and the checks of these schemas in place of their former ones. Raises RunError."""
    try:
        before = stored_cases(out) or Cases("")
    except UsageError:
        before = Cases("")
    now = Cases(by or before.by, {**before.checks, **checks})
    if now == before or not (now.by or any(now.checks.values())):
        return
    stated = {
        schema: {name: {"expression": one.expression, "names": [*one.names]} for name, one in own.items()}
        for schema, own in now.checks.items()
    }
    with failures(f"{out}: what makes a case could not be stored"):
        write_bytes(out / CASES, json.dumps({"by": now.by, "checks": stated}, indent=2).encode() + b"\n")


def case_key(connection: duckdb.DuckDBPyConnection, by: str) -> str:
    """Returns the SQL of a case's name over a view of records; '' is none.

    Raises UsageError unless `by` is `folder`, `field:NAME,OTHER` or a regular expression for paths.
    """
    if by == "folder":
        return "coalesce(nullif(regexp_extract(path, '^(.*)/[^/]*$', 1), ''), '.')"
    if by.startswith(_FIELD):
        # Numbers stay as they are: their points and signs count.
        values = ", ".join(
            f"CASE WHEN json_type(record_json, {at}) = 'VARCHAR' THEN"
            f" upper(regexp_replace(record_json ->> {at}, '[^\\pL\\pN]', '', 'g')) ELSE record_json ->> {at} END"
            for name in fields_of_case(by)
            for at in [sql_literal("$" + "".join(f'."{step}"' for step in name.split("/")))]
        )
        return f"coalesce({values}, '')"
    try:
        groups = re.compile(by).groups
        connection.execute("SELECT regexp_extract('', ?)", [by]).fetchall()
    except (re.error, duckdb.Error) as error:
        reason = f"got {by!r}: {str(error).split(chr(10))[0]}"
        raise UsageError(f"--case: expected folder, {_FIELD}NAME or a regular expression, {reason}") from None
    return f"regexp_extract(path, {sql_literal(by)}, {min(groups, 1)})"


def fields_of_case(by: str) -> list[str]:
    """Returns the fields that make a case, `buyer/number` for one of an object; none for another kind.

    Raises UsageError for names that no field has.
    """
    if not by.startswith(_FIELD):
        return []
    names = [name.strip() for name in by.removeprefix(_FIELD).split(",")]
    if not all(step for name in names for step in name.split("/")) or any(sign in by for sign in '"*?\\'):
        raise UsageError(f"--case: expected {_FIELD}NAME or {_FIELD}NAME,OTHER, got {by!r}")
    return names


def case_views(connection: duckdb.DuckDBPyConnection, cases: Cases, tables: Sequence[CaseTable]) -> dict[str, str]:
    """Returns the queries of the views by name; each reads only views before it, or those of the tables."""
    key = case_key(connection, cases.by)
    documents = " UNION ALL ".join(
        f"SELECT {key} AS case_name, {sql_literal(one.schema_name)} AS schema_name, {sql_literal(one.name)} AS name,"
        f" document, path FROM {quote_name(one.view)}"
        for one in tables
    )
    joined = " ".join(
        f"LEFT JOIN (SELECT case_name, list(one ORDER BY one.path) AS {quote_name(ALL + one.name)} FROM"
        f" (SELECT {key} AS case_name, {one.struct_sql} AS one FROM {quote_name(one.view)}) GROUP BY case_name)"
        " USING (case_name)"
        for one in tables
    )
    alone = ", ".join(
        f"CASE WHEN len({every_one}) = 1 THEN {every_one}[1] END AS {quote_name(one.name)}"
        for one in tables
        for every_one in [quote_name(ALL + one.name)]
    )
    every = ", ".join(quote_name(ALL + one.name) for one in tables)
    lacking = ", ".join(
        f"CASE WHEN {quote_name(ALL + one.name)} IS NULL THEN [{sql_literal(one.schema_name)}] ELSE [] END"
        for one in tables
    )
    views = {
        "_case_documents": f"SELECT * FROM ({documents}) WHERE case_name <> ''",
        "_cases": (
            f"SELECT case_name, documents, paths, flatten([{lacking}]) AS missing, {alone}, {every} FROM"
            " (SELECT case_name, count(DISTINCT document) AS documents, list_sort(list(DISTINCT path)) AS paths"
            " FROM _case_documents"
            f" GROUP BY case_name) {joined} ORDER BY case_name"
        ),
    }
    checked = [*_checks(connection, cases, tables)]
    none = (
        "SELECT '' AS case_name, '' AS schema_name, '' AS check_name, NULL::BOOLEAN AS holds, '' AS problem,"
        " []::VARCHAR[] AS names WHERE false"
    )
    views["_case_checks"] = " UNION ALL ".join(checked) or none
    views[FAILURES] = (
        "SELECT d.document, d.schema_name, c.check_name, c.case_name FROM _case_checks AS c JOIN _case_documents AS d"
        " ON d.case_name = c.case_name AND (list_contains(c.names, lower(d.name))"
        f" OR list_contains(c.names, {sql_literal(ALL)} || lower(d.name))) WHERE c.holds = false"
    )
    return views


def _checks(connection: duckdb.DuckDBPyConnection, cases: Cases, tables: Sequence[CaseTable]) -> Iterator[str]:
    """Yields a query for each check: its result in each case, and what keeps it from being computed."""
    given = {quote_name(one.name): one.exact_type for one in tables}
    given |= {quote_name(ALL + one.name): f"{one.exact_type}[]" for one in tables}
    exact = ", ".join(f"TRY_CAST({name} AS {kind}) AS {name}" for name, kind in given.items())
    nothing = ", ".join(f"NULL::{kind} AS {name}" for name, kind in given.items())
    for schema, own in cases.checks.items():
        for name, check in own.items():
            problem = _problem(connection, check.expression, nothing)
            there = " AND ".join(f"{quote_name(one)} IS NOT NULL" for one in check.names)
            holds = f"CASE WHEN {there} THEN TRY(({check.expression}\n)) END" if not problem else "NULL::BOOLEAN"
            names = ", ".join(map(sql_literal, check.names))
            yield (
                f"SELECT case_name, {sql_literal(schema)} AS schema_name, {sql_literal(name)} AS check_name,"
                f" {holds} AS holds, {sql_literal(problem)} AS problem, [{names}] AS names"
                f" FROM (SELECT case_name, {exact} FROM _cases)"
            )


def _problem(connection: duckdb.DuckDBPyConnection, expression: str, nothing: str) -> str:
    """Returns why DuckDB does not compute an expression over a case, "" if it does."""
    try:
        cursor = connection.execute(f"SELECT ({expression}\n) FROM (SELECT {nothing}) LIMIT 0")
    except duckdb.Error as error:
        return " ".join(str(error).split("\n")[0].split()).removeprefix("Binder Error: ")
    kind = str(cursor.description[0][1]) if cursor.description else ""
    return "" if kind == "BOOLEAN" else f"expected an expression that is true or false, got one of the type {kind}"
