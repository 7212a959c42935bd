"""Charsets: which names are known, and bytes as text."""

from __future__ import annotations

import codecs

# Charsets that a file may name. The standard library also has codecs that are not charsets (hex, zlib, punycode) and
# would run them on the content.
_NAMES = """
ascii utf-8 utf-16 utf-16-le utf-16-be utf-32 utf-7 cp437 cp850 cp852 cp855 cp857 cp858 cp862 cp864 cp866
cp874 cp932 cp949 cp950 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258
iso8859-1 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9 iso8859-10
iso8859-11 iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u mac-roman mac-cyrillic tis-620
big5 big5hkscs gb2312 gbk gb18030 hz euc-jp euc-kr johab iso2022_jp iso2022_jp_1 iso2022_jp_2 iso2022_kr
shift_jis shift_jisx0213 shift_jis_2004
"""
_CHARSETS = frozenset(codecs.lookup(name).name for name in _NAMES.split())
_ALIASES = {
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "x-sjis": "shift_jis",
    "utf8mb4": "utf-8",
}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def known_charset(name: str | None) -> str | None:
    """Returns the codec of a charset's name, None if it is not one of `_CHARSETS`."""
    if not name:
        return None
    name = name.strip().strip("\"'").lower()
    try:
        found = codecs.lookup(_ALIASES.get(name, name)).name
    except (LookupError, ValueError, UnicodeError):
        return None
    return found if found in _CHARSETS else None


def decode(data: bytes, charset: str | None = None, named: bool = False) -> tuple[str, bool]:
    """Returns `data` as text, and true if the charset had to be guessed.

    A byte order mark wins, then `charset` if it fits, then UTF-8, then UTF-16 without a mark, then Windows-1252. With
    `named` the file names a charset, maybe an unknown one: then UTF-8 with replacement takes the place of a guess.
    """
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return data.decode(codec, "replace"), False
    if charset is not None:
        # A file that declares ASCII often holds other bytes; UTF-8 and Windows-1252 contain ASCII.
        if charset == "ascii":
            charset = "utf-8"
        # Web practice (WHATWG): a declared ISO-8859-1 means Windows-1252.
        codec = "cp1252" if charset == "iso8859-1" else charset
        try:
            return data.decode(codec), False
        except UnicodeError:
            pass
    elif not named:
        sample = data[:4096]
        if len(sample) >= 4 and sample.count(0) * 5 > len(sample) * 2:
            little = sample[1::2].count(0) > sample[::2].count(0)
            return data.decode("utf-16-le" if little else "utf-16-be", "replace"), True
    try:
        return data.decode("utf-8"), charset is not None or named
    except UnicodeError:
        pass
    if charset is not None or named:
        return data.decode(charset or "utf-8", "replace"), True
    return data.decode("cp1252", "replace"), True
