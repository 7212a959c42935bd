"""Measures runs over a folder whose documents are finished: one with nothing new, and one with ten new documents.

    python -m bench volume_report
    python -m bench volume_report --documents 100
    python -m bench volume_report --stored 1000000
    python -m bench volume_report --mixed --engines auto

The documents are delivery notes of some fifty words, drawn by a seed, and the model is the reader. `cinnabar extract`
reads them all; then it is called over them `TURNS` times with nothing new, and as often with ten more each time, in
processes of its own. The report has the median of the turns: seconds, those of processors (on a machine that does other
work, go by these), and memory. An input without an outcome, or with two, ends the report. With `--stored` it measures
a folder with so many stored outcomes instead (`bench/stored_volume.py`), and with `--mixed` runs over sample documents
(`bench/mixed_volume.py`).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from bench import mixed_volume, stored_volume
from bench.processes import watch
from bench.reporting import table
from cinnabar.extraction.store.reading import connect

SCHEMA = {
    "title": "note",
    "type": "object",
    "properties": {
        "carrier": {"type": ["string", "null"], "description": "Who carries the goods."},
        "parcels": {"type": ["integer", "null"], "description": "How many parcels."},
        "day": {"type": ["string", "null"], "format": "date", "description": "Day of the delivery."},
    },
    "required": ["carrier", "parcels", "day"],
}
CARRIERS = ("Nordfracht", "Hansa Express", "Kurier Lind", "Trans Alpina", "Petersen & Sons", "Blue Line")
#: Calls of each kind, and the new documents of a call that has some.
TURNS, NEW = 3, 10


def write_notes(docs: Path, numbers: Iterable[int]) -> None:
    """Writes delivery notes, each unlike all others."""
    docs.mkdir(exist_ok=True)
    for number in numbers:
        chance = random.Random(number)
        day = f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        text = (
            f"Delivery note {number:06}\n\nCarrier: {chance.choice(CARRIERS)}\n"
            f"Parcels: {chance.randint(1, 90)}\nDay: {day}\n\n"
            f"The goods were handed over in good order at gate {chance.randint(1, 40)}.\n"
            f"Driver: {chance.choice('ABCDEFGH')}. {chance.choice(CARRIERS)}\n"
            f"Please sign and send this note back to the office in the week of the delivery.\n"
        )
        (docs / f"{number:06}.txt").write_text(text)


def report(count: int, engines: str, root: Path) -> None:
    """Reads the documents, measures the runs over them, and prints the report."""
    docs, out = root / "docs", root / "out"
    (root / "note.json").write_text(json.dumps(SCHEMA))
    command = [
        *(sys.executable, "-m", "cinnabar.apps.cli.main", "extract", str(docs), "--out", str(out)),
        *("--schema", str(root / "note.json"), "--model", "reader", "--on", "missing=guess", "--engines", engines),
    ]
    rows: list[Sequence[str]] = []
    known = 0
    for what, new, turns in ((f"all {count:,}", count, 1), ("nothing new", 0, TURNS), (f"{NEW} new", NEW, TURNS)):
        runs = []
        for _ in range(turns):
            write_notes(docs, range(known, known + new))
            known += new
            runs.append(watch(command, root / "log"))
            with connect(out) as tables:
                found = tables.execute("SELECT path FROM outcomes WHERE outcome <> 'skipped'").fetchall()
            if len(found) != known or len(set(found)) != known:
                raise SystemExit(f"expected one outcome for each of {known} documents, got {len(found)}")
        taken = median(run.seconds for run in runs), median(run.work for run in runs)
        rows.append((what, *(f"{one:.1f}" for one in taken), f"{max(run.peak for run in runs) / 2**20:.0f}"))
        print(*rows[-1], file=sys.stderr, flush=True)
    print(table(("a run over", "seconds", "of processors", "MiB"), rows))


def main() -> None:
    """Measures the runs and prints the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--documents", type=int, help="1,000 of them, and of mixed ones 10,000, without it")
    parser.add_argument("--stored", type=int, metavar="N", help="a folder with N stored outcomes instead")
    parser.add_argument("--mixed", action="store_true", help="mixed sample documents instead")
    parser.add_argument("--batch", type=int, default=64, help="documents in a batch of them")
    parser.add_argument("--engines", default="1", help="engine processes of the command, or auto")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if said.stored is not None:
            stored_volume.report(said.stored, said.batch, Path(folder))
        elif said.mixed:
            mixed_volume.report(said.documents or 10_000, said.engines, Path(folder))
        else:
            report(said.documents or 1_000, said.engines, Path(folder))


if __name__ == "__main__":
    main()
