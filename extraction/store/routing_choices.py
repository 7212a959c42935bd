"""Tells where runs with a choice of schemas sent documents, for a backfill of one of these schemas."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.records import EMPTY_RECORD
from cinnabar.extraction.store.store import ROUTING
from cinnabar.extraction.store.stored_records import LatestRecord, names, of_source
from cinnabar.extraction.store.tables import OTHER_KIND


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
    wanted, values = ("true", []) if source is None else of_source(source, out)
    sql = (
        f"WITH decided AS ({_DECIDED}), read AS (FROM outcomes WHERE document IS NOT NULL),"
        " paths AS (SELECT document, list(DISTINCT path ORDER BY path) AS paths FROM read GROUP BY ALL),"
        " newest AS (SELECT path, arg_max(document, run_id) AS newest FROM read GROUP BY ALL),"
        " r AS (SELECT document, max(run_id) AS run_id, arg_max(place, run_id) AS place, arg_max(path, run_id) AS path"
        " FROM decided GROUP BY document)"
        " SELECT document, path, paths, r.run_id, newest = document"
        " FROM r JOIN paths USING (document) JOIN newest USING (path)"
        " WHERE place = '' AND document NOT IN (SELECT document FROM records WHERE schema_name = ?)"
        f" AND {wanted} ORDER BY path"
    )
    with connect(out, sql=sql) as connection:
        rows = connection.execute(sql, [name, name, *values]).fetchall()
    return [
        LatestRecord(document, (path, *(p for p in paths if p != path)), "", run_id, 0, None, current)
        for document, path, paths, run_id, current in rows
    ]
