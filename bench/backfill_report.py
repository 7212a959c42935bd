"""Measures the cost of a backfill of one field for the model, beside a full run with the new version of the schema.

    python -m bench.backfill_report
    python -m bench.backfill_report --kinds event --documents 8

The schemas are those of the library with 13 fields, and their last field is the new one: the samples are read with the
12 others, then the new field is filled. The report is a Markdown table of the slots asked over all score passes, and of
the seconds of the model, which are those of encode, rows and score.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.mixture import marked
from bench.reporting import machine, table

# The engine must set up its environment before torch is loaded (engine/__init__.py).
from cinnabar.engine.engine import Engine
from cinnabar.engine.model import Canvas, Model, Row, Scores
from cinnabar.engine.models.encodings import CachingModel
from cinnabar.extraction.filling.model_sources import ENCODINGS, ModelSource, RunPlace, model_source
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.backfill.backfill import begin_backfill
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.schemas import SchemaSource, load_schema
from cinnabar.schemas.form.form import Form

import torch  # isort: skip

#: Schemas of the library with 13 fields.
KINDS = ("event", "invoice")
SAMPLES = Path(__file__).resolve().parent.parent / "data" / "samples"


@dataclass(slots=True)
class Work:
    """The work of a run: passages read, slots asked over all score passes, seconds of the model."""

    documents: int
    read: int
    slots: int
    seconds: float


class Measured:
    """The model with its work counted; the seconds are processor time of one thread."""

    def __init__(self, source: ModelSource) -> None:
        self._source = source
        self.fingerprint, self.least_batch, self.notice = source.fingerprint, 1, source.notice
        self.read = self.slots = 0
        self.seconds = 0.0

    def filler(self, effort: str, steps: int | None, place: RunPlace | None = None) -> Engine:
        """An engine whose model is measured."""
        engine = self._source.filler(effort, steps, place)
        engine.model = _Counted(engine.model, self)
        return engine

    def work(self, documents: int) -> Work:
        """The work since the last call."""
        found = Work(documents, self.read, self.slots, self.seconds)
        self.read, self.slots, self.seconds = 0, 0, 0.0
        return found


class _Counted:
    """A model with its calls counted; everything else is passed on to the model."""

    def __init__(self, model: Model, count: Measured) -> None:
        self._model, self._count = model, count

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begin = time.thread_time()
        yield
        self._count.seconds += time.thread_time() - begin

    def encode(self, passages: Sequence[Any]) -> list[Any]:
        kept = self._model.encodings if isinstance(self._model, CachingModel) else None
        found = kept.found if kept else 0
        with self._timed():
            memories = self._model.encode(passages)
        self._count.read += len(passages) - (kept.found - found if kept else 0)
        return memories

    def find_rows(self, forms: Sequence[Form], memories: Sequence[Any]) -> list[list[Row]]:
        with self._timed():
            return self._model.find_rows(forms, memories)

    def score(
        self, forms: Sequence[Form], memories: Sequence[Any], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        self._count.slots += canvas.known.count(False)
        with self._timed():
            return self._model.score(forms, memories, rows, canvas)


def without_last(source: SchemaSource) -> SchemaSource:
    """The version of this schema without its last field."""
    assert isinstance(source.schema, dict)
    (*names, last) = source.schema["properties"]
    properties = {name: source.schema["properties"][name] for name in names}
    required = [name for name in source.schema.get("required", []) if name != last]
    return load_schema(source.schema | {"title": source.name, "properties": properties, "required": required})


def measure(kind: str, model: ModelSource, root: Path, documents: int) -> dict[str, Work]:
    """A full run over `documents` samples of this kind, and backfills with and without stored encodings."""
    source = load_schema(kind)
    assert isinstance(source.schema, dict)
    new = load_schema(source.schema | {"title": kind})
    docs = root / "docs"
    docs.mkdir(parents=True)
    samples = sorted((SAMPLES / kind / "docs").iterdir())
    for number in range(documents):
        path = samples[number % len(samples)]
        copy = docs / f"{number:05}{path.suffix}"
        copy.write_bytes(marked(path.read_bytes(), path.suffix, number))
    options = RunOptions(workers=2, on_missing="guess")
    keeping, reading = Measured(model), Measured(replace(model, encodings=0))
    extract([docs], without_last(new), root / "out", keeping, options)
    shutil.copytree(root / "out", root / "bare", ignore=shutil.ignore_patterns(ENCODINGS))
    keeping.work(0)
    found = {"full run": reading.work(extract([docs], new, root / "full", reading, options).written)}
    for what, out, by in (
        ("backfill", "out", keeping),
        ("backfill, no encodings stored", "bare", reading),
    ):
        with begin_backfill(Assignment(new, by, options), root / out).run as begun:
            found[what] = by.work(begun.work_through().written)
    return found


def report(kinds: Sequence[str], model: ModelSource, documents: int) -> Iterator[str]:
    """The lines of the report."""
    rows = []
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            works = measure(kind, model, Path(folder), documents)
        full = works["full run"]
        for what, work in works.items():
            shares = f"{work.slots / full.slots:.1%}", f"{work.seconds / full.seconds:.1%}"
            figures = str(work.documents), str(work.read), str(work.slots), shares[0]
            rows.append((f"{kind}: {what}", *figures, f"{work.seconds:.2f}", shares[1]))
    yield table(
        ("run", "records", "passages read", "slots asked", "share", "seconds of the model", "share"), rows
    )


def main() -> None:
    """Runs the measurements that the command line asks for."""
    p = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    p.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    p.add_argument("--documents", type=int, default=24, help="documents of each kind, copies of the samples")
    a = p.parse_args()
    torch.set_num_threads(1)
    model = model_source("default", "cpu")
    assert isinstance(model, ModelSource)
    print(machine(model.load()))
    for text in report(a.kinds, model, a.documents):
        print(text)


if __name__ == "__main__":
    main()
