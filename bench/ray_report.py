"""Measures the speed of a Ray cluster of this machine's processors, beside one process with as many threads.

    python -m bench.ray_report
    python -m bench.ray_report --documents 40 --rounds 1

Mixed documents are read with one schema, by one process with N threads and by N engines of Ray's with one thread each,
in turn. Parsing, filling and committing are timed; starting and the first batches are not. The report is a Markdown
table of documents/s, with their ratio at the end, which should be at least 0.9.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from bench.mixture import mixed_documents
from bench.reporting import machine, table
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.model_sources import ModelSource, model_source
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.cluster.connection import Cluster, join_cluster
from cinnabar.extraction.run.cluster.supervisor import Supervisor
from cinnabar.extraction.run.extract import begin_extraction

# The engine must set up its environment before torch is loaded (engine/__init__.py).
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.schemas import SchemaSource, load_schema

import torch  # isort: skip

SAMPLES = Path(__file__).resolve().parent.parent / "data" / "samples"
#: The documents of a batch; few, so that one engine waits only briefly for the other at the end.
BATCH = 4
WANTED = 0.9


def seconds(
    docs: Path, source: SchemaSource, out: Path, model: ModelSource, warm: int, cluster: Cluster | None
) -> float:
    """The seconds of all batches except the first `warm` ones, which find parsers and engines cold."""
    options = RunOptions(workers=2, batch=BATCH, on_missing="guess")
    with begin_extraction(Assignment(source, model, options), [docs], out) as extraction:
        if cluster is None:
            for number in range(warm):
                extraction.work(number)
            begin = time.perf_counter()
            for number in range(warm, len(extraction.batches)):
                extraction.work(number)
            took = time.perf_counter() - begin
        else:
            with Supervisor(cluster, extraction.assignment, extraction.attempts) as supervisor:
                for _, batch in supervisor.fill(extraction.batches[:warm]):
                    extraction.commit(batch)
                begin = time.perf_counter()
                for _, batch in supervisor.fill(extraction.batches[warm:]):
                    extraction.commit(batch)
                took = time.perf_counter() - begin
        extraction.finish()
    return took


def main() -> None:
    """Measures both ways and prints the report."""
    p = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    p.add_argument("--documents", type=int, default=120, help="documents that are timed")
    p.add_argument("--engines", type=int, default=2, help="engines of Ray's, and threads of the one process")
    p.add_argument("--rounds", type=int, default=3, help="times that both are measured, in turn")
    p.add_argument("--schema", default="receipt", help="schema of all documents")
    a = p.parse_args()
    if min(a.documents, a.engines, a.rounds) < 1:
        raise UsageError("--documents, --engines, --rounds: expected at least 1")
    found = model_source("default", "cpu")
    assert isinstance(found, ModelSource)
    # A cluster keeps no encodings, so the one process keeps none either.
    model, source = replace(found, encodings=0), load_schema(a.schema)
    torch.set_num_threads(a.engines)
    print(machine(model.load()), flush=True)
    # Two batches for each engine ensure that each has had its first.
    warm = 2 * a.engines
    rates: dict[str, list[float]] = {"one process": [], "Ray": []}
    run = Assignment(source, model)
    with tempfile.TemporaryDirectory() as folder, join_cluster("local", run, processors=a.engines) as cluster:
        docs = Path(folder) / "docs"
        docs.mkdir()
        for document in mixed_documents(SAMPLES, a.documents + warm * BATCH):
            (docs / document.name).write_bytes(document.data)
        for number in range(a.rounds):
            for way, to in (("one process", None), ("Ray", cluster)):
                out = Path(folder) / f"{way} {number}"
                took = seconds(docs, source, out, model, warm, to)
                rates[way].append(a.documents / took)
                print(f"{way}: {a.documents} documents in {took:.1f} s", flush=True)
    rows = [
        (f"{way}, {how}", *(f"{rate:.2f}" for rate in rates[way]), f"{median(rates[way]):.2f}")
        for way, how in (("one process", f"{a.engines} threads"), ("Ray", f"{a.engines} engines of 1 thread"))
    ]
    head = ("documents/s", *(f"round {number + 1}" for number in range(a.rounds)), "median")
    print(table(head, rows))
    ratio = median(rates["Ray"]) / median(rates["one process"])
    print(f"Ratio {ratio:.2f}, wanted at least {WANTED:g}.")


if __name__ == "__main__":
    main()
