"""Prepared sources of training windows, kept in files so that a run can resume."""

from __future__ import annotations

import pickle
from pathlib import Path

from cinnabar.engine.training.pool import Source


def save_source(source: Source, folder: Path) -> None:
    """Writes a source's passages as a pickle; only files of our own are ever loaded."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f"{source.name}.tmp"
    temporary.write_bytes(pickle.dumps(source, protocol=5))
    temporary.rename(folder / f"{source.name}.pickle")


def load_sources(folder: Path, names: str = "*.pickle") -> list[Source]:
    """Returns all sources of a folder, or those in files of these names, by name."""
    return [pickle.loads(p.read_bytes()) for p in sorted(folder.glob(names))]
