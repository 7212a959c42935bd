"""Parses plain text and HTML files, and decodes text for mails too."""

from __future__ import annotations

import codecs
import re
from html import unescape

from inscriptis import Inscriptis
from inscriptis.css_profiles import STRICT_CSS_PROFILE
from inscriptis.model.config import ParserConfig
from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html

from cinnabar.extraction.documents import Document, Fact
from cinnabar.extraction.ingest.builder import DocumentBuilder
from cinnabar.schemas.errors import DocumentError

_MAX_HTML = 4_000_000

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
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,300}\?>")
_TAG = re.compile(r"<(/?)([A-Za-z!?][A-Za-z0-9]*)?[^<>]*>?")
_HTML_CONFIG = ParserConfig(css=STRICT_CSS_PROFILE, display_images=False, display_links=False)


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


def html_to_text(markup: str) -> tuple[str, bool]:
    """Returns the visible text of an HTML page with its tables kept in rows, and true if it was cut.

    It fetches nothing that the page names. Pages nested too deep for the renderer lose their layout and keep their
    words.
    """
    cut = len(markup) > _MAX_HTML
    markup = _XML_DECLARATION.sub("", markup[:_MAX_HTML]).replace("\x00", "\ufffd")
    if not markup.strip():
        return "", cut
    try:
        # no_network is lxml's default; it is explicit because it must stay so.
        parser = lxml_html.HTMLParser(
            no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8"
        )
        tree = lxml_html.fromstring(markup.encode("utf-8", "replace"), parser=parser)
        deep = any("depth" in entry.message for entry in parser.error_log)
        text = "" if deep else str(Inscriptis(tree, _HTML_CONFIG).get_text())
    except (etree.LxmlError, ValueError, RecursionError, AttributeError, KeyError, IndexError):
        text = ""
        deep = True
    if deep:
        text = _without_tags(markup)
    return tidy(text), cut


def _without_tags(markup: str) -> str:
    """Returns the text between the tags, in linear time, without scripts and style sheets."""
    pieces: list[str] = []
    hidden = ""
    position = 0
    for match in _TAG.finditer(markup):
        if not hidden:
            pieces.append(markup[position : match.start()])
        name = (match[2] or "").lower()
        if hidden:
            hidden = "" if match[1] and name == hidden else hidden
        elif not match[1] and name in ("script", "style"):
            hidden = name
        position = match.end()
    pieces.append("" if hidden else markup[position:])
    return unescape(" ".join(piece for piece in pieces if piece.strip()))


def tidy(text: str) -> str:
    """Returns `text` without blanks at line ends, with at most eight blanks in a row and at most one blank line."""
    text = re.sub(r"[^\S\n]+\n", "\n", text.replace("\xa0", " ") + "\n")
    text = re.sub(r" {9,}", " " * 8, text)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def parse_text(data: bytes, path: str, media_type: str = "text/plain") -> Document:
    """Parses a plain text file; form feeds end pages.

    Raises DocumentError: empty if it holds only blanks, unsupported for binary data.
    """
    text, guessed = decode(data)
    if "\x00" in text:
        raise DocumentError("unsupported", "the file is named as text and holds NUL bytes")
    builder = DocumentBuilder()
    pages = text.split("\f")
    if len(pages) > 1 and not pages[-1].strip():
        pages.pop()
    for number, page in enumerate(pages, 1):
        builder.open("page" if len(pages) > 1 else "body", page=number if len(pages) > 1 else 0)
        builder.write(page.strip("\r\n"))
        builder.close()
    return _finish(builder, data, path, media_type, guessed, len(pages) if len(pages) > 1 else 0)


def parse_html(data: bytes, path: str) -> Document:
    """Parses an HTML file into its visible text. Raises DocumentError("empty") if it has no word."""
    named = _META.search(data[:4096])
    text, guessed = decode(data, known_charset(named[1].decode("ascii")) if named else None)
    text, cut = html_to_text(text)
    builder = DocumentBuilder()
    if cut:
        builder.flags.add("truncated")
    builder.open("body", media_type="text/html")
    builder.write(text)
    builder.close()
    return _finish(builder, data, path, "text/html", guessed)


def _finish(
    builder: DocumentBuilder, data: bytes, path: str, media_type: str, guessed: bool, pages: int = 0
) -> Document:
    if guessed:
        builder.flags.add("charset_guess")
    if pages:
        builder.facts["document.pages"] = Fact(pages)
    document = builder.build(data, path, media_type)
    if not len(document.words):
        raise DocumentError("empty", f"{len(data)} bytes without a word")
    return document

