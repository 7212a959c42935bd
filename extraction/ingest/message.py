"""What a parser reads besides files: a mail that lies in no file of its own."""

from __future__ import annotations

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
