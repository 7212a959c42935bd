"""Counts in messages for people."""

from __future__ import annotations


def counted(count: int, one: str, more: str = "") -> str:
    """Returns a count with its noun: `one` for 1, else `more` (`one` with an s if it is not given)."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"
