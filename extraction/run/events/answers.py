"""What a receiver may answer instead of taking an event."""

from __future__ import annotations


class Later(Exception):
    """It may take the event later, not before `after` seconds; the text says why."""

    def __init__(self, why: str, after: float = 0.0) -> None:
        self.after = after
        super().__init__(why)


class Refusal(Exception):
    """It will never take this event; the text says why."""
