"""Names of properties from the words of a document or a table."""

from __future__ import annotations

import re
import unicodedata

#: The most characters of a name, so that columns stay readable.
LONGEST_NAME = 48

_NO_WORD = re.compile(r"[^\w]+|_+")
# Letters that fall apart into no base letter and marks.
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"})


def property_name(label: str, taken: frozenset[str] | set[str] = frozenset()) -> str:
    """The label as a name in small letters with underscores, with a number behind it if the name is taken."""
    lowered = unicodedata.normalize("NFKD", label.lower().translate(_LETTERS))
    bare = "".join(letter for letter in lowered if not unicodedata.combining(letter))
    words = [word for word in _NO_WORD.split(bare) if word]
    name = ""
    for word in words:
        longer = f"{name}_{word}" if name else word[:LONGEST_NAME]
        if len(longer) > LONGEST_NAME:
            break
        name = longer
    name = name or "field"
    if name[0].isdigit():
        name = f"n_{name}"
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def title_of(label: str) -> str:
    """The label as a title: on one line, its first letter large, without the colon behind it."""
    words = " ".join(label.split()).rstrip(" :.=").strip()
    return words[:1].upper() + words[1:]
