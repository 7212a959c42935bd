"""Checks that a run is exactly once: it is broken at every access to the disk, run again, and compared.

A run over a few documents is made to fail at its first mkdir, open, write, fsync, rename or unlink, then at its second,
and so on until one passes. It fails in five ways: an I/O error, a full disk (from there on every write fails), and
death by kill -9 just before the operation, just after it, or in the middle of a write with half of the bytes on disk.
After each failure the folder is read (whole batches, or none) and the same command is run again. Its rows are compared
with those of an undisturbed run, without run ids and times. Then `verify --clean` must find no problem and leave no
file over.

    python -m bench fault_loop             every case, 20 random kills of a run and 20 of its parsers, two runs at once,
                                           and a clock that jumps
    python -m bench fault_loop --every 9   every ninth case
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench.compared_runs import FAILED, differences, in_child, make_documents, prepare, read, rows_of, run_once
from bench.faulty_disk import Faults
from bench.killed_runs import random_kills, two_at_once, worker_kills
from cinnabar.extraction.store import manifest
from cinnabar.extraction.store.reading import connect


def operations(docs: Path, out: Path) -> list[list[str]]:
    """The operations of an undisturbed run, each as the ways in which it can be broken."""
    counted = out.with_suffix(".count")

    def work() -> None:
        faults = Faults()
        write = Path.write_text
        faults.install()
        run_once(docs, out)
        write(counted, json.dumps(faults.seen))

    status = in_child(work, out.with_suffix(".said"))
    if status:
        raise SystemExit(f"the undisturbed run failed: {out.with_suffix('.said').read_text()}")
    found: list[list[str]] = json.loads(counted.read_text())
    return found


def check_case(docs: Path, out: Path, point: int, way: str, expected: dict[str, Any]) -> list[str]:
    """The problems after a run that was broken at this point in this way, and then run again."""
    said = out.with_suffix(".said")

    def broken() -> None:
        Faults(point, way).install()
        run_once(docs, out)

    wrong = []
    status = in_child(broken, said)
    if way in ("before", "after", "torn"):
        if status not in (-signal.SIGKILL, -signal.SIGXFSZ):
            wrong.append(f"expected it to be killed, got status {status}")
    elif status not in (0, FAILED):
        wrong.append(f"expected one clear error, got status {status}: {read(said)}")
    elif status == FAILED and "\n" in read(said).strip():
        wrong.append(f"expected one line, got {read(said)!r}")
    if found := manifest.live(manifest.read_all(out)):
        manifest.check_files(out, found)
        rows = rows_of(out)
        wrong += [f"{name}: {row} is new" for name in rows for row in rows[name] if row not in expected[name]]
    status = in_child(lambda: run_once(docs, out), said)
    if status:
        return [*wrong, f"the second run failed: {read(said)}"]
    return wrong + differences(out, expected)


def fault_loop(root: Path, documents: int, every: int = 1, first: int = 0, tell: bool = False) -> list[str]:
    """Checks every case, or one of `every`, and returns the problems."""
    docs = make_documents(root / "docs", documents)
    seen = operations(docs, root / "whole")
    expected = rows_of(root / "whole")
    cases = [(point, way) for point, ways in enumerate(seen) for way in ways][first::every]
    wrong, began = [], time.monotonic()
    for number, (point, way) in enumerate(cases):
        out = root / f"{point}-{way}"
        wrong += [f"{way} at operation {point}: {what}" for what in check_case(docs, out, point, way, expected)]
        shutil.rmtree(out, ignore_errors=True)
        if tell and number % 100 == 99:
            print(f"{number + 1} of {len(cases)} cases, {len(wrong)} wrong, {time.monotonic() - began:.0f} s")
    if tell:
        ways = ", ".join(f"{way} {count}" for way, count in Counter(way for _, way in cases).items())
        print(f"{len(seen)} operations, {len(cases)} cases ({ways}): {len(wrong)} wrong")
    return wrong


def jumping_clock(root: Path, documents: int, seed: int = 0) -> list[str]:
    """Does runs under a clock that jumps up to ten years either way at every reading; returns the problems."""
    docs = make_documents(root / "docs", documents)
    real, chance = manifest.now, random.Random(seed)

    def jump() -> None:
        manifest.now = lambda: real() + timedelta(days=chance.uniform(-3650, 3650))

    def broken(point: int) -> None:
        jump()
        Faults(point, "before").install()
        run_once(docs, root / "out")

    def whole(out: Path) -> None:
        jump()
        run_once(docs, out)

    run_status = in_child(lambda: run_once(docs, root / "whole"))
    for point in (20, 50, 80, 110):
        in_child(lambda point=point: broken(point))
    said = root / "said"
    for _ in range(2):
        if run_status or in_child(lambda: whole(root / "out"), said):
            return [f"a run failed: {read(said)}"]
    wrong = differences(root / "out", rows_of(root / "whole"))
    with connect(root / "out") as connection:
        ids = connection.execute("SELECT run_id FROM runs").fetchall()
    if len(ids) != len(set(ids)):
        wrong.append(f"run ids are there twice: {ids}")
    return wrong


def main() -> int:
    """Runs the checks that the arguments ask for; returns 1 if any finds a problem."""
    parser = argparse.ArgumentParser(description="Break a run everywhere, run it again, compare.")
    parser.add_argument("--documents", type=int, default=5, help="documents of each case")
    parser.add_argument("--every", type=int, default=1, help="check one of every N cases")
    parser.add_argument("--kills", type=int, default=20, help="random kills")
    parser.add_argument("--many", type=int, default=300, help="documents of the run that is killed at random")
    parser.add_argument("--seed", type=int, default=0)
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        found = {"random kills": random_kills(root / "kills", said.many, said.kills, said.seed, tell=True)}
        found["kills of parsers"] = worker_kills(root / "parsers", 60, said.kills, said.seed, tell=True)
        found["two runs at once"] = two_at_once(root / "two", 20)
        prepare()
        found["a clock that jumps"] = jumping_clock(root / "clock", said.documents, said.seed)
        found["faults"] = fault_loop(root / "faults", said.documents, said.every, tell=True)
    print(json.dumps({name: len(wrong) for name, wrong in found.items()}))
    for name, wrong in found.items():
        for what in wrong[:20]:
            print(f"{name}: {what}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
