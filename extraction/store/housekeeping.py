"""Reports the contents of an output folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.files import is_locked, waiting_files
from cinnabar.extraction.store.model_runs import MODEL_RUN
from cinnabar.extraction.store.names import sql_literal
from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.records import STATUSES
from cinnabar.extraction.store.snapshot import published_number


@dataclass(frozen=True, slots=True)
class Status:
    """The present contents of a folder.

    `writing` is true while a run writes. `snapshot` is true if DuckDB's file shows the last commit. `last_outcomes`
    counts what the last run has done so far. `records` counts the documents with a present record of each schema,
    `quarantined` those in quarantine by code. `corrections` counts the corrections in force, `waiting` those of them
    that wait for the run that holds the folder.
    """

    folder: str
    writing: bool
    snapshot: bool
    runs: int
    last_run: str
    last_outcomes: dict[str, int]
    documents: int
    records: dict[str, int]
    quarantined: dict[str, int]
    batches: int
    files: int
    bytes: int
    corrections: int = 0
    waiting: int = 0


def status(out: Path) -> Status:
    """Returns the present contents of this folder. Raises UsageError if the folder holds no results."""
    with connect(out, views=("runs", "corrections", "quarantine", "documents", "records", "outcomes")) as connection:

        def rows(sql: str) -> list[tuple[Any, ...]]:
            answer: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
            return answer

        count, last = rows(f"SELECT count(*), coalesce(max(run_id), '') FROM runs WHERE {MODEL_RUN}")[0]
        done = dict(rows(f"SELECT outcome, count(*) FROM outcomes WHERE run_id = {sql_literal(last)} GROUP BY 1"))
        corrections = rows("SELECT count(*) FROM corrections WHERE undone IS NULL")[0][0]
        reasons = dict(rows("SELECT code, count(*) FROM quarantine GROUP BY 1 ORDER BY 2 DESC, 1"))
        documents = rows("SELECT count(*) FROM documents")[0][0]
        # A document with records under several versions of a schema counts once.
        latest = "SELECT schema_name, count(DISTINCT document) FROM records WHERE latest GROUP BY 1 ORDER BY 1"
        records = dict(rows(latest))
        counting = manifests.read_live(out)
    files = [file for entry in counting for file in entry.files]
    return Status(
        folder=str(out),
        writing=is_locked(out),
        snapshot=published_number(out) == max(entry.number for entry in counting),
        runs=count,
        last_run=last,
        last_outcomes={name: done.get(name, 0) for name in STATUSES},
        documents=documents,
        records=records,
        quarantined=reasons,
        batches=len(counting),
        files=len(files),
        bytes=sum(file.bytes for file in files),
        corrections=corrections,
        waiting=len(waiting_files(out)),
    )
