"""The beginnings of words, by which the words of a field's name are known again in a text."""

from __future__ import annotations

import re
from collections.abc import Set

#: The characters before a value that are searched for words of its field's name, and the letters of a word that must
#: agree.
NAME_NEAR, NAME_STEM = 60, 5
_WORD = re.compile(r"[^\W_]+")


def stems(words: str, least: int = 3) -> set[str]:
    """Returns the beginnings of the words of at least so many letters, in small letters."""
    return {word.lower()[:NAME_STEM] for word in _WORD.findall(words) if len(word) >= least}


def beginnings(text: str) -> set[str]:
    """Returns the beginnings, of three letters up to `NAME_STEM`, of a text's words."""
    words = {word[:NAME_STEM].lower() for word in _WORD.findall(text)}
    return {word[:letters] for word in words for letters in range(3, NAME_STEM + 1)}


def share_of_name(label: str, begun: Set[str]) -> float:
    """Returns the share of a name's words with which one of a text's words begins (`beginnings`)."""
    wanted = stems(label)
    return len(wanted & begun) / len(wanted) if wanted else 0.0
