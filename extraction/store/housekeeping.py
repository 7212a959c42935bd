"""Reports the contents of an output folder, and merges its small batches."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cinnabar.errors import UsageError
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.compaction import merge_batches
from cinnabar.extraction.store.files import failures, is_locked, waiting_files
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.model_runs import MODEL_RUN
from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.snapshot import published_number
from cinnabar.extraction.store.store import Store

#: A batch whose files have this many bytes together is large and is not rewritten.
LARGE = 128 << 20


@dataclass(frozen=True, slots=True)
class Status:
    """The present contents of a folder.

    `writing` is true while a run writes. `snapshot` is true if DuckDB's file shows the last commit. `records` counts
    the documents with a present record of each schema, `quarantined` those in quarantine by code. `corrections` counts
    the corrections in force, `waiting` those of them that wait for the run that holds the folder.
    """

    folder: str
    writing: bool
    snapshot: bool
    runs: int
    last_run: str
    documents: int
    records: dict[str, int]
    quarantined: dict[str, int]
    batches: int
    files: int
    bytes: int
    corrections: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Compacted:
    """The committed batches, files and bytes before and after a merge."""

    batches_before: int
    batches: int
    files_before: int
    files: int
    bytes_before: int
    bytes: int


def status(out: Path) -> Status:
    """Returns the present contents of this folder. Raises UsageError if the folder holds no results."""
    with connect(out, views=("runs", "corrections", "quarantine", "documents", "records")) as connection:

        def rows(sql: str) -> list[tuple[Any, ...]]:
            answer: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
            return answer

        count, last = rows(f"SELECT count(*), coalesce(max(run_id), '') FROM runs WHERE {MODEL_RUN}")[0]
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
        documents=documents,
        records=records,
        quarantined=reasons,
        batches=len(counting),
        files=len(files),
        bytes=sum(file.bytes for file in files),
        corrections=corrections,
        waiting=len(waiting_files(out)),
    )


def compact(out: Path) -> Compacted:
    """Merges the small batches of each schema into one; their files stay for a day for readers.

    Raises UsageError if the folder holds no results or a run is writing. Raises RunError if a file has changed since
    its commit or the disk fails; the folder then stays as it was.
    """
    if not manifests.read_live(out):
        raise UsageError(f"{out}: the folder holds no results of Cinnabar; name the --out folder of a run")
    with Store.open(out) as store:
        before = store.commits()
        groups: dict[tuple[str, str], list[Manifest]] = defaultdict(list)
        for entry in before:
            if sum(file.bytes for file in entry.files) < LARGE:
                groups[entry.schema_name, entry.schema_fingerprint].append(entry)
        with failures(f"{out}: could not merge batches"):
            for group in groups.values():
                if len(group) > 1:
                    store.replace(partial(merge_batches, store.out, group))
        store.publish()
        after = store.commits()
    return Compacted(len(before), len(after), *_size(before, after))


def _size(before: list[Manifest], after: list[Manifest]) -> tuple[int, int, int, int]:
    files = [[file for entry in entries for file in entry.files] for entries in (before, after)]
    old, new = (sum(file.bytes for file in some) for some in files)
    return len(files[0]), len(files[1]), old, new
