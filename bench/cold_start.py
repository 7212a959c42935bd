"""Measures one document from a cold start: processes that begin with nothing in memory.

    python -m bench cold_start

A start with a new schema has an empty cache folder, one with a kept schema the folder that the start before it filled.
Starts of both kinds and of `import torch` alone take turns, so that other work on the machine falls on all alike.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.mixed_volume import SAMPLES
from bench.reporting import table

#: The document, of the sample set of invoices.
DOCUMENT = Path("invoice") / "docs" / "INV-0098_JuniperVale.pdf"
#: Starts of each kind.
STARTS = 5
_CINNABAR = "from cinnabar.apps.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds of one process by the clock, and of processors with the processes that it started."""

    seconds: float
    work: float


def started(command: Sequence[str], environment: dict[str, str]) -> Start:
    """Runs a command to its end."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Start(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def cold_starts(document: Path, count: int = STARTS) -> dict[str, list[Start]]:
    """The starts with a new schema, with a kept one, and those of torch alone."""
    found: dict[str, list[Start]] = {"schema new": [], "schema kept": [], "`import torch` alone": []}
    new, kept, torch = found.values()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory(prefix="cinnabar-") as place:
        for turn in range(count + 1):
            own = environment | {"CINNABAR_CACHE": str(Path(place) / f"cache-{turn}")}
            for kind, out in (new, "new"), (kept, "kept"):
                said = ["extract", str(document), "--schema", "invoice", "--out", f"{place}/{out}-{turn}", "--json"]
                kind.append(started([sys.executable, "-c", _CINNABAR, *said], own))
            torch.append(started([sys.executable, "-c", "import torch"], own))
    # The first turn brings files into the memory of the system, and compiles Python's modules.
    return {kind: starts[1:] for kind, starts in found.items()}


def main() -> None:
    """Prints the table."""
    found = cold_starts(SAMPLES / DOCUMENT)
    rows = [
        (kind, f"{median(one.seconds for one in starts):.2f}", f"{median(one.work for one in starts):.2f}")
        for kind, starts in found.items()
    ]
    print(table((f"{DOCUMENT.name}, medians of {STARTS}", "seconds", "processor seconds, parser included"), rows))


if __name__ == "__main__":
    main()
