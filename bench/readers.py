"""Measures twenty processes that query a folder once a second, while another commits to it every second.

Each reader opens the snapshot as an analyst does, asks, and closes. It must see whole batches, never fewer than before,
and be at most 5 seconds behind the commits. Half-way another run begins.

    python -m bench readers
    python -m bench readers --readers 4 --seconds 10
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

# A reader loads DuckDB only.
if TYPE_CHECKING:
    from cinnabar.extraction.store.records import Outcome

SCHEMA = {
    "title": "note",
    "type": "object",
    "properties": {"at": {"type": "number"}, "number": {"type": "integer"}},
    "required": ["at", "number"],
}
#: The records of a batch.
SIZE = 5
#: A reader's query: the rows of each table, which whole batches make agree, and the newest batch.
QUESTION = (
    "SELECT (SELECT count(*) FROM note), (SELECT count(*) FROM documents), (SELECT count(*) FROM outcomes"
    " WHERE outcome = 'written'), (SELECT count(*) // 2 FROM fields),"
    " (SELECT coalesce(max(number), -1) FROM note)"
)


def written(number: int, part: int, now: float) -> Outcome:
    """A record that holds the time and the number of its commit."""
    from cinnabar.extraction.store.records import DocumentInfo, LeafRow, Outcome, Record

    digest = f"{number:032x}{part:032x}"
    text = json.dumps({"at": now, "number": number})
    leaves = (LeafRow("/at", json.dumps(now), 1.0, "copied"), LeafRow("/number", str(number), 1.0, "copied"))
    info = DocumentInfo(digest, "text/plain", 1, 0, 1, 1)
    path = f"{number}-{part}.txt"
    return Outcome(path, "written", digest=digest, document=info, record=Record(text, leaves, 1.0))


def write(out: Path, seconds: float) -> dict[str, Any]:
    """Commits a batch every second until there is a file `stop`; returns the time of each commit.

    After half of the time a new run begins.
    """
    from cinnabar.extraction.run.stored_run import Run
    from cinnabar.extraction.store.store import Store
    from cinnabar.schemas import compile_schema, load_schema

    source = load_schema(SCHEMA)
    compiled = compile_schema(source.schema)
    commits: list[float] = []
    for length in (seconds / 2, float("inf")):
        with Store.open(out) as store:
            run = Run(store, source, compiled, "engine", {})
            store.publish()
            (out / "begun").touch()
            end = time.time() + length
            while time.time() < end and not (out / "stop").exists():
                began = time.time()
                run.commit_batch([written(len(commits), part, began) for part in range(SIZE)])
                commits.append(time.time())
                time.sleep(max(0.0, began + 1 - time.time()))
            run.finish()
    return {"commits": commits}


def read(out: Path, seconds: float, log: Path) -> dict[str, Any]:
    """Queries once a second; returns the errors, the newest batch seen at each time, and the query times."""
    seen: list[tuple[float, int]] = []
    wrong: list[str] = []
    took: list[float] = []
    last = 0
    end = time.time() + seconds
    while time.time() < end:
        began = time.time()
        try:
            with duckdb.connect(str(out / "cinnabar.duckdb"), read_only=True) as connection:
                notes, documents, outcomes, fields, newest = connection.execute(QUESTION).fetchone() or ()
        except duckdb.Error as error:
            wrong.append(str(error))
        else:
            if not notes == documents == outcomes == fields == SIZE * (newest + 1) or notes < last:
                wrong.append(f"{notes} records, {documents} documents, {outcomes} outcomes, {fields} after {last}")
            last = notes
            seen.append((began, newest))
            took.append(time.time() - began)
        time.sleep(max(0.0, began + 1 - time.time()))
    found = {"seen": seen, "wrong": wrong, "took": took}
    log.write_text(json.dumps(found))
    return found


def measure(root: Path, readers: int, seconds: float) -> dict[str, Any]:
    """Runs readers beside a writer; returns the queries, the errors, and the greatest age of an answer in seconds."""
    out = root / "out"
    out.mkdir()
    program = [sys.executable, __file__, "--folder", str(root), "--seconds", str(seconds)]
    with subprocess.Popen([*program, "--role", "write"], stdout=subprocess.PIPE, text=True) as writer:
        while not (out / "begun").exists() and writer.poll() is None:
            time.sleep(0.05)
        asking = [subprocess.Popen([*program, "--role", f"read-{number}"]) for number in range(readers)]
        for reader in asking:
            reader.wait()
        (out / "stop").touch()
        said, _ = writer.communicate()
    commits: list[float] = json.loads(said)["commits"]
    found = [json.loads((root / f"read-{number}").read_text()) for number in range(readers)]
    ages = [age for one in found for at, newest in one["seen"] if (age := _age(commits, at, newest)) is not None]
    took = sorted(time for one in found for time in one["took"])
    return {
        "readers": readers,
        "seconds": seconds,
        "commits": len(commits),
        "queries": len(took),
        "errors": [what for one in found for what in one["wrong"]],
        "oldest": round(max(ages, default=0.0), 2),
        "median_ms": round(1000 * took[len(took) // 2]) if took else None,
    }


def _age(commits: Sequence[float], at: float, newest: int) -> float | None:
    """The age, when the query was asked, of the first commit that its answer does not show."""
    missed = [made for made in commits[newest + 1 :] if made <= at]
    return at - missed[0] if missed else 0.0


def main() -> int:
    """Measures, or acts as one of the processes; returns 1 if a reader met an error or saw an answer too old."""
    parser = argparse.ArgumentParser(description="Readers beside a writer.")
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--role", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.role == "write":
        print(json.dumps(write(said.folder / "out", said.seconds)))
        return 0
    if said.role:
        read(said.folder / "out", said.seconds, said.folder / said.role)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), said.readers, said.seconds)
    print(json.dumps(found))
    return 1 if found["errors"] or found["oldest"] > 5 else 0


if __name__ == "__main__":
    sys.exit(main())
