"""Mailboxes that are files: mbox, with all mails in one file, and Maildir, with a file for each.

The bytes of a mail are those that were delivered. Nothing is written, locked or marked as seen.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cinnabar.extraction.ingest.sandbox import MAX_FILE
from cinnabar.schemas.errors import DocumentError

#: The folders that make a folder a Maildir. What lies in `tmp` is still being delivered.
_PARTS = ("cur", "new", "tmp")
# A line that begins a mail: the sender, then a time. A line of text rarely has both.
_BEGIN = re.compile(rb"From \S.*\d\d?:\d\d")
_HEADER = re.compile(rb"[!-9;-~]+[ \t]*:|>From ")
# What a client puts behind the name of a mail in `cur`: its marks.
_MARKS = re.compile(r"[:;!]2,[^/]*$")
_GUARDED = re.compile(rb"^>(>*From )", re.MULTILINE)
# Lines are read in pieces of so many bytes, so that a file without line ends does not fill the memory.
_LINE = 1 << 16


@dataclass(frozen=True, slots=True)
class MboxMessage:
    """The mail with this number, from 1, in an mbox: bytes `start` (inclusive) to `stop` (exclusive)."""

    file: Path
    number: int
    start: int
    stop: int
    lasting: bool = False

    @property
    def path(self) -> str:
        """The file and the number."""
        return f"{self.file}#{self.number}"

    def read(self) -> bytes:
        """Its bytes, without the line that begins it. Raises DocumentError."""
        # Who wrote the file put a ">" before what would have looked like the beginning of a mail.
        return _GUARDED.sub(rb"\1", _read(self.file, self.start, self.stop - self.start))


@dataclass(frozen=True, slots=True)
class MaildirMessage:
    """A mail in a Maildir; its file's name changes with its marks."""

    file: Path
    lasting: bool = False

    @property
    def path(self) -> str:
        """The file."""
        return str(self.file)

    def read(self) -> bytes:
        """Its bytes. Raises DocumentError."""
        return _read(self.file, 0, None)


def is_mbox(path: Path) -> bool:
    """Whether this file begins as an mbox does: a line with sender and time, and a header below it."""
    try:
        with _opened(path) as file:
            return bool(_BEGIN.match(file.readline(_LINE)) and _HEADER.match(file.readline(_LINE)))
    except (OSError, DocumentError):
        return False


def mbox_messages(path: Path) -> Iterator[MboxMessage]:
    """The mails of an mbox, in order. Raises OSError.

    Not by `mailbox.mbox`, which opens the file for writing, takes every line that begins with "From " for a
    mail, whatever stands around it, and reads lines of any length.
    """
    with _opened(path) as file:
        number, start, before, blank = 0, -1, 0, True
        begins_line = True
        while line := file.readline(_LINE):
            if begins_line and blank and _BEGIN.match(line):
                if start >= 0:
                    yield MboxMessage(path, number, start, before)
                number, start = number + 1, file.tell()
                while not line.endswith(b"\n") and (line := file.readline(_LINE)):
                    start = file.tell()
            # The blank line above the beginning of a mail belongs to no mail.
            blank = begins_line and line in (b"\n", b"\r\n")
            before = file.tell() - (len(line) if blank else 0)
            begins_line = line.endswith(b"\n")
        if start >= 0:
            yield MboxMessage(path, number, start, max(before, start))


def is_maildir(path: Path) -> bool:
    """Whether this folder is a Maildir."""
    return all((path / part).is_dir() for part in _PARTS)


def maildir_of(path: Path) -> Path | None:
    """The Maildir that this file lies in, itself or in one of its three folders; None where there is none."""
    for folder in (path.parent.parent, path.parent):
        if (folder == path.parent or path.parent.name in _PARTS) and is_maildir(folder):
            return folder
    return None


def maildir_name(path: Path) -> str:
    """What a mail of a Maildir is called whatever its marks, and whether it was seen or not."""
    return _MARKS.sub("", path.name)


def is_delivered(path: Path) -> bool:
    """Whether a file in a Maildir is a mail: neither under way nor the bookkeeping of a server."""
    return path.parent.name in ("cur", "new")


def _read(path: Path, start: int, size: int | None) -> bytes:
    try:
        with _opened(path) as file:
            size = os.fstat(file.fileno()).st_size if size is None else size
            if size > MAX_FILE:
                raise DocumentError("too_large", f"{size} bytes, at most {MAX_FILE} are read")
            file.seek(start)
            return file.read(size)
    except OSError as error:
        raise DocumentError("unreadable", error.strerror or str(error)) from error


def _opened(path: Path) -> BinaryIO:
    # Without O_NONBLOCK opening a named pipe would wait for its writer for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DocumentError("not_a_file", "expected a regular file, got a folder, a pipe or a device")
    return os.fdopen(descriptor, "rb")
