"""Measures an output folder with many stored outcomes: resume, snapshot, status, a batch's commit, compaction.

    python -m bench volume_report --stored 1000000

The outcomes are synthetic, their way into the folder is that of a run: each batch of `--batch` documents is a commit of
the store, the store merges batches as it does in a run, and replaced files stay. Two things differ. The rows of a batch
are those of one batch that the run's own functions made, with the path and the digest of each document in their place.
While the folder is filled, nothing waits for the disk. The run does not end, as if it had been killed.

Each measurement is a process of its own; its memory is the most that it held.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from bench.processes import watch
from bench.reporting import table
from cinnabar.engine.model import Model
from cinnabar.engine.version import read_by
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.plan.run_options import DEFAULT_OPTIONS
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.extract import begin_extraction
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.records import DocumentInfo, LeafRow, Outcome, Record
from cinnabar.extraction.store.snapshot import DATABASE
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import Key, RecordColumns
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.columns.arrow import arrow_schema

SCHEMA = {
    "title": "note",
    "type": "object",
    "properties": {
        "carrier": {"type": ["string", "null"]},
        "parcels": {"type": ["integer", "null"]},
        "day": {"type": ["string", "null"], "format": "date"},
    },
    "required": ["carrier", "parcels", "day"],
}
#: The folder that a commit is compared with has this many outcomes.
FEW = 1000
#: One document in this many is in quarantine.
HELD = 50
_COMMITS = 61


def _load() -> Model:
    raise SystemExit("expected a run that finds all documents done, got one that loads its model")


ASSIGNMENT = Assignment(load_schema(SCHEMA), ModelSource("synthetic", _load), DEFAULT_OPTIONS)
_ENGINE = read_by(ASSIGNMENT.fingerprint, ())


def path_of(number: int) -> str:
    """The path of a document."""
    return f"mails/{number // 1000:05}/{number:08}.eml"


def digest_of(number: int) -> str:
    """The digest of a document."""
    return hashlib.sha256(str(number).encode()).hexdigest()


def outcome(number: int) -> Outcome:
    """The outcome of a document: a record of three fields, one in fifty in quarantine."""
    values = {"carrier": f"Carrier {number % 997}", "parcels": number % 90, "day": f"2026-{number % 12 + 1:02}-17"}
    leaves = tuple(LeafRow(f"/{name}", json.dumps(value), 0.93, "copied") for name, value in values.items())
    digest = digest_of(number)
    info = DocumentInfo(digest, "message/rfc822", 5000 + number % 1000, 0, 1, 1200)
    record = Record(json.dumps(values), leaves, 0.93)
    held = number % HELD == HELD - 1
    code = {"code": "low_confidence", "pointers": ("/day",)} if held else {}
    status = "quarantined" if held else "written"
    read: dict[str, Any] = {"digest": digest, "document": info, "record": record, "engine": _ENGINE}
    return Outcome(path_of(number), status, **read, **code)  # type: ignore[arg-type]


def _run(store: Store) -> Run:
    source = load_schema(SCHEMA)
    return Run(store, source, compile_schema(source.schema), ASSIGNMENT.fingerprint, {"model": "synthetic"})


def _at_once(fd: object) -> None:
    """Stands for the sync of a file."""


def fill(out: Path, count: int, batch: int) -> dict[str, Any]:
    """Commits so many outcomes, batch by batch."""
    os.fsync = _at_once
    with Store.open(out) as store:
        run = _run(store)
        template = _Template(run.key, run._folder, batch)
        for start in range(0, count, batch):
            store.commit(run.key.schema_name, run.key.schema_fingerprint, template.rows(start))
            if start // batch % 64 == 63:
                store.publish()
    return {}


class _Template:
    """The rows of a batch, in which each batch puts its own paths and digests."""

    def __init__(self, key: Key, folder: str, batch: int) -> None:
        outcomes = [outcome(number) for number in range(batch)]
        written = [one for one in outcomes if one.status == "written"]
        schema = arrow_schema(compile_schema(SCHEMA))
        columns = RecordColumns.of(schema)
        records = [tables.record_row(one, key, schema, columns) for one in written]
        self._batch = batch
        self._tables = {
            "outcomes": tables.outcome_rows(outcomes, key),
            "documents": tables.document_rows(outcomes, key),
            f"data/{folder}": pa.Table.from_batches(records).combine_chunks(),
            f"fields/{folder}": pa.concat_tables([tables.field_rows(one, key) for one in written]).combine_chunks(),
        }
        numbers = {one.digest: number for number, one in enumerate(outcomes)}
        self._places = {
            name: [numbers[str(digest)] for digest in rows["document"].to_pylist()]
            for name, rows in self._tables.items()
        }

    def rows(self, start: int) -> dict[str, pa.Table]:
        """The tables of the batch whose first document has this number."""
        digests = [digest_of(start + place) for place in range(self._batch)]
        found = {}
        for name, rows in self._tables.items():
            places = self._places[name]
            own = {"document": pa.array([digests[place] for place in places])}
            if "path" in rows.column_names:
                own["path"] = pa.array([path_of(start + place) for place in places])
            for column, values in own.items():
                rows = rows.set_column(rows.column_names.index(column), column, values)
            found[name] = rows
        return found


def resume(out: Path, count: int) -> dict[str, Any]:
    """Opens the store and asks for the documents that are done."""
    begin = time.perf_counter()
    with Store.open(out) as store:
        opened = time.perf_counter()
        done = store.done_keys(ASSIGNMENT.source.fingerprint, ASSIGNMENT.fingerprint)
        known = time.perf_counter()
    if len(done) != count:
        raise SystemExit(f"expected {count} documents that are done, got {len(done)}")
    return {"open": opened - begin, "done": known - opened, "seconds": known - begin}


def again(out: Path, count: int) -> dict[str, Any]:
    """Runs over the same inputs, all of them done: names them, skips them, and ends the run."""
    inputs = [Input(path_of(n), Path(path_of(n)), digest_of(n)) for n in range(count)]
    begin = time.perf_counter()
    with begin_extraction(ASSIGNMENT, inputs, out) as extraction:
        ready = time.perf_counter()
        summary = extraction.work_through()
    if summary.skipped != count:
        raise SystemExit(f"expected {count} skipped documents, got {summary}")
    ended = time.perf_counter()
    return {"until the first batch": ready - begin, "end": ended - ready, "seconds": ended - begin}


def snapshot(out: Path, count: int) -> dict[str, Any]:
    """Publishes the snapshot, as after a commit, and counts the records by it."""
    with Store.open(out) as store:
        took = [_timed(store.publish) for _ in range(5)]
    begin = time.perf_counter()
    with duckdb.connect(str(out / DATABASE), read_only=True) as reader:
        (records,) = reader.execute("SELECT count(*) FROM note").fetchone() or (0,)
        asked = time.perf_counter() - begin
        (held,) = reader.execute("SELECT count(*) FROM quarantine").fetchone() or (0,)
    if records + held != count:
        raise SystemExit(f"expected {count} records and documents in quarantine, got {records} and {held}")
    return {"seconds": statistics.median(took), "most": max(took), "count of records": asked}


def commits(out: Path, few: Path, batch: int) -> dict[str, Any]:
    """Commits batches to both folders in turn."""
    took: dict[Path, list[float]] = {few: [], out: []}
    with Store.open(out) as large, Store.open(few) as small:
        runs = {few: _run(small), out: _run(large)}
        for number in range(_COMMITS):
            rows = [outcome(900_000_000 + number * batch + place) for place in range(batch)]
            for folder, run in runs.items():
                took[folder].append(_timed(partial(run.commit_batch, rows)))
    medians = {folder: statistics.median(seconds) for folder, seconds in took.items()}
    means = {folder: statistics.fmean(seconds) for folder, seconds in took.items()}
    return {
        "seconds": medians[out],
        "few": medians[few],
        "ratio": medians[out] / medians[few],
        "mean ratio": means[out] / means[few],
        "most": max(took[out]),
    }


def _timed(do: Callable[[], object]) -> float:
    begin = time.perf_counter()
    do()
    return time.perf_counter() - begin


def _own(operation: str, *given: object) -> dict[str, Any]:
    """Runs one of the functions above in a process of its own, and adds the most memory that it held, in MiB."""
    command = [sys.executable, "-m", "bench.stored_volume", operation, *map(str, given)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(done.returncode)
    found: dict[str, Any] = json.loads(done.stdout)
    print(operation, found, file=sys.stderr, flush=True)
    return found


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) >> 10


def _size(out: Path) -> str:
    files = [path.stat().st_size for path in out.rglob("*") if path.is_file()]
    return f"{len(files):,} files, {sum(files) / 2**20:,.0f} MiB"


def report(count: int, batch: int, root: Path) -> None:
    """Fills a folder, measures it, and prints the report."""
    out, few = root / "many", root / "few"
    begin = time.perf_counter()
    _own("fill", few, FEW, batch)
    _own("fill", out, count, batch)
    filled = time.perf_counter() - begin
    size = _size(out)
    print(f"filled in {filled:.0f} s: {size}", file=sys.stderr, flush=True)
    rows: list[Sequence[str]] = []

    def row(what: str, seconds: float, wanted: str, memory: float, more: str = "") -> None:
        rows.append((what, f"{seconds:.2f}", wanted, f"{memory:.0f}", more))

    found = _own("resume", out, count)
    row("resume: open, find what is done", found["seconds"], "30", found["MiB"], f"open {found['open']:.2f}")
    found = _own("snapshot", out, count)
    told = f"at most {found['most']:.2f}; count of all records by it {found['count of records']:.2f}"
    row("snapshot", found["seconds"], "30", found["MiB"], told)
    cinnabar = [sys.executable, "-m", "cinnabar.apps.cli.main"]
    ran = watch([*cinnabar, "status", "--out", str(out)], root / "log")
    row("`status`", ran.seconds, "5", ran.peak / 2**20, f"of processors {ran.work:.1f} s")
    print("status", ran.seconds, file=sys.stderr, flush=True)
    found = _own("commits", out, few, batch)
    told = f"mean {found['mean ratio']:.2f} times, at most {found['most']:.2f} s"
    what = f"a batch's commit, {found['ratio']:.2f} times that of {FEW:,}"
    row(what, found["seconds"], "1.2 times", found["MiB"], told)
    found = _own("again", out, count)
    told = f"{found['until the first batch']:.1f} until the first batch"
    row("a run over documents that are all done", found["seconds"], "", found["MiB"], told)
    print(f"{count:,} outcomes in batches of {batch}: {size} (with replaced ones)\n")
    print(table(("what", "seconds", "at most", "MiB", ""), rows))


def main() -> None:
    """Runs one measurement in this process, and prints it as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("operation")
    parser.add_argument("given", nargs="*")
    said = parser.parse_args()
    first, *others = said.given
    operations: dict[str, Callable[..., dict[str, Any]]] = {
        "fill": lambda count, batch: fill(Path(first), int(count), int(batch)),
        "resume": lambda count: resume(Path(first), int(count)),
        "again": lambda count: again(Path(first), int(count)),
        "snapshot": lambda count: snapshot(Path(first), int(count)),
        "commits": lambda few, batch: commits(Path(first), Path(few), int(batch)),
    }
    found = operations[said.operation](*others)
    print(json.dumps(found | {"MiB": _peak()}))


if __name__ == "__main__":
    main()
