"""The folder of corrections that wait for their commit (`extraction/corrections/journal.py` writes and reads them)."""

from __future__ import annotations

import re
from pathlib import Path

#: The folder within an output folder.
WAITING = "waiting"
_NAME = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{8}\.json")


def waiting_files(out: Path) -> list[Path]:
    """Returns the files of waiting corrections, oldest first."""
    folder = out / WAITING
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name)) if folder.is_dir() else []


def any_waiting(out: Path) -> bool:
    """Returns True if corrections wait for their commit."""
    return bool(waiting_files(out))
