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

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.inputs import Content, own_path, size_at
from cinnabar.extraction.documents.content.limits import MAX_FILE

#: The folders that make a folder a Maildir. Files in `tmp` are still being delivered.
_PARTS = ("cur", "new", "tmp")
# A line that begins a mail: the sender, then a time. A line of text rarely has both.
_BEGIN = re.compile(rb"From \S.*\d\d?:\d\d")
_HEADER = re.compile(rb"[!-9;-~]+[ \t]*:|>From ")
# The marks that a mail client appends to a file name in `cur`.
_MARKS = re.compile(r"[:;!]2,[^/]*$")
_GUARDED = re.compile(rb"^>(>*From )", re.MULTILINE)
# Lines are read in pieces of so many bytes, so that a file without line ends does not fill the memory.
_LINE = 1 << 16


@dataclass(frozen=True, slots=True)
class MboxMessage(Content):
    """A numbered mail of an mbox, counted from 1: bytes `start` (inclusive) to `stop` (exclusive)."""

    file: Path
    number: int
    start: int
    stop: int

    @property
    def path(self) -> str:
        """Returns `file#number`, the path that names this mail."""
        return f"{self.file}{self.inner_path}"

    @property
    def inner_path(self) -> str:
        """Returns `#number`."""
        return f"#{self.number}"

    def read(self) -> bytes:
        """Returns its bytes without the line that begins it. Raises DocumentError if they cannot be read."""
        # The writer of the file put a ">" before each line of text that looks like the beginning of a mail.
        return _GUARDED.sub(rb"\1", _read(self.file, self.start, self.stop - self.start))


@dataclass(frozen=True, slots=True)
class MaildirMessage(Content):
    """A mail in a Maildir; its file's name changes with its marks."""

    file: Path

    @property
    def path(self) -> str:
        """Returns the file."""
        return own_path(str(self.file))

    @property
    def lookup_name(self) -> str:
        """Returns the name of the file without the marks."""
        return maildir_name(self.file)

    @property
    def size(self) -> int | None:
        """Returns the size of the file in bytes, None if it is not there."""
        return size_at(self.file)

    def read(self) -> bytes:
        """Returns its bytes. Raises DocumentError if they cannot be read."""
        return _read(self.file, 0, None)


def is_mbox(path: Path) -> bool:
    """Returns True if this file begins like an mbox: a line with sender and time, and a header below it."""
    try:
        with _open_file(path) as file:
            return bool(_BEGIN.match(file.readline(_LINE)) and _HEADER.match(file.readline(_LINE)))
    except (OSError, DocumentError):
        return False


def mbox_messages(path: Path) -> Iterator[MboxMessage]:
    """Yields the mails of an mbox, in order. Raises OSError if the file cannot be read.

    `mailbox.mbox` is not used because it opens the file for writing, takes every line that begins with "From " for a
    mail, whatever surrounds it, and reads lines of any length.
    """
    with _open_file(path) as file:
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
    """Returns True if this folder is a Maildir."""
    return all((path / part).is_dir() for part in _PARTS)


def maildir_of(path: Path) -> Path | None:
    """Returns the Maildir around this file, directly or through one of its three folders; None if there is none."""
    for folder in (path.parent.parent, path.parent):
        if (folder == path.parent or path.parent.name in _PARTS) and is_maildir(folder):
            return folder
    return None


def maildir_name(path: Path) -> str:
    """Returns the name of a mail in a Maildir without its marks."""
    return _MARKS.sub("", path.name)


def _read(path: Path, start: int, size: int | None) -> bytes:
    try:
        with _open_file(path) as file:
            size = os.fstat(file.fileno()).st_size if size is None else size
            if size > MAX_FILE:
                raise DocumentError("too_large", f"{size} bytes, at most {MAX_FILE} are read")
            file.seek(start)
            return file.read(size)
    except OSError as error:
        raise DocumentError("unreadable", error.strerror or str(error)) from error


def _open_file(path: Path) -> BinaryIO:
    # Without O_NONBLOCK, opening a named pipe would wait for its writer forever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DocumentError("not_a_file", "expected a regular file, got a folder, a pipe or a device")
    return os.fdopen(descriptor, "rb")
