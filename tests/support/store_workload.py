"""Batches to store, and processes that die while they store them or read beside the writer.

`store_workload kill ROOT` runs once for each rename of a run: in ROOT/<point> a process dies before that rename. It
prints the number of points.

`store_workload write OUT` commits batches for ever.

`store_workload read OUT` polls the snapshot until its standard input is closed, and prints the states that it saw.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path

import duckdb

from cinnabar.extraction.documents.content.document import Box, Evidence, Span
from cinnabar.extraction.run import stored_run
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store.records import DocumentInfo, LeafRow, Outcome, Record
from cinnabar.extraction.store.store import Store
from cinnabar.schemas import compile_schema, load_schema

SCHEMA = {
    "title": "note",
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["name", "size"],
}
ENGINE = "engine-1"


def written(path, record=None, content=None, confidence=0.75):
    """A written outcome; without given content the document's bytes are its path."""
    digest = hashlib.sha256((content or path).encode("utf-8", "surrogateescape")).hexdigest()
    record = {"name": path, "size": len(path)} if record is None else record
    evidence = Evidence((Span(3, 8), Span(9, 12)), "as it stands", (Box(2, 1, 2, 3, 4), Box(2, 1, 5, 3, 7)))
    text = record if isinstance(record, str) else json.dumps(record)
    leaves = tuple(
        LeafRow(f"/{name}", json.dumps(value), confidence, "copied", evidence=evidence, page=2)
        for name, value in (record.items() if isinstance(record, dict) else ())
        if not isinstance(value, dict | list)
    )
    document = DocumentInfo(digest, "text/plain", 12, 0, 1, 12, ("repaired",))
    return Outcome(path, "written", digest=digest, document=document, record=Record(text, leaves, confidence))


def begin(store, schema=SCHEMA, engine=ENGINE, **options):
    """Begin a run with this schema."""
    source = load_schema(schema)
    return Run(store, source, compile_schema(source.schema), engine, {"effort": "low"}, **options)


def batches():
    """Two batches of three outcomes each."""
    names = [f"{i}.txt" for i in range(5)]
    rows = [written(name) for name in names]
    return [[*rows[:2], Outcome("broken.pdf", "quarantined", "not_pdf", digest="f" * 64)], rows[2:]]


def work(out):
    """Do the whole run; a second one does the work that the first left."""
    with Store.open(out) as store:
        run = begin(store, inputs=[outcome.path for batch in batches() for outcome in batch])
        for batch in batches():
            run.commit_batch(
                [
                    o if not run.done(o.digest) else Outcome(o.path, "skipped", "done", digest=o.digest)
                    for o in batch
                ]
            )
        return run.finish()


def _kill(root):
    replace = os.replace
    renames = 0

    def counted(*paths):
        nonlocal renames
        renames += 1
        replace(*paths)

    os.replace = counted
    stored_run.PUBLISH_EVERY = 1000.0  # the first run on a busy machine would publish once more than the others
    work(root / "whole")
    for point in range(renames):
        child = os.fork()
        if child == 0:
            _die_at(replace, point)
            work(root / str(point))
            os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
    print(renames)


def _die_at(replace, point):
    seen = 0

    def deadly(*paths):
        nonlocal seen
        if seen == point:
            os.kill(os.getpid(), signal.SIGKILL)
        replace(*paths)
        seen += 1

    os.replace = deadly


def _write(out):
    with Store.open(out) as store:
        run = begin(store)
        print("began", flush=True)
        for number in range(10**9):
            run.commit_batch([written(f"{os.getpid()}-{number}-{i}.txt") for i in range(3)])


def _read(out):
    seen, reads, wrong = 0, 0, []
    while not select.select([sys.stdin], [], [], 0)[0]:
        try:
            with duckdb.connect(str(out / "cinnabar.duckdb"), read_only=True) as connection:
                query = (
                    "SELECT (SELECT count(*) FROM note), (SELECT count(*) FROM documents),"
                    " (SELECT count(*) FROM outcomes), (SELECT count(*) FROM fields)"
                )
                notes, documents, outcomes, fields = connection.execute(query).fetchone()
        except duckdb.Error as error:
            wrong.append(str(error))
            continue
        if not notes == documents == outcomes == fields // 2 or notes < seen:
            wrong.append(f"{notes} {documents} {outcomes} {fields} after {seen}")
        seen, reads = notes, reads + 1
        time.sleep(0.01)
    print(json.dumps({"reads": reads, "seen": seen, "wrong": wrong}))


if __name__ == "__main__":
    os.fsync = lambda _: None  # the kernel keeps the data of a killed process
    {"kill": _kill, "write": _write, "read": _read}[sys.argv[1]](Path(sys.argv[2]))
