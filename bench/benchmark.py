"""Measures the speed of each stage.

    python -m bench.benchmark --documents 2000
    python -m bench.benchmark --parts cold

It prints tables in Markdown, below a line on the machine. Each stage is timed by itself, one
after the other; a real run parses while it fills. With a GPU the times of encode, rows and score are those of
launching them, and their time on the device shows in the next stage that waits for it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.cold_start import cold_report
from bench.mixture import MixedDocument, mixed_documents
from bench.rates import FIELDS, TOKENS, rate
from bench.reporting import machine
from bench.timing import throughput

# Torch comes with the engine, which must set up its environment before (engine/__init__.py).
from cinnabar.engine.model import Model
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.errors import UsageError

#: The parts that are measured only if the command line names them.
APART = ("cold",)


def rate_report(model: Model, effort: str) -> Iterator[str]:
    """The speed of whole fills and of the encoder alone, on one core."""
    found = rate(model, effort)
    fields = len(FIELDS["properties"])
    yield f"## {found.documents} documents of {TOKENS} tokens, {fields} fields, effort {effort}"
    yield (
        f"{found.filled:.1f} documents/s, {found.encoded:.1f} by the encoder alone, ratio "
        f"{found.filled / found.encoded:.2f}; {found.steps} steps (median)."
    )
    yield (
        f"{found.multiplied:.1f} by the matrix products alone, share {found.filled / found.multiplied:.2f}; "
        f"{found.calls:.0f} torch calls a document; {found.same} of {found.documents} records are the same alone, "
        "together and in another order."
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the measurements that the command line asks for, and prints each when it is done."""
    parts: dict[str, Callable[[], Iterator[str]]] = {
        "throughput": lambda: throughput(model, documents(), a.effort, a.workers),
        "cold": lambda: cold_report(a.samples),
        "rate": lambda: rate_report(model, a.effort),
    }
    p = argparse.ArgumentParser(
        prog="python -m bench.benchmark", description=(__doc__ or "").split("\n")[0]
    )
    p.add_argument("--parts", nargs="+", choices=parts, default=[part for part in parts if part not in APART])
    p.add_argument("--documents", type=int, default=2000, help="mixed documents of `throughput`")
    p.add_argument("--samples", type=Path, default=Path("data/samples"), help="folder of the sample sets")
    p.add_argument("--model", default="default")
    p.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    p.add_argument("--effort", default="medium")
    p.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="parser processes")
    p.add_argument("--threads", type=int, help="threads of torch; its own choice if not given")
    a = p.parse_args(arguments)
    if a.threads:
        import torch

        torch.set_num_threads(a.threads)

    def documents() -> list[MixedDocument]:
        return list(mixed_documents(a.samples, a.documents))

    try:
        model = load_model(a.model, a.device)
        print(machine(model))
        for part in a.parts:
            for text in parts[part]():
                print(f"\n{text}", flush=True)
    except UsageError as problem:
        raise SystemExit(f"benchmark: {problem}") from None


if __name__ == "__main__":
    main()
