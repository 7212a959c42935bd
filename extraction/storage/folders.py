"""The folders that runs were started from: where relative paths of documents are looked for again.

They stand beside the tables and in none, for where somebody's files lie is no business of who is handed a
table. They are kept relative to the output folder, so that both may move together.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from cinnabar.extraction.storage.files import failures, write_bytes

FILE = "folders.json"
#: Folders that are kept, those of the latest runs.
KEPT = 50


def remember(out: Path, folder: Path) -> None:
    """Keep this folder as the one that the latest run was started from. Raises RunError."""
    found = os.path.relpath(os.path.realpath(folder), os.path.realpath(out))
    before = _stored(out)
    if before[:1] != [found]:
        kept = [found, *(one for one in before if one != found)][:KEPT]
        with failures(f"{out}: the folder that the run was started from could not be stored"):
            write_bytes(out / FILE, json.dumps({"started_from": kept}, indent=2).encode() + b"\n")


def remembered(out: Path) -> list[Path]:
    """The folders that runs were started from, the latest first, by absolute paths."""
    # Not by what lies on the way, which may have moved, or be a link by now.
    return [Path(os.path.normpath(Path(os.path.realpath(out)) / one)) for one in _stored(out)]


def _stored(out: Path) -> list[str]:
    # It only helps to find things again: what is no such file says nothing.
    try:
        found = json.loads((out / FILE).read_bytes())["started_from"]
        return [one for one in found if isinstance(one, str)]
    except (OSError, ValueError, KeyError, TypeError):
        return []
