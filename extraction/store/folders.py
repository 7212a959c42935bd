"""Remembers the folders that runs were started from, to find relative paths of documents again.

They are stored beside the tables, because a reader of a table need not know where the user's files lie. They are
relative to the output folder, so that both may move together.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from cinnabar.extraction.store.files import failures, write_bytes

FILE = "folders.json"
#: Most folders that are kept, those of the latest runs.
KEPT = 50


def remember(out: Path, folder: Path) -> None:
    """Stores this folder as the start of the latest run. Raises RunError if it cannot be written."""
    here = os.path.relpath(os.path.realpath(folder), os.path.realpath(out))
    before = _stored(out)
    if before[:1] != [here]:
        kept = [here, *(one for one in before if one != here)][:KEPT]
        with failures(f"{out}: the folder that the run was started from could not be stored"):
            write_bytes(out / FILE, json.dumps({"started_from": kept}, indent=2).encode() + b"\n")


def remembered(out: Path) -> list[Path]:
    """Returns the folders that runs were started from as absolute paths, the latest first."""
    # Normalized without resolving links on the way, which may have moved or appeared since.
    return [Path(os.path.normpath(Path(os.path.realpath(out)) / one)) for one in _stored(out)]


def _stored(out: Path) -> list[str]:
    # The file only helps to find things again, so a broken one counts as empty, and a pipe, which never ends.
    try:
        if not (out / FILE).is_file():
            return []
        stored = json.loads((out / FILE).read_bytes())["started_from"]
        return [one for one in stored if isinstance(one, str)]
    except (OSError, ValueError, KeyError, TypeError):
        return []
