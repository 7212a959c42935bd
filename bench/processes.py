"""The processes below a process, and the time and memory of a watched one."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


def children(pid: int) -> Iterator[int]:
    """The processes below this one, at any depth."""
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from children(child)


@dataclass(frozen=True, slots=True)
class Watched:
    """A run: its seconds, its processor seconds, and the most bytes of memory held with its children and alone.

    Pages that processes share count once in `peak`.
    """

    seconds: float
    work: float
    peak: int
    main: int


def resident(pid: int) -> int:
    """The bytes of memory that a process holds; 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def proportional(pid: int) -> int:
    """The bytes of memory that a process holds, of pages that n processes share an n-th; 0 if it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def watch(command: list[str], log: Path) -> Watched:
    """Runs a command to its end. Raises SystemExit with its last lines if it fails."""
    begin, peak, most = time.perf_counter(), 0, 0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("wb") as said:
        run = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        while run.poll() is None:
            most = max(most, resident(run.pid))
            peak = max(peak, sum(map(proportional, {run.pid, *children(run.pid)})))
            time.sleep(0.2)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)}\nended with {run.returncode}:\n{log.read_text()[-3000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Watched(time.perf_counter() - begin, work, peak, most)
