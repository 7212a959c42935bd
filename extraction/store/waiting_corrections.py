"""The folder of corrections that wait for their commit (`extraction/corrections/journal.py` writes and reads them)."""

from __future__ import annotations

import re
from pathlib import Path

#: The folder within an output folder, and that of corrections that could not be stored.
WAITING, UNSTORED = "waiting", "aside/corrections"
_NAME = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{8}\.json", re.ASCII)


def waiting_files(out: Path) -> list[Path]:
    """Returns the files of waiting corrections, oldest first."""
    return _files(out / WAITING)


def files_aside(out: Path) -> list[Path]:
    """Returns the files of corrections that could not be stored, oldest first."""
    return _files(out / UNSTORED)


def _files(folder: Path) -> list[Path]:
    # A pipe in a folder from elsewhere is no file: who reads it waits for ever.
    there = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in there if _NAME.fullmatch(path.name) and path.is_file())
