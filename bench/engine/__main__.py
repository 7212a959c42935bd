"""Measures what the engine over language models must show, as one table in Markdown.

    .venv/bin/python -m bench.engine [--only pages,baseline] [--scale 0.1] [--model FOLDER] [--suites FOLDER]

The model is a small one that was trained on generated pages; it is part of the tests' data. The folder of suites has
`jsonschemabench`; without it the library's schemas take its place. An exit status of 1 says that a figure misses.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.engine import (
    batches,
    constraint_cost,
    graphs,
    states,
    validity,
)
from bench.engine.figures import Measure, Settings
from bench.engine.workload import small_model
from bench.reporting import machine_line, table
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.settings import precision_asked

MODEL = Path("tests") / "data" / "small_diffusion_model"
HEAD = ("what", "wanted", "got", "")


def measures() -> dict[str, Measure]:
    """Returns the measures by name."""
    return {
        "validity": validity.measure,
        "states": states.measure,
        "memory": constraint_cost.measure_memory,
        "share": constraint_cost.measure_share,
        "graphs": graphs.measure,
        "batches": batches.measure,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table as it grows; returns 1 if a figure misses."""
    known = measures()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAMES", help=f"some of {', '.join(known)}")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual numbers of documents")
    parser.add_argument("--model", type=Path, default=MODEL, help="the folder of the small model")
    parser.add_argument("--suites", type=Path, default=Path("../shared/suites"), help="the folder of schema suites")
    told = parser.parse_args(arguments)
    chosen = told.only.split(",") if told.only else list(known)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        parser.error(f"expected some of {', '.join(known)}, got {', '.join(unknown)}")
    settings = Settings(told.model, told.suites, told.scale)
    print(f"{heading(small_model(settings))}\n\n{table(HEAD, [])}", flush=True)
    missed = 0
    for name in chosen:
        begin = time.perf_counter()
        for figure in known[name](settings):
            print("| " + " | ".join(figure.row()) + " |", flush=True)
            missed += figure.kept is False
        print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    return int(missed > 0)


def heading(model: LanguageModel) -> str:
    """Returns date, machine, commit, precision and model."""
    return f"{machine_line(model.decoder.device, model.fingerprint)}, {precision_asked() or 'float32'}"


if __name__ == "__main__":
    sys.exit(main())
