"""Writes moments of time as RFC 3339 texts, the form in which facts hold them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(time: datetime) -> str:
    """Returns the moment with its offset; a time without one is in UTC, as in a mail with the offset -0000.

    Raises ValueError if RFC 3339 cannot write it.
    """
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    text = time.isoformat(timespec="seconds")
    offset = text[19:]
    if len(offset) != len("+00:00"):
        raise ValueError(f"expected an offset in whole minutes, got {offset}")
    return text[:19] + ("Z" if offset == "+00:00" else offset)
