"""What a parser reads besides files: a mail that lies in no file of its own, and what was read elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Protocol


class Message(Protocol):
    """A mail in a mailbox."""

    @property
    def path(self) -> str:
        """Names it, as the path of a file does."""
        ...

    @property
    def lasting(self) -> bool:
        """Whether this path will never name other bytes."""
        ...

    def read(self) -> bytes:
        """Its bytes, as RFC 5322 has them.

        Raises DocumentError where this one cannot be read, RunError where none can. Threads may share it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Sent:
    """The bytes of a file or a mail that were read elsewhere; `path` is the name that they are parsed by."""

    path: PurePath
    data: bytes
