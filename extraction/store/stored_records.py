"""Reads stored records with their leaves, the schemas they were made under, and where runs sent documents."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.documents.addresses import is_address, parse_address
from cinnabar.extraction.documents.mailboxes.address import parse_mail_path
from cinnabar.extraction.plan.outcomes import OTHER_KIND
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.model_runs import READ_BY
from cinnabar.extraction.store.names import quote_name, resolve_name
from cinnabar.extraction.store.path_safety import own_name
from cinnabar.extraction.store.queries import single_query
from cinnabar.extraction.store.reading import connect, spelling
from cinnabar.extraction.store.records import EMPTY_RECORD, LeafRow, Record
from cinnabar.extraction.store.rows import StoredRows
from cinnabar.extraction.store.snapshot import view_of
from cinnabar.extraction.store.store import ROUTING
from cinnabar.extraction.store.tables import LENGTH, LIST, OTHER, THOUGHTS, evidence_in, list_notes
from cinnabar.schemas import SchemaSource, compile_schema, load_schema, stored_schema
from cinnabar.schemas.columns.arrow import arrow_schema
from cinnabar.schemas.columns.united_columns import united_columns
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.version_changes import Changes, changes
from cinnabar.schemas.library import LIBRARY
from cinnabar.schemas.parsing.texts import read_schema


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice of records, all by default. Raises UsageError if it can match none.

    since, until: when the run whose model read them started, `until` exclusive. source: the path of a file, a folder or
    a mailbox, or a pattern with `*`, `?` and `[…]`. below: records with a leaf, a row or a list below this
    confidence. where: SQL on the columns of the view that unites the versions.
    """

    since: datetime | None = None
    until: datetime | None = None
    source: str | None = None
    below: float | None = None
    where: str | None = None

    def __post_init__(self) -> None:
        if self.since is None or self.until is None:
            return
        since, until = (one if one.tzinfo else one.replace(tzinfo=UTC) for one in (self.since, self.until))
        if since >= until:
            raise UsageError(f"--since and --until: expected --since before --until, got {since} and {until}")


@dataclass(frozen=True, slots=True)
class LatestRecord:
    """The latest record of a document, with the characters and bytes (`size`) of its document; 0 and None if unknown.

    `paths` are all paths under which these bytes were read, the record's first. `current` is true if no later run found
    other bytes there.
    """

    document: str
    paths: tuple[str, ...]
    schema_fingerprint: str
    run_id: str
    characters: int
    size: int | None
    current: bool

    @property
    def name(self) -> str:
        """Returns the name of the document in a run: an older content of its path has one of its own."""
        return self.paths[0] if self.current else f"{self.paths[0]}@{self.document[:16]}"


# The most columns that the error for an unknown column names.
_NAMED = 40
_UNKNOWN = re.compile(r"Referenced column (\".*?\") not found")
# The suffix that a document's path adds to its file, folder, mbox or IMAP mailbox.
_WITHIN = "'(/.*|#[0-9]+|;UIDVALIDITY=.*)?', 's'"
_LATEST = (
    "SELECT r.* FROM records AS r WHERE schema_name = ? AND latest"
    " QUALIFY row_number() OVER (PARTITION BY document ORDER BY run_id DESC) = 1"
)
_CHOSEN_BY = ("records", "_fields", "outcomes", "runs", "documents")
# All paths at which a document was read, and the newest document of each path.
_PATHS = (
    "read AS (FROM outcomes WHERE document IS NOT NULL),"
    " paths AS (SELECT document, list(DISTINCT path ORDER BY path) AS paths FROM read GROUP BY ALL),"
    " newest AS (SELECT path, arg_max(document, run_id) AS newest FROM read GROUP BY ALL)"
)


def select(out: Path, name: str, chosen: Selection, rows: StoredRows | None = None) -> list[LatestRecord]:
    """Returns the chosen latest records, one for each document under any version of this schema, by path.

    `rows` are those of a folder that the caller has open. Raises UsageError if the folder holds no results or the SQL
    is wrong.
    """
    if out.is_dir() and name not in names(out):
        return []
    wanted: list[str] = ["true"]
    values: list[Any] = []
    for sql, value in (
        ("started >= ?", chosen.since),
        ("started < ?", chosen.until),
    ):
        if value is not None:
            wanted.append(sql)
            values.append(value)
    if chosen.below is not None:
        wanted.append(
            "EXISTS (FROM _fields AS f WHERE f.document = r.document AND f.run_id = r.run_id"
            " AND (f.confidence < ? OR f.row_confidence < ?))"
        )
        values += [chosen.below, chosen.below]
    # The SQL of a user is about the view of a schema, and reads no other file of the folder.
    asked = "" if chosen.where is None else f"--where {chosen.where}"
    with connect(out, asked, views=None if asked else _CHOSEN_BY, rows=None if asked else rows) as connection:
        if chosen.source is not None:
            sql, more = _of_source(connection, chosen.source, out)
            wanted.append(sql)
            values += more
        if chosen.where is not None:
            source = _predicate(connection, out, name, chosen.where)
            wanted.append(f"document IN (SELECT document FROM {source})")
        sql = (
            f"WITH latest AS ({_LATEST}), {_PATHS}"
            " SELECT document, r.path, paths, schema_fingerprint, r.run_id, coalesce(characters, 0),"
            " size, newest = document FROM latest AS r"
            f" LEFT JOIN {READ_BY} USING (document, schema_fingerprint, engine_fingerprint)"
            " JOIN (SELECT run_id AS its_run, started, arguments FROM runs) ON its_run = coalesce(read_by, r.run_id)"
            " JOIN paths USING (document) JOIN newest ON newest.path = r.path"
            " LEFT JOIN (SELECT document, characters, size FROM documents) USING (document)"
            f" WHERE {' AND '.join(wanted)} ORDER BY r.path, r.run_id DESC"
        )
        found = connection.execute(single_query(connection, sql), [name, *values]).fetchall()
    return [
        LatestRecord(document, (path, *(p for p in paths if p != path)), *rest)
        for document, path, paths, *rest in found
    ]


def _of_source(connection: duckdb.DuckDBPyConnection, source: str, out: Path) -> tuple[str, list[Any]]:
    """Returns the condition on `r.path` of the documents of a `Selection`'s source, and its values."""
    if any(letter in source for letter in "*?["):
        return "r.path GLOB ?", [source]
    if is_address(source) and parse_mail_path(source) is None:
        prefix = str(parse_address(source))
    else:
        prefix = spelling(connection, out)(source)
    return f"starts_with(r.path, ?) AND regexp_full_match(r.path[length(?) + 1:], {_WITHIN})", [prefix, prefix]


def names(out: Path) -> list[str]:
    """Returns the schemas that have records in this folder."""
    committed = manifests.read_live(out)
    return sorted({entry.schema_name for entry in committed if entry.records})


def name_in(out: Path, asked: str) -> str:
    """Returns the name of a schema that has records in this folder; case alone does not matter.

    Raises UsageError if there is none, or if several differ by case alone.
    """
    known = names(out) if out.is_dir() else []
    name = resolve_name(asked, known)
    if name is None:
        raise UsageError(f"{asked}: expected a schema that {out} has records of: {', '.join(known) or 'there is none'}")
    return name


def _predicate(connection: duckdb.DuckDBPyConnection, out: Path, name: str, where: str) -> str:
    """Returns the view with this condition, to select documents from."""
    view = view_of(connection, manifests.read_live(out), name)
    # On a line of its own, so that a comment ends with it.
    source = f"{quote_name(view)} WHERE (\n{where}\n)"
    try:
        # Checked alone, so that it sees only the view's columns.
        connection.sql(single_query(connection, f"SELECT document FROM {source}"))
    except UsageError as error:
        raise UsageError(f"--where {where}: {error}") from error
    except duckdb.BinderException as error:
        if (unknown := _UNKNOWN.search(str(error))) is None:
            raise
        columns = [row[0] for row in connection.execute(f"DESCRIBE {quote_name(view)}").fetchall()]
        more = f" and {len(columns) - _NAMED} more" if len(columns) > _NAMED else ""
        raise UsageError(
            f"--where {where}: there is no column {unknown[1]}, expected one of {', '.join(columns[:_NAMED])}{more}"
        ) from error
    return source


def load_records(
    out: Path, latest: Sequence[LatestRecord], rows: StoredRows | None = None
) -> dict[str, Record]:
    """Returns the records of these documents, by digest. `rows` are those of a folder that the caller has open."""
    wanted = [[one.document, one.run_id] for one in latest]
    if not wanted:
        return {}
    these = "(document, run_id) IN (SELECT (unnest(?::VARCHAR[]), unnest(?::VARCHAR[])))"
    keys = [[document for document, _ in wanted], [run_id for _, run_id in wanted]]
    with connect(out, views=("_fields", "records"), rows=rows) as connection:
        leaves: dict[str, list[dict[str, Any]]] = defaultdict(list)
        cursor = connection.execute(f"SELECT * FROM _fields WHERE {these}", keys)
        columns = [column[0] for column in cursor.description or ()]
        for row in cursor.fetchall():
            leaf = dict(zip(columns, row, strict=True))
            leaves[leaf["document"]].append(leaf)
        records = connection.execute(
            f"SELECT document, record_json, confidence, flags FROM records WHERE {these}", keys
        ).fetchall()
    return {
        document: stored_of(text, confidence, flags, leaves[document]) for document, text, confidence, flags in records
    }


def stored_of(text: str, confidence: float, flags: list[str], leaves: Sequence[dict[str, Any]]) -> Record:
    """Returns the stored record of these rows of `fields`."""
    lists = {row["pointer"]: row["confidence"] for row in leaves if row["origin"] == LIST}
    lengths = list_notes(leaves)
    leaves = [row for row in leaves if row["origin"] not in (LIST, THOUGHTS, LENGTH, OTHER)]
    within = ((_row(leaf["pointer"], leaf["field"]), leaf["row_confidence"]) for leaf in leaves)
    rows = {row: sure for row, sure in within if row and sure is not None}
    return Record(text, tuple(map(_leaf, leaves)), confidence, tuple(flags or ()), rows, {}, lists, lengths)


def _leaf(row: dict[str, Any]) -> LeafRow:
    return LeafRow(
        row["pointer"], row["value_json"], row["confidence"], row["origin"], row["missing"], evidence_in(row),
        row["page"] or 0, tuple(row["flags"] or ()),
    )  # fmt: skip


def _row(pointer: str, field: str) -> str:
    """Returns the innermost list item on the way of this pointer of a field, which has other steps at indices alone."""
    steps = pointer.split("/")
    items = [at for at, (step, name) in enumerate(zip(steps, field.split("/"), strict=False)) if step != name]
    return "/".join(steps[: items[-1] + 1]) if items else ""


@dataclass(frozen=True, slots=True)
class RoutingChoice:
    """The last choice for a document: the run that made it, its routing, and the schema, "" for none."""

    run_id: str
    routing: str
    schema: str


# A document that is done is listed by the first schema of its run, too, so such a row counts only beside a record.
_DECIDED = (
    f"SELECT o.document, o.run_id, o.path, r.arguments ->> '{ROUTING}' AS routing,"
    f" CASE WHEN o.code = '{OTHER_KIND}' THEN '' ELSE o.schema_name END AS place"
    " FROM outcomes AS o JOIN runs AS r USING (run_id)"
    f" WHERE o.document <> '' AND r.arguments ->> '{ROUTING}' IS NOT NULL"
    " AND list_contains(CAST(r.arguments -> 'schemas' AS VARCHAR[]), ?)"
    f" AND (o.code IN ('{OTHER_KIND}', '{EMPTY_RECORD}') OR o.outcome IN ('written', 'quarantined')"
    " OR (o.code = 'done' AND EXISTS ("
    "SELECT 1 FROM records AS s WHERE s.document = o.document AND s.schema_fingerprint = o.schema_fingerprint)))"
)


def last_choices(out: Path, name: str) -> dict[str, RoutingChoice]:
    """Returns the last choice for each document, by digest, among schemas of which one has this name."""
    if not out.is_dir() or not names(out):
        return {}
    sql = (
        "SELECT document, max(run_id), arg_max(routing, run_id), arg_max(place, run_id)"
        f" FROM ({_DECIDED}) GROUP BY document"
    )
    with connect(out, sql=sql) as connection:
        rows = connection.execute(sql, [name]).fetchall()
    return {document: RoutingChoice(*rest) for document, *rest in rows}


def refused_documents(out: Path, name: str, source: str | None = None) -> list[LatestRecord]:
    """Returns the documents without a record of the schema that the last choice sent to none, by path.

    They have no record: `schema_fingerprint` is "". `source` chooses them as that of a `Selection` does.
    """
    if not out.is_dir() or not names(out):
        return []
    with connect(out, views=("outcomes", "records", "runs")) as connection:
        wanted, values = ("true", []) if source is None else _of_source(connection, source, out)
        sql = (
            f"WITH decided AS ({_DECIDED}), {_PATHS},"
            " r AS (SELECT document, max(run_id) AS run_id, arg_max(place, run_id) AS place,"
            " arg_max(path, run_id) AS path FROM decided GROUP BY document)"
            " SELECT document, path, paths, r.run_id, newest = document"
            " FROM r JOIN paths USING (document) JOIN newest USING (path)"
            " WHERE place = '' AND document NOT IN (SELECT document FROM records WHERE schema_name = ?)"
            f" AND {wanted} ORDER BY path"
        )
        rows = connection.execute(sql, [name, name, *values]).fetchall()
    return [
        LatestRecord(document, (path, *(p for p in paths if p != path)), "", run_id, 0, None, current)
        for document, path, paths, run_id, current in rows
    ]


def latest_source(out: Path, name: str) -> SchemaSource | None:
    """Returns the last version of a schema that has records in this folder, None if none of this name has."""
    used = [entry for entry in manifests.read_live(out) if entry.schema_name == name and entry.records]
    return source_of(out, name, used[-1].schema_fingerprint) if used else None


def changes_since(out: Path, source: SchemaSource, new: CompiledSchema, fingerprint: str) -> Changes:
    """Returns the changes since this version of a schema. Raises NotUnited if the two do not fit one table."""
    if fingerprint == source.fingerprint:
        return Changes()
    old = compile_schema(source_of(out, source.name, fingerprint).schema)
    united_columns(list(arrow_schema(old)), list(arrow_schema(new)))
    return changes(old, new)


def source_of(out: Path, name: str, fingerprint: str) -> SchemaSource:
    """Returns the schema with this fingerprint, from the library or the folder.

    Raises RunError if the folder has lost it.
    """
    for known in LIBRARY:
        source = load_schema(known)
        if source.fingerprint == fingerprint:
            return source
    path = out / "schemas" / f"{own_name('digest', fingerprint)}.json"
    try:
        schema = read_schema(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: the schema cannot be read ({error}); run extract with it again") from error
    return stored_schema(name, schema, fingerprint)
