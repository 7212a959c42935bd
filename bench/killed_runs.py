"""Runs in processes of their own: some are killed, some lose their parsers, and two share a folder.

    python -m bench.killed_runs DOCS OUT BATCH     one run, as `python -m bench fault_loop` starts it
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bench.compared_runs import differences, in_child, make_documents, rows_of, run_once
from bench.processes import children
from cinnabar.errors import UsageError
from cinnabar.extraction.store.reading import connect


def start_run(docs: Path, out: Path, batch: int) -> subprocess.Popen[bytes]:
    """Starts the run as a process of its own, with parser workers."""
    program = [sys.executable, "-m", "bench.killed_runs", str(docs), str(out), str(batch)]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def random_kills(root: Path, documents: int, kills: int, seed: int = 0, tell: bool = False) -> list[str]:
    """Kills one run after another at random moments, all over one folder, until one ends; returns the problems."""
    docs = make_documents(root / "docs", documents)
    began = time.monotonic()
    with start_run(docs, root / "whole", 4) as whole:
        _, error = whole.communicate()
    if whole.returncode:
        return [f"the undisturbed run failed: {error.decode()}"]
    length = time.monotonic() - began
    expected = rows_of(root / "whole")
    chance = random.Random(seed)
    out, died = root / "killed", 0
    while died < kills:
        with start_run(docs, out, 4) as run:
            # Each run continues where the last one died, so the moments are spread over the remaining work.
            with suppress(subprocess.TimeoutExpired):
                run.wait(timeout=length * chance.uniform(0.15, 1.0))
            run.kill()
            run.communicate()
        if run.returncode == -signal.SIGKILL:
            died += 1
        elif run.returncode == 0:  # The run ended before its kill; the next one gets another folder.
            if wrong := differences(out, expected):
                return wrong
            out = root / f"killed-{died}"
    with start_run(docs, out, 4) as run:
        _, error = run.communicate()
    if run.returncode:
        return [f"the last run failed: {error.decode()}"]
    if tell:
        print(f"{documents} documents, {died} kills at random moments of a run of {length:.1f} s")
    return differences(out, expected)


def two_at_once(root: Path, documents: int) -> list[str]:
    """Starts two runs over the same folder: one must win, the other must say so in one line; returns the problems."""
    docs = make_documents(root / "docs", documents)
    expected_status = {0, 2}
    first, second = start_run(docs, root / "both", 2), start_run(docs, root / "both", 2)
    said = [run.communicate()[1].decode() for run in (first, second)]
    wrong = []
    statuses = [first.returncode, second.returncode]
    if set(statuses) - expected_status or 0 not in statuses:
        wrong.append(f"expected one run to win and the other to have status 2 or nothing to do, got {statuses}")
    for status, line in zip(statuses, said, strict=True):
        if status == 2 and ("another run is writing here" not in line or len(line.splitlines()) != 1):
            wrong.append(f"expected one clear line, got {line!r}")
    if in_child(lambda: run_once(docs, root / "whole", 2)):
        wrong.append("the undisturbed run failed")
    return wrong + differences(root / "both", rows_of(root / "whole"))


def worker_kills(root: Path, documents: int, kills: int, seed: int = 0, tell: bool = False) -> list[str]:
    """Kills parsers of a run at random moments; returns the problems.

    A fresh parser reads a document whose parser died. If that parser dies as well, the outcome is `worker_died`;
    every other row must be that of an undisturbed run, whatever read it.
    """
    docs = make_documents(root / "docs", documents)
    with start_run(docs, root / "whole", 4) as whole:
        whole.communicate()
    expected = rows_of(root / "whole", read_by=False)
    chance = random.Random(seed)
    died, lost, turn = 0, 0, 0
    wrong: list[str] = []
    while died < kills and not wrong:
        out, turn = root / f"turn-{turn}", turn + 1
        with start_run(docs, out, 4) as run:
            while run.poll() is None and died < kills:
                # The wait lets parsers start on a busy machine too: five deaths of starting parsers end a run.
                time.sleep(chance.uniform(0.5, 1.5))
                parsers = list(parsers_of(run.pid))
                if parsers:
                    with suppress(ProcessLookupError):
                        os.kill(chance.choice(parsers), signal.SIGKILL)
                        died += 1
            _, error = run.communicate()
        if run.returncode:
            wrong.append(f"a run of which only parsers were killed failed: {error.decode()}")
            continue
        rows = rows_of(out, read_by=False)
        with connect(out) as tables:
            sql = "SELECT path FROM outcomes WHERE code = 'worker_died'"
            given_up = {path for (path,) in tables.execute(sql).fetchall()}
        lost += len(given_up)
        if len(rows["outcomes"]) != len(expected["outcomes"]):
            wrong.append(f"{len(rows['outcomes'])} outcomes, expected {len(expected['outcomes'])}")
        for name in rows:
            others = [row for row in rows[name] if row not in expected[name] and not _of(row, given_up)]
            wrong += [f"{name}: {row} is new" for row in others]
        if not given_up:
            wrong += differences(out, expected, read_by=False)
    if tell:
        print(f"{documents} documents, {died} kills of parsers in {turn} runs: {lost} documents given up")
    return wrong


def _of(row: tuple[object, ...], paths: set[str]) -> bool:
    cells = [inner for cell in row for inner in (cell if isinstance(cell, list) else [cell])]
    return any(isinstance(cell, str) and cell in paths for cell in cells)


def parsers_of(pid: int) -> Iterator[int]:
    """The parser workers below this process."""
    for child in children(pid):
        with suppress(OSError):
            if b"processes.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                yield child


def one_run(docs: Path, out: Path, batch: int) -> int:
    """Does a run with parser workers, as the command does; returns its exit status."""
    try:
        run_once(docs, out, batch)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(one_run(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
