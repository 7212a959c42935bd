"""Measures the effect of fine-tuning on a few documents of a set on its other documents, as a Markdown table.

    .venv/bin/python -m bench.fine_tune_report ../shared/data/sroie --documents 20

`--documents` documents of each set are drawn (`--seed` draws others) and given to fine-tuning as a set of their own; it
holds some of them back for itself. `--others` documents that it never saw are scored with the base and with the new
model. Seconds are those of the whole fine-tuning, on the machine as it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from cinnabar.engine.engine import Engine
from cinnabar.engine.models.loading import load_model
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.pipeline import Job
from cinnabar.extraction.quality.evaluation import EvaluationSet, load_set
from cinnabar.extraction.quality.fine_tuning import FineTuning, fine_tune
from cinnabar.extraction.quality.predicting import predict
from cinnabar.extraction.records.validation import Validator
from cinnabar.schemas import compile_schema, load_schema

COLUMNS = (
    "set",
    "documents",
    "measured on",
    "F1 before",
    "F1 after",
    "seconds",
    "CPU seconds",
    "steps",
    "MB",
)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--others", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--steps", type=int, default=None, help="the most steps, instead of minutes")
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    asked = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    means: list[tuple[float, float]] = []
    for path in asked.sets:
        before, after, row = _row(load_set(path), asked)
        means.append((before, after))
        print(f"| {' | '.join(row)} |", flush=True)
    if len(means) > 1:
        before, after = (sum(column) / len(means) for column in zip(*means, strict=True))
        print(f"| mean | | | {before:.3f} | {after:.3f} |{' |' * 4}")


def _row(labelled: EvaluationSet, asked: argparse.Namespace) -> tuple[float, float, Sequence[str]]:
    names = [line["file"] for line in labelled.truths]
    order = sorted(names, key=lambda name: hashlib.sha256(f"{asked.seed}:{name}".encode()).digest())
    if len(order) < asked.documents + 1:
        sys.exit(f"{labelled.name}: expected more than {asked.documents} documents, found {len(order)}")
    few = order[: asked.documents]
    others = labelled.select(order[asked.documents :][-asked.others :])
    steps = 0

    def report(row: dict[str, float]) -> None:
        nonlocal steps
        steps = int(row["step"])
        if "held_back" in row:
            told = f"{labelled.name}: step {steps}, {row['minutes']:.1f} minutes, F1 {row['held_back']:.3f}"
            print(told, file=sys.stderr)

    with tempfile.TemporaryDirectory() as folder:
        own, out = Path(folder) / labelled.name, Path(folder) / "model"
        _copy(labelled, few, own)
        begun, busy = time.monotonic(), sum(os.times()[:4])
        settings = FineTuning(asked.minutes, steps=asked.steps)
        done = fine_tune([own], asked.model, out, settings, asked.device, report)
        seconds, busy = time.monotonic() - begun, sum(os.times()[:4]) - busy
        before = _f1(others, asked.model, asked.device)
        after = _f1(others, out, asked.device) if done.kept else before
    row = (
        labelled.name, str(len(few)), str(len(others.truths)), f"{before:.3f}",
        f"{after:.3f}" if done.kept else "not kept", f"{seconds:.0f}", f"{busy:.0f}", str(steps),
        f"{done.size / 1e6:.1f}",
    )  # fmt: skip
    return before, after, row


def _copy(labelled: EvaluationSet, files: Sequence[str], into: Path) -> None:
    """Copies these documents of a set, with their truth, to a set of their own."""
    for file in ("schema.json", *files):
        (into / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(labelled.folder / file, into / file)
    lines = [line for line in labelled.truths if line["file"] in set(files)]
    (into / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    if (labelled.folder / "score.json").exists():
        shutil.copyfile(labelled.folder / "score.json", into / "score.json")


def _f1(labelled: EvaluationSet, model: str | Path, device: str) -> float:
    source = load_schema(labelled.folder / "schema.json")
    engine = Engine(load_model(model, device))
    job = Job(compile_schema(source.schema), engine, Validator(source), "guess")
    with ParserPool(2) as pool:
        return float(labelled.score(predict(labelled, job, pool))["f1"])


if __name__ == "__main__":
    main()
