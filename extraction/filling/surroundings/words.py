"""The words in several languages that kinds of surroundings know: patterns of alternatives, in `words.tsv` by name."""

from __future__ import annotations

import re
from pathlib import Path

WORDS = dict(line.split("\t") for line in Path(__file__).with_name("words.tsv").read_text("utf-8").splitlines())


def whole_words(name: str) -> re.Pattern[str]:
    """Returns a pattern of the words of this name, in any letter case."""
    return re.compile(rf"\b(?:{WORDS[name]})\b", re.IGNORECASE)
