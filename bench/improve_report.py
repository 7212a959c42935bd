"""Measures `cinnabar improve`: documents are read, corrected to their truth, and trained on; others are measured.

    .venv/bin/python -m bench.improve_report ../shared/data/design_jobs … --documents 20 --others 30

Of each set `--documents` documents are drawn (`--seed` draws others) and go a user's way: `cinnabar extract` into a new
folder, corrections of what is wrong (with `--browser` through the page), `cinnabar improve`, `--keep`. Then `--others`
documents that were not among them are read with the shipped model and with the kept one. Results are kept in
`runs/improve/`; the same command goes on with the sets that are missing, and a training that was cut goes on as well.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.held_back_report import summary_of
from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector, Refused
from cinnabar.extraction.run.batch.improved_models import kept_model
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, load_set
from cinnabar.schemas import load_schema
from cinnabar.schemas.pointers import escape

KEPT = Path("runs/improve")
COMMAND = (sys.executable, "-m", "cinnabar.apps.cli.main")
#: Who the corrections are from.
REVIEWER = "improve-report"
COLUMNS = {
    "set": "set", "documents": "corrected", "others": "measured on", "before": "F1 before", "after": "F1 after",
    "told_before": "told before", "told_after": "told after", "seconds": "seconds", "cpu": "CPU seconds",
}  # fmt: skip


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--others", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--browser", action="store_true", help="correct through the page, in a headless Chromium")
    asked = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    print(f"| {' | '.join(COLUMNS.values())} |\n|{'---|' * len(COLUMNS)}")
    rows = []
    for folder in asked.sets:
        rows.append(_row(load_set(folder), asked.documents, asked.others, asked.seed, asked.browser))
        print(f"| {' | '.join(_spelled(rows[-1][name]) for name in COLUMNS)} |", flush=True)
    before, after = (sum(row[name] for row in rows) / len(rows) for name in ("before", "after"))
    print(f"mean F1 {before:.3f} before, {after:.3f} after, gain {after - before:+.3f}")


def changes_to(record: Any, truth: Any) -> list[Change]:
    """Returns the changes that make a record its truth, and then accept it as a whole."""
    return [*_differences(record, truth, ""), Change(Action.ACCEPT, "")]


def _differences(record: Any, truth: Any, pointer: str) -> Iterator[Change]:
    if isinstance(record, dict) and isinstance(truth, dict):
        for name in dict.fromkeys([*record, *truth]):
            yield from _differences(record.get(name), truth.get(name), f"{pointer}/{escape(name)}")
    elif record != truth:
        if truth is None:
            yield Change(Action.ABSENT, pointer)
        else:
            yield Change(Action.LIST if isinstance(truth, list) else Action.VALUE, pointer, json.dumps(truth))


def _row(labelled: LabelledSet, documents: int, others: int, seed: int, browser: bool) -> dict[str, Any]:
    work = KEPT / f"{labelled.name}-{documents}-{others}-{seed}{'-browser' if browser else ''}"
    result = work / "result.json"
    if result.is_file():
        return dict(json.loads(result.read_text(encoding="utf-8")))
    names = [line["file"] for line in labelled.truths]
    order = sorted(names, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())
    few, rest = order[:documents], order[documents:][-others:]
    if not rest:
        sys.exit(f"{labelled.name}: expected more than {documents} documents, found {len(order)}")
    out, schema = work / "out", load_schema(labelled.folder / "schema.json")
    if not (work / "corrected").is_file():
        shutil.rmtree(work, ignore_errors=True)
        corrected = _corrected(labelled, few, work, out, schema.name, browser)
        (work / "corrected").write_text(str(corrected), encoding="utf-8")
    begun, busy = time.monotonic(), _busy()
    told = _improved(out, schema.name)
    seconds, cpu = time.monotonic() - begun, _busy() - busy
    _cinnabar("improve", schema.name, "--out", str(out), "--keep", "--no-again")
    current = kept_model(out, schema.name)
    assert current is not None
    measured = labelled.select(rest)
    row = {
        "set": labelled.name,
        "documents": told["documents"],
        "others": len(rest),
        **{at: summary_of(str(one), [measured])["f1"] for at, one in (("before", "default"), ("after", current))},
        "told_before": told["before"],
        "told_after": told["after"],
        "seconds": round(seconds),
        "cpu": round(cpu),
        "told": told,
    }
    result.write_text(json.dumps(row, indent=1), encoding="utf-8")
    return row


def _corrected(
    labelled: LabelledSet, files: Sequence[str], work: Path, out: Path, schema_name: str, browser: bool
) -> int:
    """Reads these documents into `out`, corrects them, and returns how many."""
    inbox = work / "inbox"
    for file in files:
        (inbox / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(labelled.folder / file, inbox / file)
    schema = str(labelled.folder / "schema.json")
    _cinnabar("extract", str(inbox), "--schema", schema, "--out", str(out), "--model", "default")
    if browser:
        asked = (sys.executable, "-m", "bench.scripted_reviewer", str(labelled.folder), "--out", str(out))
        counted = ("--documents", str(len(files)))
        told = subprocess.run([*asked, *counted], check=True, stdout=subprocess.PIPE, text=True).stdout
        print(f"{labelled.name}: {told}", file=sys.stderr)
        return int(json.loads(told)["documents"])
    truths = {line["file"]: line["truth"] for line in labelled.truths}
    corrector, done = Corrector(out), 0
    for file in files:
        digest = hashlib.sha256((inbox / file).read_bytes()).hexdigest()
        try:
            record = corrector.state(digest, schema_name).record
            if record is None:
                raise UsageError("it has no record")
            corrector.correct(digest, schema_name, changes_to(json.loads(record.text), truths[file]), REVIEWER)
            done += 1
        except (Refused, UsageError) as error:
            print(f"{labelled.name}: {file}: not corrected: {error}", file=sys.stderr)
    return done


def _improved(out: Path, schema_name: str) -> dict[str, Any]:
    """Runs `cinnabar improve`, and returns what it tells at its end."""
    asked = [*COMMAND, "improve", schema_name, "--out", str(out), "--events"]
    result: dict[str, Any] = {}
    with subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "result":
                result = event
            else:
                print(f"{event['seconds']:.0f} s: {event['stage']} {event['done']:.0%} {event['f1']}", file=sys.stderr)
    if process.returncode or not result:
        sys.exit(f"{schema_name}: `cinnabar improve` ended with status {process.returncode}")
    return result


def _cinnabar(*arguments: str) -> None:
    subprocess.run([*COMMAND, *arguments], check=True, stdout=subprocess.DEVNULL)


def _busy() -> float:
    """Returns the processor seconds of the processes that this one started and waited for."""
    return sum(os.times()[2:4])


def _spelled(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
