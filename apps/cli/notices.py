"""Notices of the commands: lines for people on standard error."""

from __future__ import annotations

import sys

from cinnabar.wording import harmless


def print_notice(note: str) -> None:
    """Prints a line for people to standard error."""
    print(harmless(f"cinnabar: {note}"), file=sys.stderr, flush=True)
