"""One spelling for each path: that of the first run into an output folder that read there.

`mails/1.txt`, `./mails/1.txt`, `old/../mails/1.txt` and `/data/mails/1.txt` may be one file, so the paths of a later
run are spelled as those of the earlier ones. The folders that runs were started from lie beside the tables, relative to
the output folder, so that both may move together.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cinnabar.extraction.documents.addresses import is_address
from cinnabar.extraction.store.files import failures, write_bytes

# What follows a location in the path of a document: a file in a folder, or a mail in an mbox.
_BELOW = ("/", "#")
#: Asks for the arguments of all runs, the first one first.
ARGUMENTS = "SELECT arguments FROM {runs} ORDER BY run_id"


class Spelling:
    """Spells paths as the runs so far did; callable.

    `earlier` are the locations of these runs, the ones to prefer first, and `folders` those that relative ones may have
    started from; `starts` is the folder of a location if it is known. `here` is the folder that new relative paths
    start from. A relative path that another folder's location has, and still holds, is spelled from that folder.
    """

    def __init__(
        self, earlier: Iterable[str], folders: Sequence[Path], here: Path, starts: Mapping[str, Path] | None = None
    ) -> None:
        self._here, self._starts = here, starts or {}
        self._known: dict[str, str] = {}
        for location in earlier:
            started = [self._starts[location]] if location in self._starts else folders or [here]
            for folder in () if is_address(location) else started:
                self._known.setdefault(_absolute(location, folder), location)

    @classmethod
    def of(cls, out: Path, runs: Iterable[tuple[Any, ...]]) -> Spelling:
        """Returns the spelling of this folder's runs, whose ARGUMENTS are given, for a run from the working folder."""
        return cls(_locations(runs), known_folders(out), Path.cwd(), starts_of_locations(out))

    def learn(self, locations: Iterable[str]) -> None:
        """Takes the locations of a new run into account, after all that are known."""
        for location in locations:
            if not is_address(location):
                self._known.setdefault(_absolute(location, self._here), self(location))

    def __call__(self, path: str) -> str:
        """Returns this path in the known spelling of its location, or else without needless parts."""
        if is_address(path):
            return path
        absolute = _absolute(path, self._here)
        for location, spelled in self._known.items():
            if absolute == location:
                return spelled
            if absolute.startswith(location):
                below = absolute[len(location) :]
                if below.startswith(_BELOW) or location.endswith("/"):
                    return _join(spelled, below)
        plain = _plain(path, self._here)
        for location, folder in self._starts.items():
            same = plain == location or any(plain.startswith(location + sign) for sign in _BELOW)
            same = same or (location == "." and not plain.startswith(("/", "..")))
            if same and absolute != _absolute(plain, folder) and (folder / location).exists():
                return os.path.relpath(absolute, folder)
        return plain


def _join(location: str, below: str) -> str:
    if below.startswith("#"):
        return location + below
    return below.lstrip("/") if location == "." else f"{location.rstrip('/')}/{below.lstrip('/')}"


def _plain(path: str, folder: Path) -> str:
    """Returns the path without `.` and `..`, unless a link on its way gives `..` another meaning."""
    plain = os.path.normpath(path)
    same = ".." not in path or os.path.realpath(folder / path) == os.path.realpath(folder / plain)
    return plain if same else path


def _absolute(path: str, folder: Path) -> str:
    return _plain(str(folder / path), folder)


def _locations(runs: Iterable[tuple[Any, ...]]) -> list[str]:
    """Returns the locations that these runs were given, those of the first run first."""
    locations: dict[str, None] = {}
    for (arguments,) in runs:
        paths = json.loads(arguments or "{}").get("paths")
        locations |= dict.fromkeys(one for one in paths or () if isinstance(one, str))
    return list(locations)


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
    return [_absolute_of_folders(out, one) for one in _read_stored(out)[0]]


def starts_of_locations(out: Path) -> dict[str, Path]:
    """Returns the folder, an absolute path, that the first run with each relative location was started from."""
    return {location: _absolute_of_folders(out, one) for location, one in _read_stored(out)[1].items()}


def _absolute_of_folders(out: Path, folder: str) -> Path:
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
    began = _beginning(out).get("model")
    return None if began is None else str(began)


def began_below(out: Path) -> float | None:
    """Returns the setting of `auto` that a folder began with; None of one that an earlier version began."""
    below = _beginning(out).get("below")
    return float(below) if isinstance(below, (int, float)) else None


def _beginning(out: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((out / BEGAN).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def is_new(out: Path) -> bool:
    """Returns whether no run has begun in this folder."""
    return not out.is_dir() or not any(out.iterdir())


def begin_with(out: Path, model: str, below: float | None = None) -> None:
    """Keeps the language model of a folder's first run and its setting, so that later ones read with them.

    Raises RunError.
    """
    if not (out / BEGAN).exists():
        write_bytes(out / BEGAN, json.dumps({"model": model, "below": below}).encode())
