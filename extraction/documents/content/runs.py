"""Runs of text, some of them raised or lowered, as one plain text."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from cinnabar.extraction.documents.content.raised import raised_text

# A raised text is read with this much of the text before it.
_BEFORE = 64


def joined(runs: Iterable[tuple[str, int]]) -> str:
    """Returns the text of runs, each with its level: 0, or 1 if it is raised, or -1 if it is lowered."""
    pieces = [("".join(text for text, _ in group), level) for level, group in groupby(runs, key=lambda run: run[1])]
    out: list[str] = []
    before = ""
    for at, (text, level) in enumerate(pieces):
        after = pieces[at + 1][0] if at + 1 < len(pieces) else ""
        out.append(raised_text(before, text, after, level < 0) if level else text)
        before = (before + out[-1])[-_BEFORE:]
    return "".join(out)
