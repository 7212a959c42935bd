"""A bucket as a place of documents: objects with the hash of their bytes, remembered between runs."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import Annotated

from pydantic import StringConstraints, TypeAdapter

from cinnabar.closing import Closing
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.buckets.address import StoreAddress
from cinnabar.extraction.documents.buckets.bucket import Bucket, StoredObject
from cinnabar.extraction.documents.buckets.fetch_ahead import FetchAhead, KeptBytes
from cinnabar.extraction.documents.content.formats import ARCHIVE_SUFFIXES, MBOX_SUFFIXES, SUFFIXES
from cinnabar.extraction.documents.content.inputs import Content, content_of, file_path, own_path
from cinnabar.extras import check_extra

# What the parser says of an archive, too.
_DAMAGED = ("broken", "truncated")
#: Gives the files in an archive and the mails in an mbox; any other file is its own only item.
Opened = Callable[[Path], Sequence[Path | Content]]
# Objects that are fetched at a time.
_THREADS = 16
#: The file of `StoreMemory` in an output folder.
FILE = "stores.jsonl"
#: What an object stands for: the end that each path has behind the object's path, and the SHA-256 of its bytes.
Contents = Sequence[tuple[str, str]]

_Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
_LINE = TypeAdapter(tuple[str, str, list[tuple[str, _Digest]]])
# Entries that a crash may lose, and lines that count no more which are left in the file.
_ENTRIES, _STALE = 50, 10_000


class StoreMemory:
    """The hashes of objects by their versions, so that a later run need not read them again; nothing for None.

    A file of lines in the output folder: path, version, and the hash of the object, or of each file or mail in it. The
    last line of a path counts. Threads may share it; `close` writes the rest.
    """

    def __init__(self, out: Path | None) -> None:
        self._file = None if out is None else out / FILE
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, Contents]] = {}
        self._new: list[bytes] = []
        if self._file is not None and self._file.is_file() and not self._file.is_symlink():
            lines = self._file.read_bytes().split(b"\n")
            for line in lines:
                with suppress(ValueError):  # a torn or strange line
                    path, version, contents = _LINE.validate_json(line)
                    self._known[path] = version, contents
            if len(lines) > 2 * len(self._known) + _STALE:
                self._file.unlink()
                self._new = [_LINE.dump_json((path, version, [*all_])) for path, (version, all_) in self._known.items()]

    def contents(self, path: str, version: str) -> Contents | None:
        """Returns what the object at this path stands for, None if it is unknown or has another version now."""
        known = self._known.get(path)
        return known[1] if known is not None and version and known[0] == version else None

    def remember(self, path: str, version: str, contents: Contents) -> None:
        """Takes note of the bytes that were read under this version; "" is no version."""
        if version and self._file is not None:
            with self._lock:
                self._new.append(_LINE.dump_json((path, version, [*contents])))
                self._known[path] = version, contents
                if len(self._new) >= _ENTRIES:
                    self._write(self._file)

    def close(self) -> None:
        """Writes all that is new."""
        with self._lock:
            if self._new and self._file is not None:
                self._write(self._file)

    def _write(self, file: Path) -> None:
        # The folder of a first run is made after the listing. A full disk costs only the memory.
        if file.parent.is_dir():
            with suppress(OSError):
                # One write at the end of the file, on a line of its own: the last write of a killed run may be torn.
                descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666)
                with os.fdopen(descriptor, "ab") as opened:
                    opened.write(b"\n" + b"\n".join(self._new) + b"\n")
            self._new = []


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


class ObjectStore(Closing):
    """An open store; a context manager. Threads may share it.

    `opened` unfolds archives. Raises UsageError if the extra is not installed or the store refuses.
    """

    def __init__(self, address: StoreAddress, out: Path | None, opened: Opened) -> None:
        check_extra("stores", str(address))
        self._bucket, self._opened = Bucket(address), opened
        self._memory, self._kept = StoreMemory(out), KeptBytes()
        self._ahead = FetchAhead(self._bucket.fetch, _THREADS)
        self._unpacking = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="cinnabar-")
        self._unfolded: tuple[Path, dict[str, Content]] | None = None

    def close(self) -> None:
        """Lets go of what was fetched, and keeps what was learned."""
        self._ahead.close()
        self._memory.close()
        self._kept.close()
        self._folder.cleanup()

    def items(self, key: str) -> list[StoreItem]:
        """Returns the documents at and below a key; archives and mbox files stand for what is in them.

        Those without a known hash are fetched ahead in their order. Raises UsageError if nothing can be listed there,
        RunError if the store does not answer.
        """
        objects = self._bucket.objects(key)
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
                if (one := self._bucket.single(text[:end])) is not None:
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

    def _taken(self, one: StoredObject) -> tuple[bytes, str]:
        data, version = self._ahead.take(one)
        self._kept.keep(one.key, data)
        return data, version

    def _known(self, one: StoredObject) -> Contents | None:
        return self._memory.contents(self.path_of(one.key), one.version)

    def _item(
        self, one: StoredObject, inner: str = "", digest: str = "", problem: DocumentError | None = None
    ) -> StoreItem:
        return StoreItem(self, one, inner, digest, problem)

    def path_of(self, key: str) -> str:
        """Returns the address of an object."""
        return self._bucket.path_of(key)


def _may_unfold(key: str) -> bool:
    suffix = PurePosixPath(key).suffix.lower()
    return suffix not in SUFFIXES or suffix in ARCHIVE_SUFFIXES or suffix in MBOX_SUFFIXES
