"""Remembers the folders that runs were started from, to find relative paths of documents again.

They are stored beside the tables, because a reader of a table need not know where the user's files lie. They are
relative to the output folder, so that both may move together.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cinnabar.extraction.store.files import failures, write_bytes

FILE = "folders.json"
#: The name of the language model that reads beside the reader in an output folder, from its first run on.
BEGAN = "began_with.json"
#: Most folders that are kept, those of the latest runs.
KEPT = 50


def remember(out: Path, folder: Path, locations: Iterable[str] = ()) -> None:
    """Stores this folder as the start of the latest run, and of its relative `locations` if they are new.

    Raises RunError if it cannot be written.
    """
    here = os.path.relpath(os.path.realpath(folder), os.path.realpath(out))
    folders, begun = before = _read_stored(out)
    kept = [here, *(one for one in folders if one != here)][:KEPT]
    of = dict.fromkeys(locations, here) | begun
    if before != (kept, of):
        with failures(f"{out}: the folder that the run was started from could not be stored"):
            write_bytes(out / FILE, json.dumps({"started_from": kept, "locations": of}, indent=2).encode() + b"\n")


def known_folders(out: Path) -> list[Path]:
    """Returns the folders that runs were started from as absolute paths, the latest first."""
    return [_absolute(out, one) for one in _read_stored(out)[0]]


def starts_of_locations(out: Path) -> dict[str, Path]:
    """Returns the folder, an absolute path, that the first run with each relative location was started from."""
    return {location: _absolute(out, one) for location, one in _read_stored(out)[1].items()}


def _absolute(out: Path, folder: str) -> Path:
    # Normalized without resolving links on the way, which may have moved or appeared since.
    return Path(os.path.normpath(Path(os.path.realpath(out)) / folder))


def _read_stored(out: Path) -> tuple[list[str], dict[str, str]]:
    # The file only helps to find things again, so a broken one counts as empty, and a pipe, which never ends.
    try:
        if not (out / FILE).is_file():
            return [], {}
        stored: dict[str, Any] = json.loads((out / FILE).read_bytes())
        begun = stored.get("locations", {}).items()
        named = {location: one for location, one in begun if isinstance(location, str) and isinstance(one, str)}
        return [one for one in stored["started_from"] if isinstance(one, str)], named
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [], {}


def began_with(out: Path) -> str | None:
    """Returns the language model that this folder's first run had beside the reader, None if it had none."""
    try:
        return str(json.loads((out / BEGAN).read_text(encoding="utf-8"))["model"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_new(out: Path) -> bool:
    """Returns whether no run has begun in this folder."""
    return not out.is_dir() or not any(out.iterdir())


def begin_with(out: Path, model: str) -> None:
    """Keeps the language model of a folder's first run, so that later ones read with it. Raises RunError."""
    if not (out / BEGAN).exists():
        write_bytes(out / BEGAN, json.dumps({"model": model}).encode())
