"""The keys by which names are compared: without case, then also without accents."""

from __future__ import annotations

import unicodedata

# Letters with a stroke or dot that Unicode does not split off, and their plain spelling.
_PLAIN = str.maketrans({"ı": "i", "ł": "l", "đ": "d", "ð": "d", "ø": "o", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe"})


def exact_key(name: str) -> str:
    """Returns the name in compatibility form (NFKC) without case and invisible marks; "ß" becomes "ss"."""
    if name.isascii():
        return name.lower()
    name = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def loose_key(key: str) -> str:
    """Returns a key of `exact_key` without the accents of Latin, Greek and Cyrillic letters; other scripts keep theirs.

    In the scripts of India vowels are marks, so only the combining diacritics U+0300 to U+036F are removed.
    """
    if key.isascii():
        return key
    apart = unicodedata.normalize("NFD", key)
    bare = "".join(c for c in apart if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", bare).translate(_PLAIN)
