"""Digits of other scripts, as the models and the readings know them: "２０２４／０３／０５", "٢٠٢٤"."""

from __future__ import annotations

import re
import unicodedata

# Digits of any script, with the letters and marks that are written in the width of Chinese and Japanese.
_RUN = re.compile(r"[\dＡ-Ｚａ-ｚ．，／：－٫٬]+")
_MARKS = {"٫": ".", "٬": ","}


def ascii_digits(text: str) -> str:
    """Returns the text with its digits, and the marks between them, in ASCII; each character stays at its place."""
    if text.isascii():
        return text
    return _RUN.sub(_in_ascii, text)


def _in_ascii(run: re.Match[str]) -> str:
    """Returns a run in ASCII if it has a digit of another script."""
    other = any(sign.isdecimal() and not sign.isascii() for sign in run[0])
    return "".join(map(_plain, run[0])) if other else run[0]


def _plain(sign: str) -> str:
    if sign in _MARKS:
        return _MARKS[sign]
    if "！" <= sign <= "～":
        return unicodedata.normalize("NFKC", sign)
    value = unicodedata.decimal(sign, None)
    return sign if value is None else str(value)
