"""Files in archives as inputs: a process of its own unpacks, and nothing is written to a disk."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import orjson

from cinnabar.closing import Closing
from cinnabar.engine.child_process import python_command
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.inputs import Content, modified_at, open_regular, own_path
from cinnabar.extraction.documents.content.limits import (
    MAX_FILE,
    MAX_MEMBER_LIST,
    MAX_UNPACKED,
    UNPACKING_SECONDS,
)
from cinnabar.extraction.documents.content.zipped import packed_kind
from cinnabar.extraction.documents.processes.process import WorkerDied, WorkerProcess, WorkerTimedOut
from cinnabar.extraction.plan.outcomes import UNREADABLE

_SHA256 = 64
# So much of a file tells whether it may be an archive.
_BEGINNING = 512
_CHANGED = "the archive has changed since it was listed"


@dataclass(frozen=True, slots=True)
class ArchiveMember(Content):
    """A file in an archive, or the archive itself with the problem that keeps it from being unpacked.

    file: the archive. inner: the path inside, "" for the archive itself. number: its place in the list of all.
    """

    file: Path
    inner: str
    number: int
    digest: str
    # With `field` it has no default; otherwise the property of the base would be it.
    problem: DocumentError | None = field()
    unpacker: Unpacker = field(repr=False, compare=False)

    @property
    def path(self) -> str:
        """Returns the path of the archive, and the path inside."""
        return own_path(f"{self.file}{self.inner_path}")

    @property
    def name(self) -> PurePath:
        """Returns the path inside below that of the archive."""
        return PurePath(self.file, self.inner)

    @property
    def inner_path(self) -> str:
        """Returns the path inside behind a slash, "" for the archive itself."""
        return f"/{self.inner}" if self.inner else ""

    @property
    def modified(self) -> float | None:
        """Returns the time of the archive's last change."""
        return modified_at(self.file)

    def find_digest(self) -> str:
        """Returns the hash that was found when it was listed. Raises its problem."""
        if self.problem is not None:
            raise self.problem
        return self.digest

    def read(self) -> bytes:
        """Returns its bytes. Raises DocumentError if they cannot be read."""
        if self.problem is not None:
            raise self.problem
        return self.unpacker.read(self)


class Unpacker(Closing):
    """Lists the files of archives and reads them, by one process that keeps the last archive unpacked.

    Threads may share it. A context manager: its exit ends the process.
    """

    def __init__(self, passwords: Sequence[str] = ()) -> None:
        self._command = python_command("-m", "cinnabar.extraction.documents.archives.worker")
        self._passwords = orjson.dumps(list(passwords)) + b"\n"
        self._lock = threading.Lock()
        self._process: WorkerProcess | None = None
        self._open: Path | None = None
        # Files of the archive that is open.
        self._held = 0

    def close(self) -> None:
        """Ends the process; the next request would start another one."""
        with self._lock:
            self._end()

    def members(self, path: Path) -> list[ArchiveMember] | None:
        """Returns the files of an archive, or the archive with its problem; None if the file is no archive."""
        with self._lock:
            try:
                listing = self._list(path)
            except DocumentError as problem:
                return [ArchiveMember(path, "", 0, "", problem, self)]
        if listing is None:
            return None
        return [ArchiveMember(path, *one, self) for one in listing]

    def read(self, member: ArchiveMember) -> bytes:
        """Returns the bytes of a member. Raises DocumentError if they are not those that were listed."""
        with self._lock:
            if self._open != member.file:
                self._list(member.file)
            if member.number >= self._held:
                raise DocumentError("unreadable", _CHANGED)
            data = self._ask({"read": member.number}, MAX_UNPACKED)
        if hashlib.sha256(data).hexdigest() != member.digest:
            raise DocumentError("unreadable", _CHANGED)
        return data

    def _list(self, path: Path) -> list[tuple[str, int, str, DocumentError | None]] | None:
        self._open = None
        answer = self._ask({"open": os.fsencode(path).hex()}, MAX_MEMBER_LIST)
        try:
            listing = _check_list(orjson.loads(answer))
        except (ValueError, TypeError, KeyError) as error:
            self._end()
            raise DocumentError("worker_died", "the list of an archive's files is malformed") from error
        self._open, self._held = path, len(listing or ())
        return listing

    def _ask(self, request: dict[str, Any], most: int) -> bytes:
        if self._process is None:
            self._process = WorkerProcess(self._command, self._passwords, UNPACKING_SECONDS, "unpacking")
        try:
            return self._process.ask_bytes(orjson.dumps(request), most)
        except WorkerTimedOut as error:
            self._end()
            raise DocumentError("timeout", f"not unpacked within {UNPACKING_SECONDS:g} s") from error
        except WorkerDied as error:
            self._end()
            raise DocumentError("worker_died", str(error)) from error

    def _end(self) -> None:
        if self._process is not None:
            self._process.stop()
        self._process, self._open = None, None


def _check_list(answer: Any) -> list[tuple[str, int, str, DocumentError | None]] | None:
    """Returns the list that the process sent, which has read hostile bytes. Raises the archive's problem."""
    if "code" in answer:
        raise _problem(answer["code"], answer["detail"])
    if answer["members"] is None:
        return None
    listing: list[tuple[str, int, str, DocumentError | None]] = []
    for number, (name, digest, code, detail) in enumerate(answer["members"]):
        if not name or not isinstance(name, str) or (not code and len(digest) != _SHA256):
            raise ValueError("a member without a name or a hash")
        listing.append((name, number, digest, _problem(code, detail) if code else None))
    return listing


def _problem(code: str, detail: str) -> DocumentError:
    if code not in UNREADABLE:
        raise ValueError("an unknown code")
    return DocumentError(code, str(detail))


def may_be_archive(path: Path) -> bool:
    """Returns True if this regular file begins like an archive, or like a ZIP file of any kind."""
    try:
        with open_regular(str(path), MAX_FILE) as file:
            beginning = file.read(_BEGINNING)
    except (DocumentError, OSError):
        return False
    return beginning.startswith((b"PK\x03\x04", b"PK\x05\x06")) or bool(packed_kind(beginning))
