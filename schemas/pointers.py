"""JSON pointers (RFC 6901)."""

from __future__ import annotations


def escape(name: str) -> str:
    """A property's name as a token of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")
