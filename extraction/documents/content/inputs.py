"""The contents that a parser reads: files, mails in mailboxes, files in stores and archives, and sent bytes.

A made name is that of a file and a fragment (`m.mbox#1`, `p.pdf#pages=1-2`), apart from those of files.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path, PurePath
from typing import Any, ClassVar

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.limits import MAX_FILE


class Content(ABC):
    """The bytes of a document, wherever they lie; threads may share it.

    What a kind of content does not say itself is that of a mail without a file of its own.
    """

    __slots__ = ()

    #: True if the path will never name other bytes.
    lasting: ClassVar[bool] = False

    @property
    @abstractmethod
    def path(self) -> str:
        """Returns its name in the form of a file path, which its outcome carries."""

    @abstractmethod
    def read(self) -> bytes:
        """Returns its bytes. Raises DocumentError if they cannot be read, RunError if nothing can."""

    @property
    def name(self) -> PurePath:
        """Returns the name that it is parsed under; its suffix decides the parser."""
        return PurePath(f"{self.path}.eml")

    @property
    def lookup_name(self) -> str:
        """Returns the name that it keeps within its folder or mailbox."""
        return self.path

    @property
    def inner_path(self) -> str:
        """Returns the end that its path has behind that of the file it is in."""
        return ""

    @property
    def modified(self) -> float | None:
        """Returns the time of its file's last change in seconds since 1970; None for a mail and if nobody knows."""
        return None

    @property
    def size(self) -> int | None:
        """Returns its size in bytes, None if only its bytes tell."""
        return None

    @property
    def problem(self) -> DocumentError | None:
        """Returns the problem, known beforehand, that keeps it from being read."""
        return None

    @property
    def settings(self) -> Mapping[str, Any]:
        """Returns what its parser must know beside the settings of all documents (`ParserSettings`)."""
        return {}

    @property
    def first_page(self) -> int:
        """Returns its first page in what is parsed, 0 if that is the document itself."""
        return 0

    @property
    def local(self) -> Path | None:
        """Returns the file of this machine that it is; None if it has none of its own."""
        return None

    def find_digest(self) -> str:
        """Returns the SHA-256 of its bytes. Raises DocumentError or OSError if it cannot be read."""
        return hashlib.sha256(self.read()).hexdigest()

    def parser_data(self) -> bytes | None:
        """Returns the bytes that a parser gets, None if it opens the file itself. Raises as `read`."""
        return self.read() if self.local is None else None

    def load_bytes(self) -> Content:
        """Returns it for another machine, with its bytes. Raises as `read`."""
        return Sent(self.name, self.read(), self.modified)

    def inside(self) -> Sequence[Content]:
        """Returns the files in it if it is an archive of another machine."""
        return ()

    def own_document(self, found: Document | DocumentError) -> Document | DocumentError:
        """Returns the document that it is of what was parsed."""
        return found


@dataclass(frozen=True, slots=True)
class LocalFile(Content):
    """A file of this machine, which a parser opens itself."""

    file: Path

    @property
    def path(self) -> str:
        """Returns the file's path, which no made name equals."""
        return own_path(str(self.file))

    @property
    def local(self) -> Path:
        """Returns the file."""
        return self.file

    @property
    def name(self) -> PurePath:
        """Returns the file."""
        return self.file

    @property
    def lookup_name(self) -> str:
        """Returns the path as the file system has it."""
        return str(self.file)

    @property
    def modified(self) -> float | None:
        """Returns the time of its last change, None if it is not there."""
        return modified_at(self.file)

    @property
    def size(self) -> int | None:
        """Returns its size in bytes, None if it is not there."""
        return size_at(self.file)

    def read(self) -> bytes:
        """Returns its bytes. Raises DocumentError if they cannot be read."""
        return read_file(str(self.file), MAX_FILE)

    def find_digest(self) -> str:
        """Returns the SHA-256 of its bytes, of which a piece at a time is in memory."""
        with open_regular(str(self.file), MAX_FILE) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Sent(Content):
    """The bytes of a file or a mail that another process has read; the parser gets `name` as their name."""

    # With `field` these are fields without a default; otherwise the properties of the base would be their defaults.
    name: PurePath = field()
    data: bytes = field()
    modified: float | None = None

    @property
    def path(self) -> str:
        """Returns the name."""
        return str(self.name)

    def read(self) -> bytes:
        """Returns the bytes."""
        return self.data

    def load_bytes(self) -> Content:
        """Returns itself."""
        return self


def content_of(item: Path | Content) -> Content:
    """Returns a path as the file that it names, and any other content as it is."""
    return LocalFile(item) if isinstance(item, Path) else item


def modified_at(file: Path) -> float | None:
    """Returns the time of a file's last change in seconds since 1970, None if it cannot be told."""
    try:
        return file.stat().st_mtime
    except OSError:
        return None


def size_at(file: Path) -> int | None:
    """Returns the size of a file in bytes, None if it cannot be told."""
    try:
        return file.stat().st_size
    except OSError:
        return None


#: What opening a path raises that is no file.
NO_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


def open_regular(path: str, max_bytes: int) -> BufferedReader:
    """Opens a regular file of at most so many bytes. Raises DocumentError: not_a_file, unreadable, too_large."""
    try:
        # Without O_NONBLOCK, opening a pipe without a writer would wait forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except NO_FILE as error:
        raise DocumentError("not_a_file", error.strerror or "") from error
    except (OSError, ValueError) as error:
        raise DocumentError("unreadable", getattr(error, "strerror", None) or type(error).__name__) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise DocumentError("not_a_file", "a folder, a pipe or a device")
    if status.st_size > max_bytes:
        os.close(descriptor)
        raise DocumentError("too_large", f"{status.st_size} bytes, the limit is {max_bytes}")
    return os.fdopen(descriptor, "rb")


def read_file(path: str, max_bytes: int) -> bytes:
    """Returns the bytes of a regular file. Raises as `open_regular`."""
    with open_regular(path, max_bytes) as file:
        try:
            data = file.read(max_bytes + 1)
        except OSError as error:
            raise DocumentError("unreadable", error.strerror or "") from error
    if len(data) > max_bytes:
        raise DocumentError("too_large", f"it grew beyond the limit of {max_bytes} bytes while it was read")
    return data


#: What follows the `#` of a made name: the number of a mail, the pages of a packet, or the number of a second input.
FRAGMENT = r"(?:[1-9]\d*|pages=[1-9]\d{0,4}-[1-9]\d{0,4}(?:&[^#/]*)?|same=[1-9]\d*)"
_ALIKE, _ESCAPED = re.compile(rf"(?:#|%(?:25)*23){FRAGMENT}\Z"), re.compile(r"%((?:25)*)23")
_SECOND = re.compile(r"#same=[1-9]\d*\Z")


def own_path(path: str) -> str:
    """Returns the path of a file, or of a file in an archive, in a form that no made name has.

    A last part that ends like a made name is written with `%23` for `#`; no other path changes, nor do two become one.
    """
    above, slash, name = path.rpartition("/")
    if not _ALIKE.search(name):
        return path
    return above + slash + _ESCAPED.sub(r"%25\g<1>23", name).replace("#", "%23")


def file_path(path: str) -> str:
    """Returns the path of the file that `own_path` wrote so."""
    above, slash, name = path.rpartition("/")
    if "#" in name or not _ALIKE.search(name):
        return path
    return above + slash + _ESCAPED.sub(lambda found: f"%{found[1][2:]}23" if found[1] else "#", name)


def file_of(path: str) -> str:
    """Returns the path of the file that a document of this path is in, or is a part of."""
    return file_path(re.sub(rf"#{FRAGMENT}\Z", "", path))


def drop_number(name: str) -> str:
    """Returns a name without the number of a second input."""
    return _SECOND.sub("", name)


_DRIVE = re.compile(r"^[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST = 800


def member_name(name: str) -> str:
    """Returns a member's name as a relative path without steps upwards, drives and control codes."""
    parts = _CONTROL.sub("�", _DRIVE.sub("", name).replace("\\", "/")).split("/")
    kept = "/".join(part for part in parts if part.strip() not in ("", ".", ".."))
    # The end of a name tells the format.
    return kept[-_LONGEST:].lstrip("/") or "member"


def is_hidden(name: str) -> bool:
    """Returns True for the names that are left out as in folders, and for the forks that macOS adds."""
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


class DistinctNames:
    """Gives each file a name that no earlier one has: a name that occurs again gets a number."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def distinct(self, name: str) -> str:
        """Returns the name, with a number before its suffix if it was there before."""
        while name in self._seen:
            self._seen[name] += 1
            stem, dot, suffix = name.rpartition(".")
            if not stem or "/" in suffix:
                stem, dot, suffix = name, "", ""
            numbered = f"{stem} ({self._seen[name]}){dot}{suffix}"
            if numbered not in self._seen:
                name = numbered
        self._seen[name] = 1
        return name
