"""A review of an output folder in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Served:
    """A running review: its folder, and the address that it printed."""

    out: Path
    address: str


@contextmanager
def review_of(out: Path) -> Iterator[Served]:
    """Yields the review of this folder, which ends with the block."""
    command = [sys.executable, "-m", "cinnabar.flows.cli.main", "review", "--out", str(out), "--who", "Grace"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = process.stdout.readline().rpartition(" ")[2].strip()
        assert address.startswith("http://127.0.0.1:"), address
        try:
            yield Served(out, address)
        finally:
            process.terminate()
            process.wait(20)
