"""Reads an output folder: SQL over its views, and one document's record with its evidence.

Readers wait for no lock and need no write access. They see every batch that was committed when they began.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.inputs import own_path
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.left_over import LEFT_VIEWS
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.names import check_local, resolve_name
from cinnabar.extraction.store.queries import locked_connection, single_query, time_limit
from cinnabar.extraction.store.rows import StoredRows
from cinnabar.extraction.store.snapshot import define_views, names_asked
from cinnabar.extraction.store.spelling import ARGUMENTS, Spelling
from cinnabar.schemas.pointers import parts_of

# What DuckDB appends to an error: the line of the query, and a mark below it.
_MARKED = re.compile(r"\nLINE \d+:")
_DIGEST = re.compile(r"[0-9a-f]{4,64}")
# Stands before the path of a file that could not be opened: a path may look like a digest.
_UNOPENED = "path "


class Answer(NamedTuple):
    """The columns and rows of a query's answer."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Shown:
    """The latest outcome of a document under one schema.

    `document` is its digest, empty if the file could not be opened. `record_json` is the exact text that was validated,
    or rejected if `outcome` is `quarantined`; None if there is none. `fields` are the rows of the `fields` view, in the
    order of the record.
    """

    document: str
    path: str
    schema_name: str
    run_id: str
    outcome: str
    code: str | None
    detail: str | None
    pointers: list[str]
    record_json: str | None
    confidence: float | None
    flags: list[str]
    fields: list[dict[str, Any]]

    @property
    def record(self) -> Any:
        """Returns the record as Python values."""
        return None if self.record_json is None else json.loads(self.record_json)


#: DuckDB's errors on a query that it has not begun to answer.
_MISTAKES = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException, duckdb.PermissionException)


@contextlib.contextmanager
def connect(
    out: Path,
    asked: str = "",
    zone: str | None = None,
    *,
    views: Collection[str] | None = None,
    sql: str = "",
    memory: str | None = None,
    rows: StoredRows | None = None,
    committed: Sequence[Manifest] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Opens a locked database in memory (`queries.locked_connection`) with the views of this folder.

    `views` or the one query `sql` tell which views are read; without them all are there. `asked` names the user's query
    in messages; with it an error of DuckDB becomes a UsageError. `rows` are those of a folder that the caller has open,
    whose connection is taken then. `committed` are the commits that the caller has read. Raises UsageError if the
    folder has no commit, RunError, with the file, if a file is missing, or one that is read is broken.
    """
    check_local(out)
    if committed is None:
        committed = [] if out.is_file() else manifests.read_live(out)
    manifests.warn_of_lost(out, committed)
    if not committed:
        raise UsageError(f"{out}: the folder holds no results of Cinnabar; name the --out folder of a run")
    out = out.absolute()
    manifests.check_files(out, committed, digest=False)
    files = [str(out / file.path) for entry in committed for file in entry.files]
    opened = locked_connection(files, memory=memory, zone=zone) if rows is None else rows.new_database()
    with opened as connection:
        names: list[str] = []
        try:
            names = define_views(connection, out, committed, names_asked(sql) if sql else views)
            yield connection
        except (duckdb.Error, ValueError) as error:
            if not isinstance(error, _MISTAKES):
                manifests.check_files(out, committed)
            if not asked:
                raise
            # DuckDB appends the query with a mark below it, which one line cannot show, and names a table of its own
            # where it knows none of ours that is alike.
            message = " ".join(_MARKED.split(str(error))[0].split())
            if isinstance(error, duckdb.CatalogException) and "Table with name" in message:
                shown = sorted(name for name in names if not name.startswith("_"))
                message = f"{message.partition(' Did you mean')[0]} The views are {', '.join(shown)}."
                named = message.partition("Table with name ")[2].partition(" ")[0]
                message = f"the view {named} is gone: {LEFT_VIEWS[named]}" if named in LEFT_VIEWS else message
            if isinstance(error, duckdb.PermissionException):
                message = f"{message}; a query reads the views of the folder and no other file"
            raise UsageError(f"{asked}: {message}") from error


def views_in(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Returns the names of the views that users query, in order."""
    sql = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT starts_with(view_name, '_') ORDER BY 1"
    return [str(row[0]) for row in connection.execute(sql).fetchall()]


def query(
    out: Path, sql: str, most: int | None = None, seconds: float | None = None, memory: str | None = None
) -> Answer:
    """Returns the answer to this query, or its first rows, at most so many.

    Raises UsageError if it fails, takes more seconds or memory, or is not exactly one query.
    """
    with connect(out, "sql", sql=sql, memory=memory) as connection:
        asked = single_query(connection, sql)
        try:
            with time_limit(connection, seconds):
                cursor = connection.execute(asked)
                rows = cursor.fetchall() if most is None else cursor.fetchmany(most)
        except duckdb.InterruptException as error:
            raise UsageError(f"sql: the query took more than {seconds:g} s; ask for less") from error
        return Answer([column[0] for column in cursor.description or ()], rows)


def as_objects(answer: Answer) -> list[dict[str, Any]]:
    """Returns the rows of an answer as JSON objects."""
    names = distinct(answer.columns)
    return [{name: plain(value) for name, value in zip(names, row, strict=True)} for row in answer.rows]


def plain(value: Any) -> Any:
    """Returns a value as JSON: NaN and infinity become null, bytes become hexadecimal, other types become text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, Decimal):
        return f"{value:f}"  # never 0E-12
    return value.hex() if isinstance(value, bytes) else str(value)


def distinct(columns: Sequence[str]) -> list[str]:
    """Returns unique column names: a repeated name gets a number after it, as in DuckDB."""
    names: list[str] = []
    for column in columns:
        candidates = chain([column], (f"{column}_{number}" for number in count(1)))
        names.append(next(name for name in candidates if name not in names))
    return names


def show(out: Path, document: str) -> list[Shown]:
    """Returns the latest outcome of this document under each schema.

    `document` is its path in the run, the end of such a path from a `/` on, or the first digits (at least 4) of its
    digest. Raises UsageError if no document or several documents match.
    """
    with connect(out, views=("outcomes", "records", "_fields", "runs")) as connection:
        sql = (
            f"SELECT arg_max(coalesce(document, '{_UNOPENED}' || path), run_id), path FROM outcomes"
            " WHERE list_contains(?, path) OR list_contains(?, document) GROUP BY path"
        )
        matches = dict(connection.execute(sql, named(connection, out, document)).fetchall())
        if not matches:
            raise UsageError(
                f"{document}: no document of this path or digest in {out}; `outcomes` lists all documents"
            )
        if len(matches) > 1:
            some = ", ".join(f"{path} ({digest[:12]})" for digest, path in sorted(matches.items())[:5])
            raise UsageError(f"{document}: fits {len(matches)} documents ({some}); give more of it")
        return _shown(connection, next(iter(matches)))


def record_named(out: Path, document: str, schema: str | None) -> tuple[str, str]:
    """Returns the digest of this document and the name of the schema of its record.

    Raises UsageError if it has none, or records of several schemas and none of them is named.
    """
    shown = show(out, document)
    names = list(dict.fromkeys(one.schema_name for one in shown if one.document))
    if not names:
        raise UsageError(f"{document}: there is no record to correct, because it could not be read")
    if schema is None and len(names) > 1:
        raise UsageError(f"{document}: has records of {', '.join(names)}; name one as the schema")
    name = names[0] if schema is None else resolve_name(schema, names)
    if name is None:
        raise UsageError(f"schema {schema}: expected a schema of this document: {', '.join(names)}")
    return next(one.document for one in shown if one.document), name


def named(connection: duckdb.DuckDBPyConnection, out: Path, document: str) -> tuple[list[str], list[str]]:
    """Returns the paths that a path in the run, or the end of one, names, else the digests that begin so."""

    def texts(column: str, condition: str, value: Any) -> list[str]:
        sql = f"SELECT DISTINCT {column} FROM outcomes WHERE {condition} ORDER BY 1"
        return [row[0] for row in connection.execute(sql, [value]).fetchall()]

    spelled = spellings(connection, out, document)
    if paths := texts("path", "list_contains(?, path)", spelled):
        return paths, []
    prefix = document.casefold()
    if _DIGEST.fullmatch(prefix) and (digests := texts("document", "starts_with(document, ?)", prefix)):
        return [], digests
    paths = texts("path", "ends_with(path, '/' || ?)", spelled[1].lstrip("/"))
    # A file may have a name that looks like one of ours.
    own = own_path(document)
    return (paths, []) if paths or own == document else named(connection, out, own)


def spelling(connection: duckdb.DuckDBPyConnection, out: Path) -> Spelling:
    """Returns the spelling of the runs of a connection that has the view of them."""
    return Spelling.of(out, connection.execute(ARGUMENTS.format(runs="runs")).fetchall())


def spellings(connection: duckdb.DuckDBPyConnection, out: Path, document: str) -> list[str]:
    """Returns a path as it is, without needless parts, and as the runs spelled it, as the tables have them."""
    spelled = spelling(connection, out)(document)
    return [tables.printable(one) for one in (document, os.path.normpath(document), spelled)]


def _shown(connection: duckdb.DuckDBPyConnection, digest: str) -> list[Shown]:
    results = []
    for row in objects_of(
        connection,
        "SELECT o.path, coalesce(o.document, '') AS document, o.schema_name,"
        " o.schema_fingerprint, o.run_id, outcome, code, detail, pointers,"
        " coalesce(r.record_json, o.record_json) AS record_json, r.confidence, r.flags"
        " FROM outcomes AS o LEFT JOIN records AS r USING (document, schema_fingerprint, run_id)"
        f" WHERE coalesce(o.document, '{_UNOPENED}' || o.path) = ? AND outcome <> 'skipped' QUALIFY"
        " row_number() OVER (PARTITION BY o.schema_fingerprint ORDER BY o.run_id DESC) = 1"
        " ORDER BY o.run_id DESC",
        [digest],
    ):
        fingerprint = row.pop("schema_fingerprint")
        fields = []
        if row["outcome"] == "written":
            sql = "SELECT * FROM _fields WHERE document = ? AND schema_fingerprint = ?"
            fields = objects_of(connection, sql, [digest, fingerprint])
        row["pointers"], row["flags"] = row["pointers"] or [], row["flags"] or []
        results.append(Shown(fields=_in_order(fields, row["record_json"]), **row))
    return results


def objects_of(connection: duckdb.DuckDBPyConnection, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Returns the rows of the answer to a query with these values, by the names of its columns."""
    cursor = connection.execute(sql, values)
    columns = [column[0] for column in cursor.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def _in_order(fields: list[dict[str, Any]], record_json: str | None) -> list[dict[str, Any]]:
    """Returns these rows in the order of the record; rows of omitted places come last."""
    parts = () if record_json is None else parts_of(json.loads(record_json))
    places = {at: number for number, (at, _) in enumerate(parts)}
    return sorted(fields, key=lambda row: (places.get(row["pointer"], len(places)), row["pointer"]))
