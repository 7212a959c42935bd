"""Publishes a folder as a copy in an object store that readers see whole: its data first, then one numbered manifest.

The manifest with the highest number counts, and a store creates it only if there is none of that number: that decides
who commits. A writer reads the newest manifest first and the folder afterwards. If another writer commits meanwhile,
its own manifest is refused, and it begins again. So nobody undoes newer content, however late they write, and there is
no lease to expire.

A manifest notes since when objects are named by none, and after a day a writer that has committed removes them. No
manifest names them again: a writer takes an object that is not noted, else it uploads the content under a new key.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError

from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.sinks.object_store import check_store, open_store, told
from cinnabar.extraction.store.sinks.published import (
    DATA,
    GRACE,
    MANIFESTS,
    PublishedManifest,
    keys_in,
    newest,
    sha256_in,
)
from cinnabar.extraction.store.sinks.sink import Delivered, check_follows
from cinnabar.extraction.store.sinks.tables import views_of
from cinnabar.schemas.errors import RunError

# How often a writer begins again because another one has committed.
_TRIES = 20
# Files that are sent at a time.
_AT_ONCE = 8


class PublishedCopy:
    """A copy of a folder in an object store, `s3://BUCKET/PREFIX`, or in a folder, `file:///FOLDER`.

    Raises UsageError if the address is wrong.
    """

    def __init__(self, address: str) -> None:
        self._store, self.address = open_store(address), address

    def check(self) -> None:
        """Raises UsageError if the store cannot be written to, or has no create-if-absent."""
        check_store(self._store, self.address)

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
        head = newest(self._store)
        dropped = {} if head is None else head.dropped
        there = keys_in(self._store, DATA)
        expired = [key for key in there if now - dropped.get(key, now) > GRACE]
        with views_of(out) as views:
            check_follows(self.address, head and head.position, views.position, views.runs)
            # What is to be removed asks for a new manifest, after which no writer can still want it.
            if head is not None and head.position == views.position and not expired:
                return 0
            if (paths := _paths(out, views.position.batch)) is None:
                return None
            known = {sha256_in(key): key for key in there if key not in dropped}
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
        if (last := newest(self._store)) is None or last.id != manifest.id:
            return None
        old = [name for name in keys_in(self._store, MANIFESTS) if head is not None and name < head.name]
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
            obstore.put(self._store, new := f"{DATA}/{digest}-{secrets.token_hex(4)}", out / path)
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
