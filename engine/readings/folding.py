"""How names are compared: whole in one case, and then without accents."""

from __future__ import annotations

import unicodedata

# Letters whose stroke or dot is no mark of its own in Unicode, as they are typed without it.
_PLAIN = str.maketrans({"ı": "i", "ł": "l", "đ": "d", "ð": "d", "ø": "o", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe"})


def exact_key(name: str) -> str:
    """The name in compatibility form (NFKC) without case and invisible marks; "ß" is "ss"."""
    if name.isascii():
        return name.lower()
    name = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def loose_key(key: str) -> str:
    """A key of `exact_key` without the accents of Latin, Greek and Cyrillic letters; other scripts keep theirs.

    Vowels are marks in the scripts of India, so nothing but the combining diacritics U+0300 to U+036F goes.
    """
    if key.isascii():
        return key
    apart = unicodedata.normalize("NFD", key)
    bare = "".join(c for c in apart if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", bare).translate(_PLAIN)
