"""Gathers what a report tells of a run, aggregated by DuckDB: its size does not grow with the number of documents."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cinnabar.errors import UsageError
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.names import sql_literal
from cinnabar.extraction.store.reading import connect, objects_of
from cinnabar.extraction.store.records import EMPTY
from cinnabar.extraction.store.rows import StoredRows
from cinnabar.extraction.store.snapshot import files_as_table

# Earlier runs are taken from the newest on until they have so many documents, and no more runs than this.
_BEFORE, _RUNS = 100_000, 10
#: The most fields that are told, and the confidence from which a value is sure.
MOST_FIELDS, SURE = 40, 0.8
_RUN = (
    "SELECT run_id, schema_name, schema_fingerprint, make_timestamp(epoch_us(started)) AS started, arguments,"
    " coalesce(model, '') AS model,"
    " CASE WHEN finished IS NOT NULL THEN greatest(0, (epoch_us(finished) - epoch_us(started)) / 1e6) END AS seconds"
    " FROM runs WHERE run_id = ?"
)
# The earlier runs of a schema that ended. A person's corrections are runs without a model.
_EARLIER = (
    "SELECT run_id FROM (SELECT run_id, written + quarantined AS own, sum(own) OVER (ORDER BY run_id DESC) AS all_read"
    " FROM runs WHERE schema_name = ? AND run_id < ? AND finished IS NOT NULL AND own > 0"
    f" AND arguments ->> 'model' IS NOT NULL ORDER BY run_id DESC LIMIT {_RUNS}) WHERE all_read - own < {_BEFORE}"
)
# Only the values of these runs; the files of others are left out by their statistics.
_OWN_VALUES = (
    "CREATE TEMP VIEW own_values AS SELECT * FROM {fields} WHERE run_id IN ({runs}) AND schema_name = {schema}"
    " AND origin NOT IN ('list', 'length', 'other', 'thoughts')"
)
_OWN_RECORDS = (
    "CREATE TEMP TABLE own_records AS SELECT path, document, confidence, flags, latest FROM records"
    " WHERE run_id = {run}"
)
_VALUE = "value_json IS NOT NULL AND value_json NOT IN ('null', '\"\"')"
# The places of values, those that hold one, and those that hold a sure one.
_COUNTS = (
    f"count(*) AS places, count(*) FILTER ({_VALUE}) AS found,"
    f" count(*) FILTER ({_VALUE} AND confidence >= {SURE}) AS sure"
)
#: The queries of a report, each with the columns of its rows.
_QUERIES = {
    "counts": (
        "SELECT outcome, coalesce(code, '') AS code, count(*) AS documents FROM outcomes"
        " WHERE run_id = {run} GROUP BY ALL ORDER BY 3 DESC, 2"
    ),
    # The documents in quarantine by code, and some of them.
    "reasons": (
        "SELECT code, count(*) AS documents, arg_min(struct_pack(path := path,"
        " detail := left(coalesce(detail, ''), 160)), path, 3) AS examples FROM outcomes"
        " WHERE run_id = {run} AND outcome = 'quarantined' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 30"
    ),
    # The fields in this run, the least sure first, each with the share of sure values in the run before. A list that is
    # always empty in a run has no row there, but its fields are told if the run before knew this version of the schema.
    "fields": (
        f"WITH each AS (SELECT field, run_id = {{run}} AS own, schema_fingerprint, {_COUNTS} FROM own_values"
        " WHERE run_id IN ({run}, {last}) GROUP BY ALL)"
        " SELECT field, coalesce(n.places, 0) AS places, coalesce(n.found, 0) AS found, coalesce(n.sure, 0) AS sure,"
        " b.sure / nullif(b.found, 0) AS before, count(*) OVER () AS fields"
        " FROM (FROM each WHERE own) AS n FULL JOIN (FROM each WHERE NOT own) AS b USING (field)"
        " WHERE n.field IS NOT NULL OR b.schema_fingerprint = {version}"
        f" ORDER BY n.sure / nullif(n.found, 0) NULLS LAST, field LIMIT {MOST_FIELDS}"
    ),
    "unsure": "SELECT path, confidence FROM own_records ORDER BY confidence, path LIMIT 8",
    # This run first, then the earlier ones: the documents that were read, the shares of those in quarantine, of sure
    # values and of places without one, seconds of a document, the values that a person has looked at, and the share of
    # them that the person changed. The last decision on a value of a document counts.
    "shares": (
        "WITH last AS (SELECT document, pointer, unnest(arg_max({{'action': action, 'after': after}}, made))"
        " FROM corrections WHERE schema_name = {schema} AND undone IS NULL GROUP BY 1, 2),"
        " decided AS (SELECT run_id, count(*) AS reviewed, count(*) FILTER (d.action IN ('value', 'absent')"
        " AND coalesce(value_json, 'null') <> coalesce(d.after, 'null')) AS changed"
        " FROM (FROM own_values WHERE origin <> 'human') AS v LEFT JOIN last AS d USING (document, pointer)"
        " LEFT JOIN (SELECT document FROM last WHERE pointer = '' AND action = 'accept') AS whole"
        " ON whole.document = v.document"
        " WHERE d.action IN ('value', 'absent', 'accept') OR whole.document IS NOT NULL GROUP BY 1)"
        " SELECT run_id, coalesce(read, 0) AS read, held / nullif(read, 0) AS quarantined,"
        " coalesce(found, 0) AS found, sure / nullif(found, 0) AS sure, 1 - found / places AS empty,"
        " greatest(0, (epoch_us(finished) - epoch_us(started)) / 1e6) / nullif(read, 0) AS pace,"
        " coalesce(reviewed, 0) AS reviewed, changed / nullif(reviewed, 0) AS wrong"
        " FROM (SELECT unnest([{runs}]) AS run_id) JOIN runs USING (run_id)"
        " LEFT JOIN (SELECT run_id, count(*) FILTER (outcome <> 'skipped') AS read,"
        " count(*) FILTER (outcome = 'quarantined') AS held FROM outcomes GROUP BY 1) USING (run_id)"
        f" LEFT JOIN (SELECT run_id, {_COUNTS} FROM own_values GROUP BY 1) USING (run_id)"
        " LEFT JOIN decided USING (run_id) WHERE run_id = {run} OR read > 0 ORDER BY 1 DESC"
    ),
    # Written documents with a list of another length than they tell, with what they tell.
    "incomplete": (
        "SELECT path, left(string_agg(pointer || ': ' || (value_json ->> '$'), '; '), 160) AS detail"
        " FROM (FROM {fields} WHERE run_id = {run} AND origin = 'length' AND len(flags) > 0 AND schema_name = {schema})"
        " JOIN (SELECT path, document FROM own_records) USING (document) GROUP BY path ORDER BY path LIMIT 8"
    ),
    # What still stands as the run left it: people and later runs change the rest. Written records without a value.
    "stands": (
        "SELECT (SELECT count(*) FROM own_records WHERE latest) AS written,"
        " (SELECT count(*) FROM quarantine WHERE run_id = {run}) AS quarantined,"
        f" (SELECT count(*) FROM own_records WHERE list_contains(flags, '{EMPTY}')) AS empty"
    ),
}


def gather_run(
    out: Path, run_id: str, stages: Mapping[str, float], rows: StoredRows | None = None
) -> dict[str, Any]:
    """Returns the data of this run: its own row, the rows of each query, and the seconds of its `stages`.

    `rows` are those of a folder that the caller has open. Raises UsageError if the folder has no such run.
    """
    out = out.absolute()
    committed = manifests.read_live(out)
    views = ("runs", "outcomes", "corrections", "records", "quarantine")
    with connect(out, views=views, rows=rows, committed=committed) as connection:
        found = objects_of(connection, _RUN, [run_id])
        if not found:
            raise UsageError(f"{run_id}: no such run; the view `runs` has them")
        (run,) = found
        earlier = [row["run_id"] for row in objects_of(connection, _EARLIER, [run["schema_name"], run_id])]
        own = {"run": run_id, "last": [*earlier, run_id][0], "schema": run["schema_name"]}
        own["version"] = run["schema_fingerprint"]
        parts = {name: sql_literal(text) for name, text in own.items()}
        parts["runs"] = ", ".join(map(sql_literal, [run_id, *earlier]))
        parts["fields"] = files_as_table(out, committed, "fields")
        connection.execute(_OWN_VALUES.format_map(parts))
        connection.execute(_OWN_RECORDS.format_map(parts))
        data: dict[str, Any] = {
            name: objects_of(connection, sql.format_map(parts)) for name, sql in _QUERIES.items()
        }
    arguments = json.loads(run["arguments"] or "{}")
    options = {name: arguments[name] for name in ("effort", "steps") if arguments.get(name)}
    outcomes = Counter[str]()
    for row in data["counts"]:
        outcomes[row["outcome"]] += row["documents"]
    told = {"outcomes": outcomes, "read": outcomes["written"] + outcomes["quarantined"], "stages": stages}
    return run | data | told | {"options": options, "stands": data["stands"][0]}
