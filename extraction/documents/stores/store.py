"""A store as a place of documents: what lies in it, each with the hash of its bytes."""

from __future__ import annotations

import hashlib
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath, PurePosixPath

from cinnabar.extraction.documents.content.formats import ARCHIVE_SUFFIXES, MBOX_SUFFIXES, SUFFIXES
from cinnabar.extraction.documents.content.inputs import Content, content_of
from cinnabar.extraction.documents.content.made_names import file_path, own_path
from cinnabar.extraction.documents.stores.address import StoreAddress
from cinnabar.extraction.documents.stores.ahead import FetchAhead, KeptBytes
from cinnabar.extraction.documents.stores.backend import (
    Backend,
    Denied,
    Folder,
    StoredObject,
    StoreRefused,
    check_size,
    list_objects,
    patiently,
)
from cinnabar.extraction.documents.stores.memory import Contents, StoreMemory
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
# What the parser says of an archive, too.
_DAMAGED = ("broken", "truncated")
#: Gives the files in an archive and the mails in an mbox; any other file is its own only item.
Opened = Callable[[Path], Sequence[Path | Content]]


@dataclass(frozen=True, slots=True)
class StoreItem(Content):
    """An object, or a file or mail in it: `inner` is the end of its path, "" for the object itself.

    `digest` is "" until somebody has read the bytes. `problem` keeps it from being read.
    """

    store: ObjectStore = field(repr=False)
    object: StoredObject
    inner: str = ""
    digest: str = ""
    problem: DocumentError | None = None

    @property
    def path(self) -> str:
        """Returns the address of the object, and the end of the path."""
        path = f"{self.store.path_of(self.object.key)}{self.inner}"
        return path if self._is_mail else own_path(path)

    @property
    def name(self) -> PurePath:
        """Returns its address; a mail in an mbox has the suffix of one."""
        path = f"{self.store.path_of(self.object.key)}{self.inner}"
        return PurePosixPath(f"{path}.eml" if self._is_mail else path)

    @property
    def _is_mail(self) -> bool:
        return self.inner.startswith("#")

    @property
    def inner_path(self) -> str:
        """Returns `inner`."""
        return self.inner

    @property
    def modified(self) -> float | None:
        """Returns the time of the object's last change, None for a mail in it."""
        return None if self._is_mail else self.object.modified

    @property
    def size(self) -> int | None:
        """Returns the size of the object in bytes, None for a file or a mail in it."""
        return None if self.inner else self.object.size

    def find_digest(self) -> str:
        """Returns the SHA-256 of its bytes, which are read if they are not known. Raises the errors of `read`."""
        return self.digest or self.store.hash_object(self)

    def inside(self) -> Sequence[Content]:
        """Returns the files and mails in the object."""
        return [one for one in self.store.items_of(self.object) if one.inner and not self.inner]

    def read(self) -> bytes:
        """Returns its bytes. Raises DocumentError if they cannot be read, RunError if nothing can."""
        return self.store.data(self)


class ObjectStore:
    """An open store; a context manager. Threads may share it.

    `opened` unfolds archives. Raises UsageError if the extra is not installed or the store refuses.
    """

    def __init__(self, address: StoreAddress, out: Path | None, opened: Opened) -> None:
        check_extra("stores", str(address))
        self.address, self._opened = address, opened
        try:
            self._backend = _BACKENDS[address.scheme](address)
        except (FileNotFoundError, Denied, StoreRefused) as error:
            raise UsageError(f"{address}: {error}") from None
        self._memory, self._kept = StoreMemory(out), KeptBytes()
        self._ahead = FetchAhead(self._fetch, self._backend.threads)
        self._unpacking = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="cinnabar-")
        self._unfolded: tuple[Path, dict[str, Content]] | None = None

    def __enter__(self) -> ObjectStore:
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
        objects = list_objects(self._backend, str(replace(self.address, key=key)), key)
        unread = [one for one in objects if self._known(one) is None]
        # This list needs what may unfold.
        self._ahead.expect(sorted(unread, key=lambda one: not _may_unfold(one.key)))
        return [item for one in objects for item in self.items_of(one)]

    def items_of(self, one: StoredObject) -> list[StoreItem]:
        """Returns what an object stands for; one that may unfold is fetched unless it is known."""
        if (contents := self._known(one)) is not None:
            return [self._item(one, inner, digest) for inner, digest in contents]
        if not _may_unfold(one.key):
            return [self._item(one)]
        try:
            data, version = self._taken(one)
        except DocumentError as problem:
            return [self._item(one, problem=problem)]
        items = []
        with self._unpacking:
            for inner, item in self._open(one, data).items():
                # A damaged archive is one document, of which the hash is known.
                if item.problem and (inner or item.problem.code not in _DAMAGED):
                    items.append(self._item(one, inner, problem=item.problem))
                else:
                    digest = item.find_digest() if inner else hashlib.sha256(data).hexdigest()
                    items.append(self._item(one, inner, digest))
        # What a password opens next time, or what was a fault of ours, is looked at again.
        if not any(item.problem for item in items):
            self._memory.remember(self.path_of(one.key), version, [(item.inner, item.digest) for item in items])
        return items

    def at(self, key: str) -> Iterator[StoreItem]:
        """Yields the documents with this key: an object, then what lies in others. Raises the errors of `items`."""
        for text in dict.fromkeys((file_path(key), key)):
            # Without its end the key may be that of an archive, or of an mbox.
            ends = [len(text), *(found.start() for found in re.finditer("[/#]", text))]
            for end in sorted(filter(None, ends), reverse=True):
                if (one := self._single(text[:end])) is not None:
                    items = (item for item in self.items_of(one) if item.inner == text[end:])
                    yield from items if end < len(text) else [next(items, self._item(one))]

    def hash_object(self, item: StoreItem) -> str:
        """Returns the hash of an object, which is fetched, remembered and kept for its parser."""
        if item.problem is not None:
            raise item.problem
        data, version = self._taken(item.object)
        digest = hashlib.sha256(data).hexdigest()
        self._memory.remember(self.path_of(item.object.key), version, [("", digest)])
        return digest

    def data(self, item: StoreItem) -> bytes:
        """Returns the bytes of an item, kept ones or those that it has now."""
        if item.problem is not None:
            raise item.problem
        if not item.inner:
            kept = self._kept.get(item.object.key)
            return self._ahead.take(item.object)[0] if kept is None else kept
        with self._unpacking:
            found = self._open(item.object, None).get(item.inner)
            if found is None:
                raise DocumentError("unreadable", "the object has changed since it was listed")
            return found.read()

    def _open(self, one: StoredObject, data: bytes | None) -> dict[str, Content]:
        """Returns what is in an object by the ends of the paths; one object at a time lies in a temporary file."""
        name = hashlib.sha256(f"{one.key} {one.version}".encode()).hexdigest()
        # A longer name of a temporary file may be none at all; no other suffix than these decides.
        suffix = PurePosixPath(one.key).suffix
        file = Path(self._folder.name) / f"{name}{suffix if suffix.lower() in SUFFIXES else ''}"
        if self._unfolded is None or self._unfolded[0] != file:
            if self._unfolded is not None:
                self._unfolded[0].unlink(missing_ok=True)
            file.write_bytes(self.data(self._item(one)) if data is None else data)
            self._unfolded = file, {item.inner_path: item for item in map(content_of, self._opened(file))}
        return self._unfolded[1]

    def _single(self, key: str) -> StoredObject | None:
        where = self.path_of(key)
        try:
            first = patiently(lambda: next(iter(self._backend.entries(Folder(key), "")), None), where)
        except FileNotFoundError:
            return None
        except (Denied, StoreRefused) as error:
            raise UsageError(f"{where}: {error}") from None
        return first if isinstance(first, StoredObject) and first.key == key else None

    def _taken(self, one: StoredObject) -> tuple[bytes, str]:
        data, version = self._ahead.take(one)
        self._kept.keep(one.key, data)
        return data, version

    def _fetch(self, one: StoredObject) -> tuple[bytes, str]:
        where = self.path_of(one.key)
        check_size(one.size)
        try:
            return patiently(lambda: self._backend.fetch(one), where)
        except FileNotFoundError:
            raise DocumentError("unreadable", "the object is gone from its store") from None
        except Denied as error:
            raise DocumentError("unreadable", str(error)) from None
        except StoreRefused as error:
            raise RunError(f"{where}: {error}; then run the same command again") from None

    def _known(self, one: StoredObject) -> Contents | None:
        return self._memory.contents(self.path_of(one.key), one.version)

    def _item(
        self, one: StoredObject, inner: str = "", digest: str = "", problem: DocumentError | None = None
    ) -> StoreItem:
        return StoreItem(self, one, inner, digest, problem)

    def path_of(self, key: str) -> str:
        """Returns the address of an object."""
        return f"{self.address.root}/{key}"


def _may_unfold(key: str) -> bool:
    suffix = PurePosixPath(key).suffix.lower()
    return suffix not in SUFFIXES or suffix in ARCHIVE_SUFFIXES or suffix in MBOX_SUFFIXES
