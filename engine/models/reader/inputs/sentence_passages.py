"""Stretches of a text that the sentence encoder reads: passages of many words, and sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cinnabar.engine.models.reader.inputs.thresholds import (
    MOST_STRETCHES,
    PASSAGE_STEP,
    PASSAGE_WORDS,
    SHORTEST_SENTENCE,
)

Stretch = tuple[int, int]
_WORD = re.compile(r"\S+")
_SENTENCE = re.compile(r"[^.!?\n]*[^.!?\n\s][^.!?\n]*[.!?]*")


def passages(text: str) -> list[Stretch]:
    """Returns overlapping passages of a text, [start, end) in characters; [] if it has no words."""
    words = [word.span() for word in _WORD.finditer(text)]
    begins = range(0, max(1, len(words) - (PASSAGE_WORDS - PASSAGE_STEP)), PASSAGE_STEP)
    found = [(words[at][0], words[min(at + PASSAGE_WORDS, len(words)) - 1][1]) for at in begins] if words else []
    return _evenly(found)


def sentences(text: str) -> list[Stretch]:
    """Returns the sentences and lines of a text, [start, end) in characters; [] if it has no words."""
    stretches: list[Stretch] = []
    for match in _SENTENCE.finditer(text):
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        end = match.start() + len(match[0].rstrip())
        if stretches and len(text[slice(*stretches[-1])].split()) < SHORTEST_SENTENCE:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
    return _evenly(stretches)


def _evenly(found: Sequence[Stretch]) -> list[Stretch]:
    """Returns at most MOST of these, the first and the last among them."""
    if len(found) <= MOST_STRETCHES:
        return list(found)
    return [found[round(at * (len(found) - 1) / (MOST_STRETCHES - 1))] for at in range(MOST_STRETCHES)]
