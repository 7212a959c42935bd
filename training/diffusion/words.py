"""Invented words, some of which are held back from training."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

_ONSETS = (*"bcdfghjklmnprstvwz", "br", "ch", "cl", "dr", "fl", "gr", "kr", "pl", "pr", "sh", "st", "tr")
_NUCLEI = (*"aeiou", "ai", "ea", "ou")
_CODAS = ("", "", "", "l", "m", "n", "r", "s", "t", "nd", "rk", "st")
#: One word in so many is held back.
_HELD_BACK = 8


def held_back(word: str) -> bool:
    """Returns whether a word is kept out of the training pages."""
    return hashlib.sha256(word.encode()).digest()[0] % _HELD_BACK == 0


@dataclass(frozen=True, slots=True)
class Words:
    """Draws words: those held back only, or none of these."""

    held_back: bool = False

    def draw(self, rng: random.Random, least: int = 1, most: int = 3) -> str:
        """Returns a word in lower case, of `least` to `most` syllables."""
        while True:
            count = rng.randint(least, most)
            word = "".join(rng.choice(_ONSETS) + rng.choice(_NUCLEI) + rng.choice(_CODAS) for _ in range(count))
            if held_back(word) == self.held_back:
                return word
