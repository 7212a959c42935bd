"""Publishes a folder as a copy in an object store that readers see whole: its data first, then one numbered manifest.

The manifest with the highest number counts, and a store creates it only if there is none of that number: that decides
who commits. A writer reads the newest manifest first and the folder afterwards. If another writer commits meanwhile,
its own manifest is refused, and it begins again. So nobody undoes newer content, however late they write, and there is
no lease to expire.

Files that no manifest names go after a day. None of them can come back: a writer takes an object that the newest
manifest does not name only if it is younger than half a day, else it uploads the content under a new key.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore
import pyarrow.parquet as pq
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore

from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.files import reading
from cinnabar.extraction.store.held_snapshots import hold
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.sinks.object_store import check_store, open_store, told
from cinnabar.extraction.store.sinks.published import (
    DATA,
    PublishedFile,
    PublishedManifest,
    manifest_name,
    newest,
    numbers,
    read_manifest,
    sha256_in,
)
from cinnabar.extraction.store.sinks.sink import Delivered, Position, check_follows
from cinnabar.schemas.errors import RunError, UsageError

#: Seconds that replaced manifests, and files that none names, stay for readers and for writers under way.
GRACE = 86_400.0
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
                if (done := self._published(out)) is not None:
                    return done
        except (BaseError, OSError) as error:
            raise RunError(f"{self.address}: could not be published: {told(error)}") from error
        raise RunError(f"{self.address}: others published {_TRIES} times meanwhile")

    def _published(self, out: Path) -> Delivered | None:
        """Publishes the folder once; None if another writer was faster, or files of the folder have gone meanwhile."""
        now = check_store(self._store, self.address).timestamp()
        # In this order: the folder is read as it is at least since the newest manifest.
        there = _listed(self._store)
        head = newest(self._store)
        committed = manifests.read_live(out)
        if not committed:
            raise UsageError(f"{out}: the folder holds no results of Cinnabar; name the --out folder of a run")
        batch = max(entry.number for entry in committed)
        with hold(out, batch):
            try:
                runs = _runs(out, committed)
                position = Position(batch, max(runs, default=""))
                check_follows(self.address, None if head is None else head.position, position, runs)
                # What is to be swept asks for a new manifest, after which no writer can still want it.
                if head is not None and head.position == position and not _loose(there, head.files, now):
                    return Delivered(self.address, 0, "file")
                known = _reusable(head, there, now)
                files, sent = self._uploaded(out, _paths(out, committed), known)
            except (FileNotFoundError, RunError):
                if max((entry.number for entry in manifests.read_live(out)), default=0) == batch:
                    raise
                return None
        number = 1 if head is None else head.number + 1
        if not self._committed(PublishedManifest(number, secrets.token_hex(8), position, files)):
            return None
        self._sweep(there, files, now)
        return Delivered(self.address, sent, "file")

    def _uploaded(
        self, out: Path, paths: Mapping[str, str | None], known: Mapping[str, str]
    ) -> tuple[tuple[PublishedFile, ...], int]:
        """Returns the objects of these files, and how many of them were sent; `known` are objects by their content."""

        def upload(path: str) -> tuple[PublishedFile, bool]:
            with (out / path).open("rb") as stream:
                size, digest = (out / path).stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()
            if paths[path] not in (None, digest):
                raise RunError(f"{out / path}: its bytes have changed; `cinnabar verify` sets its batch aside")
            key = known.get(digest)
            if key is None:
                obstore.put(self._store, new := f"{DATA}/{digest}-{secrets.token_hex(4)}", out / path)
            return PublishedFile(path, key or new, size), key is None

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            done = [*pool.map(upload, paths)]
        return tuple(file for file, _ in done), sum(sent for _, sent in done)

    def _committed(self, manifest: PublishedManifest) -> bool:
        """Creates the manifest, and returns True if it is the one that counts now."""
        try:
            obstore.put(self._store, manifest_name(manifest.number), manifest.content(), mode="create")
        except AlreadyExistsError:
            # Also if the store had created it, and its answer was lost: then it is ours.
            try:
                if read_manifest(self._store, manifest.number).id != manifest.id:
                    return False
            except FileNotFoundError:
                return False
        # A number that was swept can be created again: newer ones count.
        return max(numbers(self._store)) == manifest.number

    def _sweep(self, there: Mapping[str, float], files: Sequence[PublishedFile], now: float) -> None:
        """Removes what no reader needs: manifests that were replaced a day ago, and files that no other one names.

        `there` has the objects that lay there before the newest manifest, with their times.
        """
        times = numbers(self._store)
        replaced = dict(zip(times, [*times.values()][1:], strict=False))
        old = [number for number, at in replaced.items() if now - at > GRACE]
        if loose := _loose(there, files, now):
            for number in times.keys() - set(old):
                loose -= {file.key for file in read_manifest(self._store, number).files}
        # The manifests first, so that none names a file that has gone.
        for names in ([manifest_name(number) for number in old], sorted(loose)):
            if names:
                obstore.delete(self._store, names)


def _listed(store: ObjectStore) -> dict[str, float]:
    """Returns the objects that hold files, and what a killed check has left, with their times in seconds."""
    return {
        one["path"]: one["last_modified"].timestamp()
        for folder in (DATA, "probes")
        for some in obstore.list(store, folder)
        for one in some
    }


def _loose(there: Mapping[str, float], files: Sequence[PublishedFile], now: float) -> set[str]:
    """Returns the objects that are none of these files, and old."""
    named = {file.key for file in files}
    return {key for key, at in there.items() if key not in named and now - at > GRACE}


def _reusable(head: PublishedManifest | None, there: Mapping[str, float], now: float) -> dict[str, str]:
    """Returns the objects that a new manifest may name, by their content."""
    young = [key for key, at in there.items() if key.startswith(f"{DATA}/") and now - at < GRACE / 2]
    return {sha256_in(key): key for key in (*young, *(file.key for file in (head.files if head else ())))}


def _paths(out: Path, committed: Sequence[Manifest]) -> dict[str, str | None]:
    """Returns the files of these commits and of their schemas with the SHA-256 of those that have one."""
    paths: dict[str, str | None] = {}
    for entry in committed:
        paths |= {file.path: file.sha256 for file in entry.files}
        paths[f"{manifests.FOLDER}/{entry.name}.json"] = None
        schema = f"schemas/{entry.schema_fingerprint}.json"
        if (out / schema).is_file():
            paths[schema] = None
    return paths


def _runs(out: Path, committed: Sequence[Manifest]) -> set[str]:
    """Returns the ids of the runs in these commits."""
    runs: set[str] = set()
    for path in (out / file.path for entry in committed for file in entry.files if file.table == "runs"):
        with reading(path):
            runs.update(map(str, pq.read_table(path, columns=["run_id"])["run_id"].to_pylist()))
    return runs
