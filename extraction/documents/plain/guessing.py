"""Guesses the charset of text that names none, and is neither ASCII nor UTF-8."""

from __future__ import annotations

import re

from charset_normalizer import from_bytes

from cinnabar.extraction.documents.content.language import language_of_text

# Bytes that are looked at.
_SAMPLE = 4_000
# In a language with an alphabet of its own nearly all letters lie beyond ASCII, in French or Polish every sixth.
_FOREIGN_LETTERS = 0.6
# Shorter Latin texts, and those of a doubtful language, are Western.
_LEAST_LETTERS, _LEAST_LATIN, _LEAST_PROBABILITY = 4, 40, 0.7
_WORD = re.compile(rb"[A-Za-z]{0,40}[\x80-\xff][A-Za-z\x80-\xff]{0,200}")
_SIGN_WITHIN = re.compile(r"(?<=[^\W\d_])[\x80-\x9f¡-»¼-¿×÷˘˛ˇ˝˙¨¸‚-›](?=[^\W\d_])")
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_BEFORE = 200
_LINE = re.compile(rb"[^\r\n\x80-\xff]{0,%d}[\x80-\xff][^\r\n]{0,2000}" % _BEFORE)
_DEFAULT = "cp1252"
_BEYOND = bytes(range(0x80, 0x100))
_ALPHABETS = (
    "cp1251", "koi8_r", "koi8_u", "iso8859_5", "cp866", "mac_cyrillic", "cp1253", "iso8859_7", "cp1255", "cp1256",
    "iso8859_6", "cp874", "shift_jis", "cp932", "euc_jp", "gb18030", "big5", "cp949", "euc_kr",
)  # fmt: skip
# Of the charsets for Latin letters, the languages that need one besides Windows-1252.
_LATIN = {
    "cp1250": ("pl", "cs", "sk", "hu", "sl", "hr", "ro", "bs", "sr", "sh"),
    "iso8859-2": ("pl", "cs", "sk", "hu", "sl", "hr", "ro", "bs", "sr", "sh"),
    "cp1254": ("tr", "az"),
    "cp1257": ("lt", "lv", "et"),
}
# Codecs that hold all of the one that was found, as mail programs use them.
_WIDER = {"shift_jis": "cp932", "euc_kr": "cp949", "big5": "cp950", "koi8_r": "koi8-r", "koi8_u": "koi8-u"}


def guessed_charset(data: bytes) -> str:
    """Returns the likeliest charset of bytes without a declared one: Windows-1252, if nothing tells another."""
    sample = sample_of(data)
    if _letters(sample)[0] < _LEAST_LETTERS:
        return _DEFAULT
    return _of_alphabet(sample) if is_of_another_alphabet(data) else _of_latin(sample)


def is_of_another_alphabet(data: bytes) -> bool:
    """Returns True if nearly all letters of its words with letters beyond ASCII are such letters."""
    letters, beyond = _letters(sample_of(data))
    return letters >= _LEAST_LETTERS and beyond >= _FOREIGN_LETTERS * letters


def sample_of(data: bytes) -> bytes:
    """Returns the first lines that hold letters beyond ASCII."""
    lines: list[bytes] = []
    at = size = 0
    # The line is looked for only around such a letter: at each byte of a long ASCII text it would take 200 steps.
    while size <= _SAMPLE and (letter := _BEYOND_ASCII.search(data, at)) is not None:
        match = _LINE.search(data, max(at, letter.start() - _BEFORE))
        assert match is not None, "the letter itself is a line"
        lines.append(match[0])
        size += len(match[0])
        at = match.end()
    return b"\n".join(lines)[:_SAMPLE]


def _letters(sample: bytes) -> tuple[int, int]:
    """Returns the letters of words that hold some beyond ASCII, and how many those are."""
    words = b"".join(_WORD.findall(sample))
    return len(words), len(words) - len(words.translate(None, _BEYOND))


def _of_alphabet(sample: bytes) -> str:
    best = from_bytes(sample, cp_isolation=list(_ALPHABETS)).best()
    return _DEFAULT if best is None else _WIDER.get(best.encoding, best.encoding)


def _of_latin(sample: bytes) -> str:
    chosen, most = _DEFAULT, _LEAST_PROBABILITY
    if len(sample) < _LEAST_LATIN:
        return chosen
    for charset, languages in _LATIN.items():
        try:
            text = sample.decode(charset)
        except UnicodeError:
            continue
        language, sure = language_of_text(text)
        if language not in languages:
            continue
        # A sign within a word is a letter of another charset.
        signs = len(_SIGN_WITHIN.findall(text)) / max(1, len(_WORD.findall(sample)))
        if sure - signs > most:
            chosen, most = charset, sure - signs
    return chosen
