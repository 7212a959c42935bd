"""Publishes a folder as a copy in an object store that readers see whole, and copies it back for them.

A copy has `manifests/00000042.json`, of which the highest number counts, and the files that it names, in `data/` by
their SHA-256. Nothing there is ever changed. A store creates a manifest only if there is none of that number: that
decides who commits. A writer reads the newest manifest first and the folder afterwards. If another writer commits
meanwhile, its own manifest is refused, and it begins again. So nobody undoes newer content, however late they write,
and there is no lease to expire.

A manifest notes since when objects are named by none, and after a day a writer that has committed removes them. No
manifest names them again: a writer takes an object that is not noted, else it uploads the content under a new key.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Literal

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore
from pydantic import BaseModel, Field

from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.files import failures, write_bytes
from cinnabar.extraction.store.sinks.object_store import InStore, check_store, open_store, told
from cinnabar.extraction.store.sinks.sink import Delivered, Position, check_follows
from cinnabar.extraction.store.sinks.tables import views_of
from cinnabar.schemas.automata.cache import cache_folder
from cinnabar.schemas.errors import RunError, UsageError

_MANIFESTS, _DATA = "manifests", "data"
#: Seconds that files which the newest manifest does not name stay for readers, and for writers under way.
GRACE = 86_400.0
# Names in a manifest are followed only if Cinnabar gives such names.
_Path = Annotated[str, Field(pattern=r"^[a-z]+(/[A-Za-z0-9_]{1,61}){0,2}/[A-Za-z0-9-]+\.(json|parquet)$")]
_Key = Annotated[str, Field(pattern=rf"^{_DATA}/[0-9a-f]{{64}}-[0-9a-f]{{8}}$")]
_OURS = re.compile(rf"{_MANIFESTS}/\d{{8}}\.json|{_DATA}/[0-9a-f]{{64}}-[0-9a-f]{{8}}")
# How often a writer begins again because another one has committed.
_TRIES = 20
# Files that are sent at a time.
_AT_ONCE = 8


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
        return f"{_MANIFESTS}/{self.number:08d}.json"


def _keys_in(store: ObjectStore, folder: str) -> list[str]:
    """Returns the keys of our objects in a folder of the store, in order."""
    keys = (one["path"] for some in obstore.list(store, folder) for one in some)
    return sorted(filter(_OURS.fullmatch, keys))


def _sha256_in(key: str) -> str:
    """Returns the SHA-256 in the key of an object in `data/`."""
    return key.removeprefix(f"{_DATA}/").partition("-")[0]


def _newest(store: ObjectStore) -> PublishedManifest | None:
    """Returns the manifest that counts, None if there is none yet. Raises RunError if it is no manifest of ours."""
    while there := _keys_in(store, _MANIFESTS):
        with suppress(FileNotFoundError):  # swept since it was listed: there is a newer one
            data = bytes(obstore.get(store, there[-1]).bytes())
            try:
                return PublishedManifest.model_validate_json(data)
            except ValueError as error:
                told_of = " ".join(str(error).split())[:300]
                raise RunError(f"{there[-1]}: expected a manifest of this version of Cinnabar: {told_of}") from error
    return None


class PublishedCopy(InStore):
    """A copy of a folder in an object store, `s3://BUCKET/PREFIX`, or in a folder, `file:///FOLDER`."""

    def __init__(self, address: str) -> None:
        super().__init__(address, address)

    def bring(self, out: Path) -> Delivered:
        """Publishes the folder; see `Sink`."""
        try:
            for _ in range(_TRIES):
                if (sent := self._published(out)) is not None:
                    return Delivered(self.address, sent, "file")
        except (BaseError, OSError) as error:
            raise RunError(f"{self.address}: could not be published: {told(error)}") from error
        raise RunError(f"{self.address}: others published {_TRIES} times meanwhile")

    def _published(self, out: Path) -> int | None:
        """Publishes the folder once, and returns how many files were sent; None if another writer was faster."""
        now = check_store(self._store, self.address).timestamp()
        # In this order: what the newest manifest does not note, nobody removes before there is a newer one, and the
        # folder is read as it is at least since then.
        head = _newest(self._store)
        dropped = {} if head is None else head.dropped
        there = _keys_in(self._store, _DATA)
        expired = [key for key in there if now - dropped.get(key, now) > GRACE]
        with views_of(out) as views:
            check_follows(self.address, None if head is None else head.position, views.position, views.runs)
            # What is to be removed asks for a new manifest, after which no writer can still want it.
            if head is not None and head.position == views.position and not expired:
                return 0
            if (paths := _paths(out, views.position.batch)) is None:
                return None
            known = {_sha256_in(key): key for key in there if key not in dropped}
            files = self._uploaded(out, paths, known)
        named = {*files.values()}
        manifest = PublishedManifest(
            number=1 if head is None else head.number + 1,
            id=secrets.token_hex(8),
            position=views.position,
            files=files,
            dropped={key: dropped.get(key, now) for key in there if key not in named},
        )
        # A store may have created it, and its answer was lost. A number that was removed can be created again: newer
        # ones count. So what is there now tells who has committed.
        with suppress(AlreadyExistsError):
            obstore.put(self._store, manifest.name, manifest.model_dump_json(indent=2).encode(), mode="create")
        if (last := _newest(self._store)) is None or last.id != manifest.id:
            return None
        old = [name for name in _keys_in(self._store, _MANIFESTS) if head is not None and name < head.name]
        if gone := [*old, *expired]:
            with suppress(FileNotFoundError):  # another writer was faster
                obstore.delete(self._store, gone)
        return len(named - {*known.values()})

    def _uploaded(self, out: Path, paths: Mapping[str, str | None], known: Mapping[str, str]) -> dict[str, str]:
        """Returns the keys of these files after all were sent; `known` are objects by their content."""

        def upload(path: str) -> str:
            with (out / path).open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            if paths[path] not in (None, digest):
                raise RunError(f"{out / path}: its bytes have changed; `cinnabar verify` sets its batch aside")
            if digest in known:
                return known[digest]
            obstore.put(self._store, new := f"{_DATA}/{digest}-{secrets.token_hex(4)}", out / path)
            return new

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return dict(zip(paths, pool.map(upload, paths), strict=True))


def _paths(out: Path, batch: int) -> dict[str, str | None] | None:
    """Returns the files of the commits up to this one and of their schemas, with the SHA-256 of those that have one.

    None if there are newer commits.
    """
    committed = manifests.read_live(out)
    if max((entry.number for entry in committed), default=0) != batch:
        return None
    paths: dict[str, str | None] = {}
    for entry in committed:
        paths |= {file.path: file.sha256 for file in entry.files}
        paths[f"{manifests.FOLDER}/{entry.name}.json"] = None
        schema = f"schemas/{entry.schema_fingerprint}.json"
        if (out / schema).is_file():
            paths[schema] = None
    return paths


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
            if (manifest := _newest(store)) is None:
                raise UsageError(f"{address}: nothing is published there")
            with failures(f"{address}: could not be copied"):
                for path, key in manifest.files.items():
                    _fetch(store, key, cache / _sha256_in(key), folder / path)
        except BaseError as error:
            raise RunError(f"{address}: could not be read: {told(error)}") from error
        for cached in cache.glob("*"):
            with suppress(FileNotFoundError):  # another reader was faster
                if time.time() - cached.stat().st_mtime > GRACE:
                    cached.unlink()
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
