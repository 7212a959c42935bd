"""Charsets: which names are known, and bytes as text, without the armour of a signature."""

from __future__ import annotations

import codecs
import re

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Fact
from cinnabar.extraction.documents.content.limits import MAX_TEXT_PAGES
from cinnabar.extraction.documents.content.marked_text import part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext

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
    "windows-31j": "cp932",
    "utf8mb4": "utf-8",
    "unicode-1-1-utf-8": "utf-8",
    "cn-gb": "gb18030",
    "gb_2312": "gb18030",
    "cn-big5": "big5",
    "x-x-big5": "big5",
    "ks_c_5601": "cp949",
    "ksc5601": "cp949",
    "iso-2022-jp-ms": "iso2022_jp_2",
    "cp50220": "iso2022_jp_2",
    "cp50221": "iso2022_jp_2",
}
# Names that say that the charset is not known.
_UNDECLARED = frozenset(
    {"unknown-8bit", "x-unknown", "unknown", "x-user-defined", "default", "default_charset", "binary"}
)
_CODE_PAGE = re.compile(r"(?:x-)?(?:windows|win|cp|ms|ibm|dos)[-_ ]?(\d{3,4})")
# Codecs that hold all of another and more; mail programs use them under its name.
_WIDER = {
    "gb2312": ("gb18030",), "gbk": ("gb18030",), "big5": ("cp950", "big5hkscs"), "shift_jis": ("cp932",),
    "euc_kr": ("cp949",), "iso2022_jp": ("iso2022_jp_2", "iso2022_jp_ext"), "tis-620": ("cp874",),
}  # fmt: skip
# Charsets whose every byte is a letter to some reader: a wrong name goes unnoticed.
_LATIN = ("cp1252", "iso8859-15")
_ESCAPES = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$", "iso2022_jp_2"), (b"\x1b(J", "iso2022_jp_2"))
_HZ = re.compile(rb"~\{(?:[!-w][!-~]){1,200}~\}")
_SEARCHED = 1 << 16
# The characters beyond ASCII that have to be right, for a wrong one, in a text of its declared charset. In UTF-8, one:
# hardly a text of another charset holds any.
_RIGHT_CHARACTERS = 10
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CYRILLIC = ("cp1251", "koi8-r", "koi8-u", "iso8859-5", "mac-cyrillic")
_CASED = re.compile(r"[^\W\d_]{3,}")
_KEYS = r"(?:(?:Hash|Charset|Version|Comment|MessageID):[^\n]*\n)*"
_ARMOUR = re.compile(
    rf"^-----BEGIN PGP SIGNED MESSAGE-----[ \t\r]*\n{_KEYS}[ \t\r]*\n|^- (?=-)"
    rf"|^-----BEGIN PGP SIGNATURE-----[ \t\r]*\n{_KEYS}"
    r"(?:[\w+/=]{1,76}[ \t\r]*(?:\n|\Z)|[ \t\r]*\n)*(?:-----END PGP SIGNATURE-----)?",
    re.MULTILINE,
)
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
    name = _ALIASES.get(name, name)
    for spelling in (name, _CODE_PAGE.sub(r"cp\1", name), name.removeprefix("x-")):
        try:
            codec = codecs.lookup(spelling).name
        except (LookupError, ValueError, UnicodeError):
            continue
        if codec in _CHARSETS:
            return codec
    return None


def markup_charset(data: bytes) -> str | None:
    """Returns the name of the charset that a page tells in its own markup."""
    match = _META.search(data, 0, 4096)
    return match[1].decode("ascii") if match else None


def is_undeclared(name: str | None) -> bool:
    """Returns True for the name of a charset that says that the charset is not known."""
    return name is not None and name.strip().strip("\"'").lower() in _UNDECLARED


def decode(data: bytes, charset: str | None = None, named: bool = False) -> tuple[str, bool]:
    """Returns `data` as text, and true if the charset had to be guessed.

    A byte order mark wins, then `charset` if it fits, then UTF-8, then UTF-16 without a mark, then the likeliest
    charset of the text. With `named` the file names a charset, maybe an unknown one.
    """
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return data.decode(codec, "replace"), False
    if charset is not None and charset != "ascii":
        text = _decode_declared(data, charset)
        if text is not None:
            return text, False
    elif data.isascii() and (escaped := _decode_escapes(data)) is not None:
        return escaped, charset is None
    elif charset is None and not named:
        sample = data[:4096]
        if len(sample) >= 4 and sample.count(0) * 5 > len(sample) * 2:
            little = sample[1::2].count(0) > sample[::2].count(0)
            return data.decode("utf-16-le" if little else "utf-16-be", "replace"), True
    try:
        # A file that declares ASCII often holds other bytes; UTF-8 contains ASCII.
        return data.decode("utf-8"), charset not in (None, "ascii") or (named and charset is None)
    except UnicodeError:
        pass
    if charset is not None and charset != "ascii":
        text = data.decode(charset, "replace")
        wrong = text.count("\ufffd")
        right = len(text) - len(text.encode("ascii", "ignore")) - wrong
        if 0 < wrong * (1 if charset == "utf-8" else _RIGHT_CHARACTERS) <= right:
            return text, True
    # Cold start: the module that guesses is large, and most texts do not need it.
    from cinnabar.extraction.documents.plain.guessing import guessed_charset

    return data.decode(guessed_charset(data), "replace"), True


def _decode_declared(data: bytes, charset: str) -> str | None:
    """Returns the text in its declared charset, or in a wider one of the same use; None if it is in another."""
    # Web practice (WHATWG): a declared ISO-8859-1 means Windows-1252.
    charset = "cp1252" if charset == "iso8859-1" else charset
    for codec in (charset, *_WIDER.get(charset, ())):
        try:
            text = data.decode(codec)
        except UnicodeError:
            continue
        return None if not data.isascii() and _is_another(data, text, codec) else text
    return None


def _is_another(data: bytes, text: str, codec: str) -> bool:
    """Returns True if a text cannot be in the charset that it declares, although each byte of it could."""
    if codec in _LATIN:
        try:
            data.decode("utf-8")
        except UnicodeError:
            # Cold start: as above.
            from cinnabar.extraction.documents.plain.guessing import is_of_another_alphabet

            return is_of_another_alphabet(data)
        return True
    if codec in _CYRILLIC:
        words = _CASED.findall(text[:4096])
        return len(words) >= 4 and sum(word[0].islower() and word[1:].isupper() for word in words) > len(words) // 3
    return False


def _decode_escapes(data: bytes) -> str | None:
    """Returns a text that shifts between charsets by escape sequences, None if it is plain ASCII."""
    codec = next((codec for mark, codec in _ESCAPES if mark in data), "hz" if _HZ.search(data, 0, _SEARCHED) else None)
    if codec is None:
        return None
    try:
        return data.decode(codec)
    except UnicodeError:
        return None


def drop_armour(text: str) -> str:
    """Returns a text that OpenPGP signs without what belongs to its signature."""
    return _ARMOUR.sub("", text) if "-----BEGIN PGP SIGNED MESSAGE-----" in text else text


def add_text(reading: ParseContext, data: bytes) -> None:
    """Appends a plain text file; form feeds end pages. Raises DocumentError: unsupported for binary data."""
    text, guessed = decode(data)
    if "\x00" in text:
        raise DocumentError("unsupported", "the file is named as text and holds NUL bytes")
    if guessed:
        reading.builder.flags.add("charset_guess")
    if (plain := drop_armour(text)) != text:
        text = plain
        reading.builder.flags.add("signed")
    pages = text.split("\f", MAX_TEXT_PAGES - 1)
    if len(pages) > 1 and not pages[-1].strip():
        pages.pop()
    if len(pages) == 1:
        with part_text(reading) as lines:
            lines.line(pages[0].strip("\r\n"))
        return
    for number, page in enumerate(pages, 1):
        reading.builder.open("page", page=number)
        reading.builder.write(page.strip("\r\n"))
        reading.builder.close()
    if reading.is_top:
        reading.builder.facts["document.pages"] = Fact(len(pages))
