"""A review of an output folder in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.review_server import served


@dataclass
class Served:
    """A running review: its folder, and the address that it printed."""

    out: Path
    address: str


@contextmanager
def review_of(out: Path) -> Iterator[Served]:
    """Yields the review of this folder, which ends with the block."""
    with served(out, "Grace") as address:
        assert address.startswith("http://127.0.0.1:"), address
        yield Served(out, address)
