"""Inputs of a parser that are not files: mails in mailboxes, files in stores, and bytes from another machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar, Protocol


class MailMessage(Protocol):
    """A mail in a mailbox that has no file of its own: it is named like a path, and read when it is parsed."""

    @property
    def path(self) -> str:
        """Returns the mail's name in the form of a file path."""
        ...

    @property
    def lasting(self) -> bool:
        """Returns True if this path will never name other bytes."""
        ...

    def read(self) -> bytes:
        """Returns the mail's bytes in the form of RFC 5322.

        Raises DocumentError if this mail cannot be read, RunError if no mail can. Threads may share it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A file, or a mail in one, that lies on another machine: a `MailMessage` with the name that it is parsed under.

    `modified` is the time of the file's last change in seconds since 1970, None for a mail and if nobody knows.
    """

    path: str
    name: PurePath
    modified: float | None
    #: The path may name other bytes at another time.
    lasting: ClassVar[bool] = False

    def read(self) -> bytes:
        """Returns its bytes. Raises DocumentError if they cannot be read, RunError if nothing can."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Sent:
    """The bytes of a file or a mail that another process has read; the parser gets `path` as their name.

    `modified` is the time of the file's last change in seconds since 1970, None for a mail without a file.
    """

    path: PurePath
    data: bytes
    modified: float | None = None
