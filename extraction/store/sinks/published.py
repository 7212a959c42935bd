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
from pathlib import Path
from typing import Annotated, Literal

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore
from pydantic import BaseModel, Field

from cinnabar.extraction.store.files import failures, write_bytes
from cinnabar.extraction.store.sinks.object_store import open_store, told
from cinnabar.extraction.store.sinks.sink import Position
from cinnabar.schemas.automata.cache import cache_folder
from cinnabar.schemas.errors import RunError, UsageError

MANIFESTS, DATA = "manifests", "data"
#: Seconds that files which the newest manifest does not name stay for readers, and for writers under way.
GRACE = 86_400.0
# Names in a manifest are followed only if Cinnabar gives such names.
_Path = Annotated[str, Field(pattern=r"^[a-z]+(/[A-Za-z0-9_]{1,61}){0,2}/[A-Za-z0-9-]+\.(json|parquet)$")]
_Key = Annotated[str, Field(pattern=rf"^{DATA}/[0-9a-f]{{64}}-[0-9a-f]{{8}}$")]
_OURS = re.compile(rf"{MANIFESTS}/\d{{8}}\.json|{DATA}/[0-9a-f]{{64}}-[0-9a-f]{{8}}")


class PublishedManifest(BaseModel, frozen=True):
    """One state of the copy: its number, who made it (`id`, new each time), and where the folder stood.

    `files` has the key of each file of the folder by its path (posix), `dropped` the objects that are none of these,
    with the seconds of the epoch, in the store's time, when a manifest was the first not to name them.
    """

    format: Literal[1] = 1
    number: int
    id: str
    position: Position
    files: dict[_Path, _Key]
    dropped: dict[_Key, float]

    @property
    def name(self) -> str:
        """Returns its key; keys sort like numbers."""
        return f"{MANIFESTS}/{self.number:08d}.json"


def keys_in(store: ObjectStore, folder: str) -> list[str]:
    """Returns the keys of our objects in a folder of the store, in order."""
    keys = (one["path"] for some in obstore.list(store, folder) for one in some)
    return sorted(filter(_OURS.fullmatch, keys))


def sha256_in(key: str) -> str:
    """Returns the SHA-256 in the key of an object in `data/`."""
    return key.removeprefix(f"{DATA}/").partition("-")[0]


def newest(store: ObjectStore) -> PublishedManifest | None:
    """Returns the manifest that counts, None if there is none yet. Raises RunError if it is no manifest of ours."""
    while there := keys_in(store, MANIFESTS):
        with suppress(FileNotFoundError):  # swept since it was listed: there is a newer one
            data = bytes(obstore.get(store, there[-1]).bytes())
            try:
                return PublishedManifest.model_validate_json(data)
            except ValueError as error:
                told_of = " ".join(str(error).split())[:300]
                raise RunError(f"{there[-1]}: expected a manifest of this version of Cinnabar: {told_of}") from error
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
            if (manifest := newest(store)) is None:
                raise UsageError(f"{address}: nothing is published there")
            with failures(f"{address}: could not be copied"):
                for path, key in manifest.files.items():
                    _fetch(store, key, cache / sha256_in(key), folder / path)
        except BaseError as error:
            raise RunError(f"{address}: could not be read: {told(error)}") from error
        for path in cache.glob("*"):
            with suppress(FileNotFoundError):  # another reader was faster
                if time.time() - path.stat().st_mtime > GRACE:
                    path.unlink()
        yield folder


def _fetch(store: ObjectStore, key: str, cached: Path, to: Path) -> None:
    """Puts the content of an object at a path, from the cache if it is there."""
    if not cached.is_file():
        data = bytes(obstore.get(store, key).bytes())
        if hashlib.sha256(data).hexdigest() != cached.name:
            raise RunError(f"{key}: its bytes are not those of its SHA-256; publish the folder elsewhere anew")
        write_bytes(cached, data)
    os.utime(cached)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(cached, to)
