"""Results of benches as JSON files in `bench/results/`, one for each bench: its latest figures and where they are from.

`make results` writes docs/results.md from them (`bench/results_page.py`).
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: what was measured, what was wanted of it, and what came."""

    what: str
    wanted: str
    got: str
    #: Whether the figure misses what was wanted.
    missed: bool = False
    #: The commit, where it is not that of the result.
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The latest result of one bench."""

    title: str
    #: The command that prints the figures, run in a checkout.
    command: str
    #: The day of the measurement, as in ISO 8601.
    date: str
    machine: str
    precision: str
    commit: str
    rows: tuple[Row, ...]
    #: What a reader must know beside the figures; may be empty.
    note: str = ""


def processor() -> str:
    """The name of the processor."""
    names = list[str]()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def commit() -> str:
    """The commit of the checkout, with `-dirty` if its files differ from it; `unknown` outside of one."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def record(
    name: str,
    title: str,
    command: str,
    rows: Sequence[Row],
    *,
    precision: str,
    note: str = "",
    folder: Path = RESULTS,
) -> Path:
    """Writes the result of a bench in place of its last one, with today's date, this machine and this commit."""
    busy = f", load {os.getloadavg()[0]:.0f}" if hasattr(os, "getloadavg") else ""
    machine = f"{processor()}, {os.cpu_count()} cores{busy}"
    result = Result(title, command, date.today().isoformat(), machine, precision, commit(), tuple(rows), note)
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(asdict(result), indent=2, ensure_ascii=False) + "\n", "utf-8")
    return path


def recorded(folder: Path = RESULTS) -> dict[str, Result]:
    """All results by the names of their files, in the order of the names."""
    results = dict[str, Result]()
    for path in sorted(folder.glob("*.json")):
        members = json.loads(path.read_text("utf-8"))
        results[path.stem] = Result(**members | {"rows": tuple(Row(**row) for row in members["rows"])})
    return results
