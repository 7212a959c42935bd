"""Measures the time of the stages of a run over mixed documents."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.mixture import MixedDocument
from bench.reporting import peak_memory, table
from cinnabar.engine.engine import Engine
from cinnabar.engine.model import Model
from cinnabar.engine.work_time import time_stage
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.extraction.filling.records.validation import RecordViolation, Validator
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store.store import Store
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.library import LIBRARY

#: The documents that are filled together.
BATCH = 16
ENGINE_STAGES = ("encode", "rows", "score", "commit")


class Clock:
    """Seconds spent in each stage so far."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Counts the seconds of the block for this stage."""
        with time_stage(self.seconds, stage):
            yield


class TimedValidator(Validator):
    """The validator of records, with its time counted."""

    clock: Clock

    def check(self, record_text: str) -> list[RecordViolation]:
        """Checks as `Validator` does."""
        with self.clock.time("validate"):
            return super().check(record_text)


def throughput(model: Model, documents: Sequence[MixedDocument], effort: str, workers: int) -> Iterator[str]:
    """The documents/s of each stage over these documents."""
    clock = Clock()
    engine = Engine(model, effort)
    outcomes: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        paths = [root / "documents" / document.kind / document.name for document in documents]
        for document, path in zip(documents, paths, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(document.data)
        with ParserPool(workers) as pool:
            list(pool.parse_many(paths[: 2 * workers]))  # This warms up the workers.
            with clock.time("ingest"):
                parsed = [found for _, found in pool.parse_many(paths)]
        reads = {kind: list[OpenedInput]() for kind in LIBRARY}
        for document, path, found in zip(documents, paths, parsed, strict=True):
            digest = hashlib.sha256(document.data).hexdigest()
            reads[document.kind].append(OpenedInput(str(path), digest, found))
        done = 0
        for kind, all_of_kind in reads.items():
            source = load_schema(kind)
            compiled = compile_schema(source.schema)
            validator = TimedValidator(source)
            validator.clock = clock
            job = Job(compiled, engine, validator)
            with Store.open(root / "out") as store:
                run = Run(store, source, compiled, "benchmark", {})
                for start in range(0, len(all_of_kind), BATCH):
                    batch = all_of_kind[start : start + BATCH]
                    with clock.time("all of filling"):
                        filled = run_batch(batch, job)
                    with clock.time("store"):
                        run.commit_batch(filled.outcomes)
                    for outcome in filled.outcomes:
                        ended = " ".join(filter(None, (outcome.status, outcome.code)))
                        outcomes[ended] = outcomes.get(ended, 0) + 1
                    done += len(batch)
                    print(f"\r{done} of {len(documents)} documents", end="", file=sys.stderr, flush=True)
                with clock.time("store"):
                    run.finish()
        print(file=sys.stderr)
    filling = clock.seconds.pop("all of filling")
    stages = {"ingest": clock.seconds["ingest"]} | {name: engine.timings[name] for name in ENGINE_STAGES}
    stages["validate"] = clock.seconds.get("validate", 0.0)
    stages["cut, merge, evidence"] = filling - sum(engine.timings.values()) - stages["validate"]
    stages["store"] = clock.seconds["store"]
    total = sum(stages.values())
    yield f"## {len(documents)} documents by stage, effort {effort}, {workers} parsers"
    yield ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
    rows = [(name, f"{s:.2f}", f"{len(documents) / s:.1f}", f"{s / total:.1%}") for name, s in stages.items()]
    rows.append(("all, one after the other", f"{total:.2f}", f"{len(documents) / total:.1f}", "100.0%"))
    yield table(("stage", "seconds", "documents/s", "share"), rows)
    yield f"Peak memory of the main process: {peak_memory()} MiB."
