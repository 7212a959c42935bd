"""The manifests of a published copy, and a local copy of what the newest one names, for readers.

A published copy has `manifests/00000042.json`, of which the highest number counts, and the files that it names, in
`data/` by their SHA-256. Nothing there is ever changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import obstore
import orjson
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from cinnabar.extraction.store.files import failures, write_bytes
from cinnabar.extraction.store.sinks.object_store import open_store, told
from cinnabar.extraction.store.sinks.sink import Position
from cinnabar.schemas.automata.cache import cache_folder
from cinnabar.schemas.errors import RunError, UsageError

MANIFESTS, DATA = "manifests", "data"
_FORMAT = 1
_NAME = re.compile(rf"{MANIFESTS}/(\d{{8}})\.json")
# Names in a manifest are followed only if Cinnabar gives such names.
_PATH = re.compile(r"[a-z]+(/[A-Za-z0-9_]{1,61}){0,2}/[A-Za-z0-9-]+\.(json|parquet)")
_KEY = re.compile(rf"{DATA}/([0-9a-f]{{64}})-[0-9a-f]{{8}}")
# Seconds that files in the cache of a reader stay which the newest manifest does not name.
_KEPT = 86_400.0


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file of the folder by its path (posix), the key of its object, and its bytes."""

    path: str
    key: str
    bytes: int

    @property
    def sha256(self) -> str:
        """Returns the digest of the content, which the key begins with."""
        return sha256_in(self.key)


@dataclass(frozen=True, slots=True)
class PublishedManifest:
    """One state of the copy: its number, who made it (`id`, new each time), where the folder stood, and its files."""

    number: int
    id: str
    position: Position
    files: tuple[PublishedFile, ...]

    def content(self) -> bytes:
        """Returns the JSON of this manifest."""
        return orjson.dumps({"format": _FORMAT, **asdict(self)}, option=orjson.OPT_INDENT_2) + b"\n"


def sha256_in(key: str) -> str:
    """Returns the SHA-256 in the key of an object. Raises ValueError if it is no key of ours."""
    if (match := _KEY.fullmatch(key)) is None:
        raise ValueError(f"expected a key of Cinnabar, got {key[:120]!r}")
    return match[1]


def manifest_name(number: int) -> str:
    """Returns the key of a manifest; keys sort like numbers."""
    return f"{MANIFESTS}/{number:08d}.json"


def numbers(store: ObjectStore) -> dict[int, float]:
    """Returns the numbers of the manifests with the time of each, in seconds, in order."""
    found = {}
    for one in (one for some in obstore.list(store, MANIFESTS) for one in some):
        if match := _NAME.fullmatch(one["path"]):
            found[int(match[1])] = one["last_modified"].timestamp()
    return dict(sorted(found.items()))


def read_manifest(store: ObjectStore, number: int) -> PublishedManifest:
    """Returns the manifest with this number. Raises FileNotFoundError if it has gone, RunError if it is no manifest."""
    name = manifest_name(number)
    data = bytes(obstore.get(store, name).bytes())
    try:
        content = orjson.loads(data)
        if content.pop("format") != _FORMAT:
            raise UsageError(f"{name}: written by another version of Cinnabar")
        files = tuple(PublishedFile(**one) for one in content["files"])
        for file in files:
            sha256_in(file.key)
            if not _PATH.fullmatch(file.path):
                raise ValueError(f"expected a path of Cinnabar, got {file.path[:120]!r}")
        return PublishedManifest(content["number"], content["id"], Position(**content["position"]), files)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RunError(f"{name}: expected a manifest of Cinnabar, got something else ({error})") from error


def newest(store: ObjectStore) -> PublishedManifest | None:
    """Returns the manifest that counts, None if there is none yet."""
    while there := numbers(store):
        with suppress(FileNotFoundError):  # swept since it was listed: there is a newer one
            return read_manifest(store, max(there))
    return None


@contextmanager
def local_copy(address: str) -> Iterator[Path]:
    """Yields a folder with the results of a published copy, which goes afterwards.

    Files come once into a cache, by their digest. Raises UsageError if nothing is published there, RunError if a file
    cannot be fetched or is not what its digest says.
    """
    store, base = open_store(address), cache_folder()
    with tempfile.TemporaryDirectory(prefix="cinnabar-") as temporary:
        named = hashlib.sha256(address.encode()).hexdigest()[:16]
        cache = (Path(temporary) if base is None else base) / "published" / named
        folder = Path(temporary) / "results"
        try:
            manifest = newest(store)
            if manifest is None:
                raise UsageError(f"{address}: nothing is published there")
            with failures(f"{address}: could not be copied"):
                for file in manifest.files:
                    _link(_fetched(store, file, cache), folder / file.path)
        except BaseError as error:
            raise RunError(f"{address}: could not be read: {told(error)}") from error
        _prune(cache, {file.sha256 for file in manifest.files})
        yield folder


def _fetched(store: ObjectStore, file: PublishedFile, cache: Path) -> Path:
    """Returns the file in the cache with this content."""
    path = cache / file.sha256
    if not path.is_file() or path.stat().st_size != file.bytes:
        data = bytes(obstore.get(store, file.key).bytes())
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise RunError(f"{file.key}: its bytes are not those of its SHA-256; publish the folder elsewhere anew")
        write_bytes(path, data)
    return path


def _link(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, to)
    except OSError:  # another file system, or one without links
        shutil.copyfile(path, to)


def _prune(cache: Path, named: set[str]) -> None:
    """Removes what the manifest does not name and no reader has fetched for a day."""
    for path in cache.iterdir():
        with suppress(FileNotFoundError):
            if path.name not in named and time.time() - path.stat().st_mtime > _KEPT:
                path.unlink()
