"""Runs over generated documents, with comparison of their rows, for the loop of faults and the loop of kills.

Every case is a process of its own. For speed it is forked from a process that has loaded everything.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.reading_model import ReadingModel

from cinnabar.errors import CinnabarError, DocumentError
from cinnabar.extraction.documents.content.parse_context import DEFAULT, ParserSettings
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.documents.ingest.sandbox import file_facts
from cinnabar.extraction.filling import batch_reader
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run import stored_run as run
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import connect
from cinnabar.schemas import load_schema

SCHEMA = {
    "title": "note",
    "type": "object",
    "properties": {"name": {"type": "string"}, "total": {"type": ["number", "null"], "multipleOf": 0.01}},
    "required": ["name", "total"],
}
#: The content of the tables about documents, without the run that wrote it.
ROWS = {
    "records": "SELECT * EXCLUDE (run_id) FROM records ORDER BY ALL",
    "note": "SELECT * EXCLUDE (run_id) FROM note ORDER BY ALL",
    "fields": "SELECT * EXCLUDE (run_id) FROM fields ORDER BY ALL",
    "documents": "SELECT * EXCLUDE (run_id) FROM documents ORDER BY ALL",
    "outcomes": "SELECT * EXCLUDE (run_id) FROM outcomes WHERE outcome <> 'skipped' ORDER BY ALL",
}
# What read a row, by the names of its columns: a document whose parser died is read by a careful one, which names none.
_READ_BY = ("engine_fingerprint", "parsers")
#: The exit status of a run that ended with one of Cinnabar's errors.
FAILED = 7


def make_documents(folder: Path, count: int) -> Path:
    """A folder of `count` documents; of every ten one cannot be parsed and one has the bytes of another."""
    folder.mkdir(parents=True)
    for number in range(count):
        path = folder / f"{number:04d}.txt"
        if number % 10 == 3:
            path.with_suffix(".pdf").write_bytes(b"%PDF-1.7\nnothing " + str(number).encode())
        elif number % 10 == 4:
            path.write_text(f"name=N{number - 2}\ntotal={number - 2}.50\n")
        else:
            path.write_text(f"name=N{number}\ntotal={number}.50\n")
    return folder


class Here:
    """Parses in this process instead of the workers, which do not touch the disk."""

    def __init__(
        self, workers: int, *, max_tokens: int | None = None, settings: ParserSettings = DEFAULT, **other: Any
    ) -> None:
        self.workers, self.max_tokens, self.settings, self.other = workers, max_tokens, settings, other

    def parse_many(self, paths: Sequence[Path]) -> list[tuple[Path, Any]]:
        return [(path, self.parse_one(path)) for path in paths]

    def submit(self, path: Path) -> Future[Any]:
        """Parses at once; the future is done."""
        done: Future[Any] = Future()
        done.set_result(self.parse_one(path))
        return done

    def parse_one(self, path: Path) -> Any:
        """Returns the document in a file, or its error."""
        try:
            found = parse(path.read_bytes(), str(path), self.settings)
            return replace(found, facts={**found.facts, **file_facts(path, found.size)})
        except DocumentError as problem:
            return problem

    def close(self) -> None:
        """Does nothing, since there is no worker to end."""


def run_once(docs: Path, out: Path, batch: int = 3) -> None:
    """Does the run under test."""
    model = ReadingModel()
    source = ModelSource(model.fingerprint, lambda: model)
    extract([docs], load_schema(SCHEMA), out, source, RunOptions(workers=1, batch=batch))


def rows_of(out: Path, read_by: bool = True) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of the folder's tables, without run ids and times; with `read_by` also what read each."""
    found = {}
    with connect(out) as connection:
        for name, sql in ROWS.items():
            rows = connection.execute(sql)
            kept = [at for at, column in enumerate(rows.description) if read_by or column[0] not in _READ_BY]
            found[name] = [tuple(row[at] for at in kept) for row in rows.fetchall()]
    return found


def differences(out: Path, expected: dict[str, Any], read_by: bool = True) -> list[str]:
    """The differences between this folder and the expected rows, after `verify --clean`."""
    wrong = []
    for name, rows in rows_of(out, read_by).items():
        lost = [row for row in expected[name] if row not in rows]
        more = [row for row in rows if row not in expected[name]]
        if lost or more or len(rows) != len(expected[name]):
            wrong.append(f"{name}: {len(lost)} lost, {len(more)} others, {len(rows)} of {len(expected[name])}")
    checked = verify(out, clean=True)
    wrong += [f"verify: {problem.path}: {problem.detail}" for problem in checked.problems]
    left = [path for path in out.rglob("*") if ".part-" in path.name] + checked.leftovers
    return wrong + [f"left over: {path}" for path in left]


def read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def in_child(work: Callable[[], None], said: Path | None = None) -> int:
    """Does `work` in a forked process and returns its exit status, below 0 for a signal. `said` gets its error."""
    child = os.fork()
    if child == 0:
        status = FAILED + 1
        try:
            work()
            status = 0
        except CinnabarError as error:
            status = FAILED
            if said is not None:
                said.write_text(f"{type(error).__name__}: {error}")
        except BaseException as error:
            if said is not None:
                said.write_text(f"UNCAUGHT {type(error).__name__}: {error}")
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def prepare() -> None:
    """Loads everything, and makes runs parse in this process."""
    os.fsync = lambda _: None
    # The documents of every case include a PDF without an end.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    batch_reader.ParserPool = Here
    # The snapshot is published after every commit, not by the clock, so every run has the same operations.
    run.PUBLISH_EVERY = 0.0
    import cinnabar.engine.fill.engine
    import cinnabar.extraction.filling.pipeline  # noqa: F401
