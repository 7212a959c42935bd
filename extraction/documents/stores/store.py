"""A store as a place of documents: what lies in it, each with the hash of its bytes."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath, PurePosixPath

from cinnabar.extraction.documents.archives.archive_process import ArchiveMember
from cinnabar.extraction.documents.content.formats import ARCHIVE_SUFFIXES, MBOX_SUFFIXES, SUFFIXES
from cinnabar.extraction.documents.content.inputs import Elsewhere, Message
from cinnabar.extraction.documents.stores.address import StoreAddress
from cinnabar.extraction.documents.stores.ahead import FetchAhead, Kept
from cinnabar.extraction.documents.stores.backend import (
    Backend,
    Denied,
    Refused,
    StoredObject,
    check_size,
    listed,
    patiently,
)
from cinnabar.extraction.documents.stores.memory import StoreMemory
from cinnabar.extraction.documents.stores.object_backend import ObjectBackend
from cinnabar.extraction.documents.stores.sftp import SftpBackend
from cinnabar.extraction.documents.stores.sharepoint import SharePointBackend
from cinnabar.schemas.errors import DocumentError, RunError, UsageError
from cinnabar.schemas.extras import check_extra

_BACKENDS: dict[str, Callable[[StoreAddress], Backend]] = {
    **dict.fromkeys(("s3", "gs", "az"), ObjectBackend),
    "sftp": SftpBackend,
    **dict.fromkeys(("sharepoint", "onedrive"), SharePointBackend),
}
# Archives and mbox files that lie in a temporary folder at a time, each of at most MAX_FILE.
_OPEN = 3
#: Gives the files in an archive and the mails in an mbox; any other file is its own only item.
Opened = Callable[[Path], Sequence[Path | Message]]


@dataclass(frozen=True, slots=True)
class StoreItem(Elsewhere):
    """An object, or a file or mail in it: `inner` is the end of its path, "" for the object itself.

    `digest` is "" until somebody has read the bytes. `problem` keeps it from being read.
    """

    store: Store = field(repr=False, compare=False)
    object: StoredObject
    inner: str = ""
    digest: str = ""
    problem: DocumentError | None = None

    @property
    def path(self) -> str:
        """Returns its address."""
        return f"{self.store.address.root}/{self.object.key}{self.inner}"

    @property
    def name(self) -> PurePath:
        """Returns the name that it is parsed under."""
        return PurePosixPath(f"{self.path}.eml" if self.inner.startswith("#") else self.path)

    @property
    def modified(self) -> float | None:
        """Returns the time of the object's last change, None for a mail."""
        return None if self.inner.startswith("#") else self.object.modified

    def expect(self) -> None:
        """Begins to fetch the object, unless its bytes are here."""
        self.store.expect([self.object])

    def hashed(self) -> str:
        """Returns the SHA-256 of its bytes, which are read if they are not known. Raises the errors of `read`."""
        if self.problem is not None:
            raise self.problem
        return self.digest or self.store.hashed(self.object)

    def read(self) -> bytes:
        """Returns its bytes. Raises DocumentError if they cannot be read, RunError if nothing can."""
        if self.problem is not None:
            raise self.problem
        return self.store.inside(self.object, self.inner) if self.inner else self.store.data(self.object)


class Store:
    """An open store; a context manager. Threads may share it.

    `opened` unfolds archives. Raises UsageError if the extra is not installed or the store refuses.
    """

    def __init__(self, address: StoreAddress, out: Path | None, opened: Opened) -> None:
        check_extra("stores", str(address))
        self.address, self._opened = address, opened
        try:
            self._backend = _BACKENDS[address.scheme](address)
        except FileNotFoundError:
            raise UsageError(f"{address}: no such site, drive or user") from None
        except (Denied, Refused) as error:
            raise UsageError(f"{address}: {error}") from None
        self._memory, self._kept = StoreMemory(out), Kept()
        self._ahead = FetchAhead(self._fetched, self._backend.threads)
        self._unpacking = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="cinnabar-")
        self._files: OrderedDict[str, Path] = OrderedDict()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._ahead.close()
        self._backend.close()
        self._memory.close()
        self._kept.close()
        self._folder.cleanup()

    def items(self, key: str) -> list[StoreItem]:
        """Returns the documents at and below a key; archives and mbox files stand for what is in them.

        Those without a known hash are fetched ahead in their order. Raises UsageError if nothing can be listed there,
        RunError if the store does not answer.
        """
        where = str(replace(self.address, key=key))
        objects = [one for one in listed(self._backend, where, key) if not _is_hidden(one.key, key)]
        objects.sort(key=lambda one: one.key)
        known = {one.key: self._memory.contents(self._path_of(one.key), one.version) for one in objects}
        unread = [one for one in objects if known[one.key] is None and not self._settled(one)]
        self.expect(one for one in unread if _may_unfold(one.key))
        items: list[StoreItem] = []
        for one in objects:
            contents = known[one.key]
            if (settled := self._settled(one)) is not None:
                items.append(settled)
            elif contents is not None:
                items += [StoreItem(self, one, inner, digest) for inner, digest in contents]
            else:
                items += self._unfolded(one) if _may_unfold(one.key) else [StoreItem(self, one)]
        self.expect(one for one in unread if not _may_unfold(one.key))
        return items

    def at(self, key: str) -> Iterator[StoreItem]:
        """Yields the document with this key: an object, or a file or mail in one. It lists no more than that takes.

        Raises the errors of `items`.
        """
        whole, end = key, ""
        while whole:
            # Without its end the key may be that of an archive, or of an mbox.
            for one in self._single(whole):
                found = [item for item in self.items(one.key) if item.object.key == whole and item.inner == end]
                yield from found or ([] if end else [StoreItem(self, one)])
                return
            cut = max(whole.rfind("/"), whole.rfind("#"))
            whole, end = whole[: max(cut, 0)], whole[max(cut, 0) :] + end

    def _single(self, key: str) -> list[StoredObject]:
        """Returns the object with this key, none if there is none."""
        def look() -> list[StoredObject]:
            first = next(self._backend.objects(key, None), None)
            return [first] if first is not None and first.key == key else []

        try:
            return patiently(look, self._path_of(key))
        except FileNotFoundError:
            return []
        except (Denied, Refused) as error:
            raise UsageError(f"{self._path_of(key)}: {error}") from None

    def expect(self, objects: Iterator[StoredObject] | Sequence[StoredObject]) -> None:
        """Begins to fetch these objects in their order, but those whose bytes are here."""
        self._ahead.expect(one for one in objects if one.key not in self._kept)

    def hashed(self, one: StoredObject) -> str:
        """Returns the hash of an object, which is fetched, remembered and kept for its parser."""
        data, version = self._ahead.take(one)
        digest = hashlib.sha256(data).hexdigest()
        self._kept.keep(one.key, data)
        self._memory.remember(self._path_of(one.key), version, [("", digest)])
        return digest

    def data(self, one: StoredObject) -> bytes:
        """Returns the bytes of an object, kept ones or those that it has now."""
        kept = self._kept.get(one.key)
        return self._ahead.take(one)[0] if kept is None else kept

    def inside(self, one: StoredObject, inner: str) -> bytes:
        """Returns the bytes of a file or mail in an object. Raises DocumentError if it is not there any more."""
        with self._unpacking:
            found = self._open(one, self.data(one) if one.key not in self._files else b"")
            item = next((item for end, item in found if end == inner), None)
        if item is None or isinstance(item, Path):
            raise DocumentError("unreadable", "the object has changed since it was listed")
        return item.read()

    def _unfolded(self, one: StoredObject) -> list[StoreItem]:
        """Returns the items of an object that may hold others; it is fetched to look."""
        try:
            data, version = self._ahead.take(one)
        except DocumentError as problem:
            return [StoreItem(self, one, problem=problem)]
        self._kept.keep(one.key, data)
        with self._unpacking:
            found = self._open(one, data)
        items = []
        for inner, item in found:
            if isinstance(item, ArchiveMember):
                items.append(StoreItem(self, one, inner, item.digest, item.problem))
            else:
                bytes_of = data if isinstance(item, Path) else item.read()
                items.append(StoreItem(self, one, inner, hashlib.sha256(bytes_of).hexdigest()))
        # What a password opens next time, or what was a fault of ours, is looked at again.
        if not any(item.problem for item in items):
            self._memory.remember(self._path_of(one.key), version, [(item.inner, item.digest) for item in items])
        return items

    def _open(self, one: StoredObject, data: bytes) -> list[tuple[str, Path | Message]]:
        """Returns what is in an object, by the ends of the paths, from a temporary file."""
        if one.key not in self._files:
            if len(self._files) == _OPEN:
                self._files.popitem(last=False)[1].unlink()
            name = hashlib.sha256(one.key.encode()).hexdigest() + PurePosixPath(one.key).suffix
            self._files[one.key] = Path(self._folder.name) / name
            self._files[one.key].write_bytes(data)
        file = self._files[one.key]
        start = len(str(file))
        return [(str(i)[start:] if isinstance(i, Path) else i.path[start:], i) for i in self._opened(file)]

    def _settled(self, one: StoredObject) -> StoreItem | None:
        """Returns the item of an object that is not fetched: an empty one, or one that is too large."""
        try:
            check_size(one.size)
        except DocumentError as problem:
            return StoreItem(self, one, problem=problem)
        return None if one.size else StoreItem(self, one, digest=hashlib.sha256().hexdigest())

    def _fetched(self, one: StoredObject) -> tuple[bytes, str]:
        where = self._path_of(one.key)
        try:
            return patiently(lambda: self._backend.fetch(one), where)
        except FileNotFoundError:
            raise DocumentError("unreadable", "the object is gone from its store") from None
        except Denied as error:
            raise DocumentError("unreadable", str(error)) from None
        except Refused as error:
            raise RunError(f"{where}: {error}; then run the same command again") from None

    def _path_of(self, key: str) -> str:
        return f"{self.address.root}/{key}"


def _is_hidden(key: str, below: str) -> bool:
    """Returns True if a name in the key is hidden, of those below what the user named."""
    inside = key[len(below) :] if key != below else ""
    return "/." in f"/{inside.lstrip('/')}"


def _may_unfold(key: str) -> bool:
    suffix = PurePosixPath(key).suffix.lower()
    return suffix not in SUFFIXES or suffix in ARCHIVE_SUFFIXES or suffix in MBOX_SUFFIXES
