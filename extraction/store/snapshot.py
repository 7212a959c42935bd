"""Publishes `cinnabar.duckdb`: views over the committed Parquet files.

Each version is built beside the old one and swapped in, so that no reader waits. DuckDB resolves relative paths against
the working directory of the reader, not against the database, so the views name their files by absolute paths. After
the folder has moved, the next command on it builds the snapshot again.
"""

from __future__ import annotations

import contextlib
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pyarrow as pa

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.files import failures, write_whole
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.model_runs import MODEL_RUN
from cinnabar.extraction.store.names import identifier, quote_name, sql_literal
from cinnabar.extraction.store.schema_versions import sql_type, united_source
from cinnabar.extraction.store.tables import COMMAND, DOCUMENTS, MODELS, TABLE_COLUMNS

DATABASE = "cinnabar.duckdb"
#: Opens a database at a path within the folder (`StoredRows.new_database`).
NewDatabase = Callable[[Path], AbstractContextManager[duckdb.DuckDBPyConnection]]

#: The views of every snapshot, beside one for each schema, in order of creation. They use no function that is newer
#: than DuckDB 1.1, which can open it.
VIEWS = {
    "outcomes": "SELECT * FROM {outcomes}",
    # What people changed, with the step that took it back.
    "corrections": "SELECT c.identity, c.document, o.path, c.schema_name, action, pointer, before, after, who, made,"
    " u.undone, u.undone_by, evidence_text, spans, boxes, place, c.schema_fingerprint, c.run_id"
    " FROM {corrections} AS c LEFT JOIN (SELECT undoes AS identity, arg_min(made, run_id) AS undone,"
    " arg_min(who, run_id) AS undone_by FROM {corrections} WHERE undoes IS NOT NULL GROUP BY ALL) AS u"
    " USING (identity) LEFT JOIN (SELECT document, arg_max(path, run_id) AS path FROM outcomes"
    " WHERE document IN (SELECT document FROM {corrections}) GROUP BY ALL) AS o ON o.document = c.document"
    " WHERE undoes IS NULL",
    # Not `ORDER BY finished NULLS LAST`: DuckDB 2.0.0 then gives the row with the NULL one time in ten.
    # Of two models the second took part if it was asked; runs of older versions name theirs by its fingerprint.
    "runs": "SELECT *, coalesce(arguments ->> 'command',"
    " CASE WHEN arguments ->> 'backfill' IS NULL THEN 'extract' ELSE 'backfill' END) AS kind,"
    f" coalesce(array_to_string(TRY_CAST(arguments -> '{MODELS}' AS VARCHAR[])"
    "[:CASE WHEN usage ->> 'escalated_documents' = '0' THEN 1 ELSE 2 END], ', '), arguments ->> 'model') AS model"
    " FROM {runs}"
    " QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY finished IS NULL) = 1",
    # Older files lack the columns of facts.
    "documents": "SELECT * FROM (SELECT * FROM {documents} UNION ALL BY NAME SELECT {nulls} WHERE false)"
    " QUALIFY row_number() OVER (PARTITION BY document ORDER BY run_id DESC) = 1",
    # The present quarantine: no later run has written or judged these documents. Paths and documents that never were in
    # quarantine are left out first, because hashing a few costs less than ordering all: of 1,000,000 outcomes with one
    # in 64 held back .28 processor seconds instead of 1.16.
    "quarantine": "SELECT run_id, path, code, detail, pointers, document, schema_name, schema_fingerprint,"
    " engine_fingerprint, record_json FROM ("
    "SELECT * FROM outcomes AS r WHERE outcome <> 'skipped' AND {counting}"
    " AND (path IN (SELECT path FROM outcomes WHERE outcome = 'quarantined') OR document IN"
    " (SELECT document FROM outcomes WHERE outcome = 'quarantined' AND document IS NOT NULL))"
    " QUALIFY outcome = 'quarantined'"
    " AND row_number() OVER (PARTITION BY path, schema_fingerprint ORDER BY run_id DESC) = 1"
    # Of files with the same bytes and other suffixes one may be read and another not; the paths of both held ones stay.
    " AND rank() OVER (PARTITION BY coalesce(document, 'path ' || path), schema_fingerprint"
    " ORDER BY run_id DESC, outcome = 'quarantined') = 1)"
    # An archive that a later run opened has outcomes of its files alone. They lie between PATH/ and PATH0, because
    # 0 follows the slash; the schema stands before them, so that the join is one of ranges and not of all pairs.
    " ANTI JOIN (SELECT DISTINCT a.run_id, a.path, a.schema_fingerprint FROM"
    " (SELECT *, schema_fingerprint || path AS place FROM outcomes WHERE outcome = 'quarantined' AND document IS NULL)"
    " AS a JOIN (SELECT run_id, schema_fingerprint || path AS place FROM outcomes) AS f"
    " ON f.place > a.place || '/' AND f.place < a.place || '0' AND f.run_id > a.run_id)"
    " USING (run_id, path, schema_fingerprint)",
    # All records ever written; `latest` marks the one that counts for its document and schema.
    "records": "SELECT *, row_number() OVER"
    " (PARTITION BY document, schema_fingerprint ORDER BY run_id DESC) = 1 AND {counting} AS latest"
    " FROM ({records}) AS r",
    # All values ever written, each beside the value of the run before.
    "history": "SELECT document, path, schema_name, pointer, field, run_id, started, value_json ->> '$' AS value,"
    " value_json, lag(value_json) OVER places AS previous_json,"
    " value_json IS DISTINCT FROM lag(value_json) OVER places AND lag(run_id) OVER places IS NOT NULL"
    " AS changed, confidence, origin, page, evidence_text, schema_fingerprint, engine_fingerprint,"
    " model, latest, {who} AS who"
    " FROM {fields} AS f JOIN (SELECT run_id, started, model FROM runs) USING (run_id)"
    " LEFT JOIN (SELECT document, schema_fingerprint, run_id, path, latest FROM records)"
    " USING (document, schema_fingerprint, run_id)"
    " WINDOW places AS (PARTITION BY document, schema_name, pointer ORDER BY run_id)",
    # The values of each document's latest record under each version of its schema.
    "_fields": "SELECT f.document, path, f.schema_name, pointer, field, value_json ->> '$' AS value, value_json,"
    " confidence, row_confidence, origin, missing, flags, page, spans[1].start AS span_start,"
    " spans[len(spans)].end AS span_end,"
    " evidence_text, place, boxes[1].x0 AS x0, boxes[1].top AS top, boxes[1].x1 AS x1, boxes[1].bottom AS bottom,"
    " spans, boxes, run_id, schema_fingerprint, engine_fingerprint"
    # Older files lack these columns.
    " FROM (SELECT * FROM {fields} UNION ALL BY NAME"
    " SELECT []::VARCHAR[] AS flags, 0.0::DOUBLE AS row_confidence, NULL::VARCHAR AS place WHERE false) AS f"
    " JOIN (SELECT document, schema_fingerprint, max(run_id) AS run_id, arg_max(path, run_id) AS path"
    " FROM outcomes AS r WHERE outcome = 'written' AND {counting} GROUP BY ALL) AS latest"
    " USING (document, schema_fingerprint, run_id)",
    # Those of one of these records, under the version that the schema's view is of, if the document has one.
    "fields": "SELECT * FROM _fields {latest_written}",
    # The results for the record that counts, in quarantine too.
    "_checks": "SELECT c.document, path, c.schema_name, check_name, holds, outcome, run_id, schema_fingerprint,"
    " c.engine_fingerprint FROM {checks} AS c JOIN (SELECT document, schema_fingerprint, run_id, path, outcome"
    " FROM outcomes AS r WHERE outcome <> 'skipped' AND document IS NOT NULL AND {counting} QUALIFY row_number() OVER"
    " (PARTITION BY document, schema_fingerprint ORDER BY run_id DESC) = 1) AS o"
    " USING (document, schema_fingerprint, run_id)",
    "checks": "SELECT * FROM _checks {latest_judged}",
    "lists": "SELECT path, f.document, f.schema_name, f.pointer, f.field, f.value_json::BIGINT AS items, f.confidence,"
    " n.value_json ->> '$' AS length, coalesce(len(n.flags) > 0, false) AS incomplete, f.row_confidence, f.run_id,"
    " f.schema_fingerprint, f.engine_fingerprint FROM fields AS f"
    " LEFT JOIN (SELECT document, schema_fingerprint, run_id, pointer, value_json, flags FROM fields"
    " WHERE origin = 'length') AS n"
    " USING (document, schema_fingerprint, run_id, pointer) WHERE f.origin = 'list'",
}
_WIDE = (
    "SELECT * FROM {data} AS r WHERE {counting}"
    " QUALIFY row_number() OVER (PARTITION BY document ORDER BY run_id DESC) = 1"
)
_RECORDS = (
    "SELECT path, document, confidence, flags, run_id, {name} AS schema_name, schema_fingerprint,"
    " engine_fingerprint, record_json FROM {data}"
)
_NO_RECORDS = (
    "SELECT ''::VARCHAR AS path, ''::VARCHAR AS document, 0.0::DOUBLE AS confidence, []::VARCHAR[] AS flags,"
    " ''::VARCHAR AS run_id, ''::VARCHAR AS schema_name, ''::VARCHAR AS schema_fingerprint,"
    " ''::VARCHAR AS engine_fingerprint, ''::VARCHAR AS record_json WHERE false"
)
# Records up to these runs do not count: a person said that the document is of another kind, or took back the correction
# that had brought it out of quarantine.
_WITHDRAWN = (
    "SELECT o.document, f.schema_fingerprint, max(o.run_id) AS run_id FROM outcomes AS o"
    " JOIN (SELECT DISTINCT schema_name, schema_fingerprint FROM outcomes) AS f USING (schema_name)"
    f" WHERE o.code = 'other_kind' AND o.run_id IN (SELECT run_id FROM {{runs}} WHERE NOT ({MODEL_RUN}))"
    " OR o.outcome <> 'written' AND o.schema_fingerprint = f.schema_fingerprint"
    " AND (o.document, o.run_id) IN (SELECT (document, run_id) FROM {corrections}) GROUP BY ALL"
)
# The conditions on a record, as `r`: no correction withdraws it (a folder without corrections does not look), and a
# path still has its document.
_NOT_WITHDRAWN = (
    "NOT EXISTS (SELECT 1 FROM _withdrawn AS w WHERE w.document = r.document"
    " AND w.schema_fingerprint = r.schema_fingerprint AND w.run_id > r.run_id)"
)
# The document that each path had when a run last read it, of paths that had several. Corrections and backfills do not
# look at a path again, a document that could not be read may be half written, and the messages of an mbox, whose paths
# are numbers, get others when the first ones are deleted. Hashes find these paths first: of 1,000,000 outcomes without
# such a path in .8 processor seconds instead of 5.1.
_MOVED = (
    "SELECT path, arg_max(document, run_id) AS document FROM outcomes SEMI JOIN (SELECT run_id FROM runs"
    f" WHERE (arguments ->> '{COMMAND}') IS NULL AND (arguments ->> 'backfill') IS NULL) USING (run_id)"
    " WHERE hash(path) IN (SELECT hash(path) FROM outcomes WHERE document IS NOT NULL GROUP BY 1"
    " HAVING min(hash(document)) <> max(hash(document)))"
    " AND document IS NOT NULL AND outcome <> 'quarantined' AND code IS DISTINCT FROM 'budget'"
    " AND NOT regexp_matches(path, '#[0-9]+$') GROUP BY path HAVING min(document) <> max(document)"
)
# Documents that each of their paths has lost to other bytes.
_SUPERSEDED = (
    "SELECT o.document FROM outcomes AS o LEFT JOIN _moved AS m USING (path)"
    " WHERE o.document IN (SELECT document FROM outcomes SEMI JOIN _moved USING (path))"
    " GROUP BY o.document HAVING bool_and(m.document IS NOT NULL AND m.document <> o.document)"
)
_IN_PLACE = "NOT EXISTS (SELECT 1 FROM _superseded AS s WHERE s.document = r.document)"
# The person who said last what stands at a place of `history`, as `f`.
_WHO = (
    "CASE WHEN origin = 'human' THEN (SELECT arg_max(c.who, c.run_id) FROM {corrections} AS c"
    " WHERE c.document = f.document"
    " AND c.schema_name = f.schema_name AND c.undoes IS NULL AND c.run_id <= f.run_id"
    " AND (c.pointer = f.pointer OR starts_with(f.pointer, c.pointer || '/'))) END"
)
# Chooses one record of each document and schema; needed once a schema has several versions.
_LATEST = (
    "SEMI JOIN (SELECT document, schema_fingerprint, run_id FROM outcomes AS r"
    " WHERE outcome {judged} AND document IS NOT NULL AND {counting} QUALIFY row_number() OVER"
    " (PARTITION BY document, schema_name ORDER BY schema_fingerprint IN ({newest}) DESC, run_id DESC) = 1) AS latest"
    " USING (document, schema_fingerprint, run_id)"
)
_WORD = re.compile(r"\w+")
_LITERAL = re.compile(r"'[^']*'")
# The words by which a query asks which views there are: SHOW TABLES, and DuckDB's own views and functions.
_OF_ALL = re.compile(r"show|describe|information_schema|(?:duckdb|pragma|sqlite|pg)_\w+")


def publish(out: Path, committed: Sequence[Manifest], new_database: NewDatabase) -> None:
    """Builds the snapshot of these commits, those that count in this folder, and swaps it in.

    It does nothing without a commit. Raises RunError if the disk fails, or, with its path, if a committed file is
    broken.
    """
    out = out.absolute()
    if not committed:
        return

    def build(temporary: Path) -> None:
        temporary.unlink(missing_ok=True)  # DuckDB would open the file of a dead process with the same id
        with new_database(temporary) as connection:
            connection.begin()  # one wait for the disk instead of one a view
            define_views(connection, out, committed)
            connection.commit()

    with failures(f"{out}: the snapshot could not be published"):
        try:
            write_whole(out / DATABASE, build)
            manifests.write_published(out, committed, _shown(out))
        except duckdb.Error as error:
            manifests.check_files(out, committed)
            raise RunError(
                f"{out / DATABASE}: could not be built: {error}; run the same command again"
            ) from error


def published_number(out: Path) -> int | None:
    """Returns the last commit in the snapshot; None if there is none made for this path, with the views of today."""
    number, _, shown = manifests.published(out)
    with contextlib.suppress(OSError):
        return number if shown == _shown(out.absolute()) else None
    return None


def _shown(out: Path) -> list[str | int]:
    """Returns what tells the snapshot of this path and its views from another; a stranger's is never opened."""
    about = (out / DATABASE).stat()
    return [str(out), _views_made(), about.st_size, about.st_mtime_ns]


def define_views(
    connection: duckdb.DuckDBPyConnection,
    out: Path,
    committed: Sequence[Manifest],
    asked: Collection[str] | None = None,
) -> list[str]:
    """Creates the views of these commits in this connection's database, and returns the names of all, in order.

    Of a view DuckDB reads the head of each of its files. So with `asked` only the views of these names, whose case does
    not matter, are created, and those that they read.

    DuckDB binds a view with all that stands below it, to the files. So a view that others read gives its place to one
    without rows while those are made, and comes back when they stand: a query over nine levels reads each file once.
    """
    views = _views(connection, out, committed)
    below = list[str]()
    chosen = [*views] if asked is None else _with_those_below(views, asked)
    read = _read_by_others({name: views[name] for name in chosen})
    for name in chosen:
        query = views[name]
        if name in read:
            query = _without_rows(connection.sql(query))
            below.append(name)
        connection.execute(f"CREATE VIEW {quote_name(name)} AS {query}")
    for name in reversed(below):
        connection.execute(f"CREATE OR REPLACE VIEW {quote_name(name)} AS {views[name]}")
    return [*views]


def _without_rows(query: duckdb.DuckDBPyRelation) -> str:
    """Returns a query that has the columns of this one and no rows."""
    return f"SELECT {_nulls(zip(query.columns, query.types, strict=True))} WHERE false"


def _nulls(columns: Iterable[tuple[str, object]]) -> str:
    """Returns columns of these names and types in which every value is NULL."""
    return ", ".join(f"CAST(NULL AS {kind}) AS {quote_name(name)}" for name, kind in columns)


def names_asked(sql: str) -> set[str] | None:
    """Returns words that have the name of each view that a user's query reads; None if it may ask for all views."""
    words = set(_WORD.findall(sql.casefold()))
    return None if any(map(_OF_ALL.fullmatch, words)) else words


def _names_in(query: str) -> set[str]:
    """Returns the words of a query outside of its texts, in small letters: names of views and of columns among them."""
    return set(_WORD.findall(_LITERAL.sub("", query).casefold()))


def _read_by_others(views: Mapping[str, str]) -> set[str]:
    """Returns the names of views that later ones may read."""
    words = set[str]().union(*map(_names_in, views.values()))
    return {name for name in views if name.casefold() in words}


def _with_those_below(views: dict[str, str], asked: Collection[str]) -> list[str]:
    """Returns the names of these views and of those that they read, each after what it reads."""
    wanted = {name.casefold() for name in asked}
    chosen = []
    for name in reversed(views):
        if name.casefold() in wanted:
            chosen.append(name)
            # Columns have names of views, too: such a view is made as well if it stands before this one.
            wanted |= _names_in(views[name])
    return chosen[::-1]


def _views(connection: duckdb.DuckDBPyConnection, out: Path, committed: Sequence[Manifest]) -> dict[str, str]:
    """Returns the queries of the views of these commits by name; each reads only views before it."""
    versions, data = _by_version(committed), _data_of_versions(out, committed)
    sources = {table: files_as_table(out, committed, table) for table in manifests.TABLES if table != "data"}
    sources["records"] = records_as_table(out, committed)
    sources["nulls"] = _nulls((f.name, sql_type(f.type)) for f in DOCUMENTS)
    corrected = any(file.table == "corrections" and file.rows for entry in committed for file in entry.files)
    sources["who"] = _WHO.format_map(sources) if corrected else "NULL::VARCHAR"
    sources["counting"] = counting = f"{_IN_PLACE} AND {_NOT_WITHDRAWN}" if corrected else _IN_PLACE
    shown = [entry for entry in committed if entry.schema_fingerprint in data]
    newest = ", ".join(sql_literal(fingerprints[-1]) for fingerprints in _versions(shown).values())
    several = any(len(fingerprints) > 1 for fingerprints in _versions(committed).values())
    for name, judged in (("latest_written", "= 'written'"), ("latest_judged", "<> 'skipped'")):
        latest = _LATEST.format(judged=judged, counting=counting, newest=newest or "''")
        sources[name] = latest if several else ""
    views = {}
    for name, query in VIEWS.items():
        views[name] = query.format_map(sources)
        if corrected and name == "outcomes":
            views["_withdrawn"] = _WITHDRAWN.format_map(sources)
        if name == "runs":
            views |= {"_moved": _MOVED, "_superseded": _SUPERSEDED}
    names = view_names(shown, reserved_words(connection))
    for name, fingerprint in names.items():
        views[name] = _WIDE.format(data=data[fingerprint], counting=sources["counting"])
    every = {versions_of_it[-1]: data[versions_of_it[-1]] for versions_of_it in _versions(shown).values()}
    for name, versions_of_it in united_names(shown, names).items():
        united = united_source(out, {f: (data[f], versions[f]) for f in versions_of_it})
        if united is None:
            continue
        every[versions_of_it[0]] = f"({united})"
        views[name] = _WIDE.format(data=f"({united})", counting=sources["counting"])
    for latest, rows in every.items():
        views[_free_name(f"{identifier(versions[latest][-1].schema_name)}_history", views)] = f"SELECT * FROM {rows}"
    return views


def _by_version(committed: Sequence[Manifest]) -> dict[str, list[Manifest]]:
    """Returns these commits by the fingerprint of their schema."""
    versions: dict[str, list[Manifest]] = defaultdict(list)
    for entry in committed:
        versions[entry.schema_fingerprint].append(entry)
    return versions


def _data_of_versions(out: Path, committed: Sequence[Manifest]) -> dict[str, str]:
    """Returns the SQL of the records by the fingerprint of their schema, with its columns.

    Columns of one name may have different types in two schemas, so their files are never read as one table.
    """
    return {
        fingerprint: files_as_table(out, entries, "data")
        for fingerprint, entries in _by_version(committed).items()
        # All records of a schema may have been set aside (`extraction/store/broken_files.py`).
        if any(file.table == "data" for entry in entries for file in entry.files)
    }


def records_as_table(out: Path, committed: Sequence[Manifest]) -> str:
    """Returns the SQL that reads all records of these commits, whatever their schema."""
    names = {entry.schema_fingerprint: sql_literal(entry.schema_name) for entry in committed}
    data = _data_of_versions(out, committed)
    every = (_RECORDS.format(name=names[fingerprint], data=rows) for fingerprint, rows in data.items())
    return " UNION ALL ".join(every) or _NO_RECORDS


def _views_made() -> int:
    """Returns a number of the queries of the views: a snapshot of an older version is built anew."""
    conditions = (_WITHDRAWN, _MOVED, _SUPERSEDED, _NOT_WITHDRAWN, _IN_PLACE, _WHO, _LATEST)
    return zlib.crc32(repr((VIEWS, _WIDE, _RECORDS, conditions)).encode())


def _free_name(name: str, taken: Collection[str]) -> str:
    """Returns a name with underscores behind it until no view has it."""
    used = {other.casefold() for other in taken}
    while name.casefold() in used:
        name += "_"
    return name


def files_as_table(out: Path, committed: Sequence[Manifest], table: str) -> str:
    """Returns the SQL that reads the rows of these commits in one of their tables."""
    paths = [str(out / file.path) for entry in committed for file in entry.files if file.table == table]
    # No commit of a folder may hold one, also if it is from elsewhere and its first batch says that it replaces others.
    if not paths:
        return f"({no_rows(TABLE_COLUMNS[table])})"
    return f"read_parquet([{', '.join(map(sql_literal, paths))}], union_by_name = true, hive_partitioning = false)"


def no_rows(columns: pa.Schema) -> str:
    """Returns the SQL of a table with these columns and no rows."""
    return f"SELECT {_nulls((f.name, sql_type(f.type)) for f in columns)} WHERE false"


def view_names(committed: Sequence[Manifest], reserved: frozenset[str]) -> dict[str, str]:
    """Returns the names of the record views, each with the fingerprint of its schema.

    The latest version of a schema that has records gets the schema's name. Each older version gets the name with the
    first 8 digits of its fingerprint, and so does a name that two schemas would share.
    """
    names: dict[str, str] = {}
    for schema_name, fingerprints in _versions(committed).items():
        *older, latest = fingerprints
        name = identifier(schema_name)
        if name.casefold() in reserved:
            name += "_"
        for fingerprint in older:
            names[f"{name}_{fingerprint[:8]}"] = fingerprint
        if name.casefold() in {taken.casefold() for taken in names}:
            name = f"{name}_{latest[:8]}"
        names[name] = latest
    return names


def united_names(committed: Sequence[Manifest], taken: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns the views over all versions of a schema with several, and their fingerprints, latest first."""
    names: dict[str, list[str]] = {}
    for schema_name, fingerprints in _versions(committed).items():
        if len(fingerprints) > 1:
            names[_free_name(f"{identifier(schema_name)}_all", (*taken, *names))] = [*reversed(fingerprints)]
    return names


def _versions(committed: Sequence[Manifest]) -> dict[str, list[str]]:
    """Returns the fingerprints of each schema's versions, the latest last.

    Versions without records come first: a run that wrote nothing must not empty the schema's view.
    """
    by_schema: dict[str, dict[str, None]] = defaultdict(dict)
    for entry in committed:
        by_schema[entry.schema_name].pop(entry.schema_fingerprint, None)
        by_schema[entry.schema_name][entry.schema_fingerprint] = None
    filled = {entry.schema_fingerprint for entry in committed if entry.records}
    return {name: sorted(versions, key=filled.__contains__) for name, versions in by_schema.items()}


def view_of(connection: duckdb.DuckDBPyConnection, committed: Sequence[Manifest], schema_name: str) -> str:
    """Returns the view of this schema's records in this connection: of all versions if it exists, else of the latest.

    Raises UsageError if the schema has no records.
    """
    shown = [entry for entry in committed if any(file.table == "data" for file in entry.files)]
    own = _versions(shown).get(schema_name)
    if own is None:
        raise UsageError(f"{schema_name}: there are no records of this schema")
    names = view_names(shown, reserved_words(connection))
    there = {row[0] for row in connection.execute("SHOW TABLES").fetchall()}
    for name, fingerprints in united_names(shown, names).items():
        if own[-1] == fingerprints[0] and name in there:
            return name
    return next(name for name, fingerprint in names.items() if fingerprint == own[-1])


def view_of_version(
    connection: duckdb.DuckDBPyConnection, committed: Sequence[Manifest], fingerprint: str
) -> str | None:
    """Returns the view of the records of this version of a schema in this connection, None if it has none."""
    shown = [entry for entry in committed if any(file.table == "data" for file in entry.files)]
    names = view_names(shown, reserved_words(connection))
    return next((name for name, version in names.items() if version == fingerprint), None)


def reserved_words(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Returns the names, in lower case, that no view of records may have: ours, and words that would need quotes."""
    query = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category IN ('reserved', 'type_function')"
    words = {row[0] for row in connection.execute(query).fetchall()}
    made = {"_withdrawn", "_moved", "_superseded"}
    # DuckDB before 2.0 reserves one more.
    return frozenset(words | {"grant"} | {*VIEWS} | made)
