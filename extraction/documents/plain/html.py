"""HTML: its visible text, with tables in rows."""

from __future__ import annotations

import re
from html import unescape

from inscriptis import Inscriptis
from inscriptis.model.config import ParserConfig
from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html

from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.document_in_making import Reading
from cinnabar.extraction.documents.plain.charsets import decode, known_charset, markup_charset
from cinnabar.extraction.documents.plain.html_hidden import HIDING, hide
from cinnabar.extraction.documents.plain.html_layout import CSS, Layout, data_of
from cinnabar.extraction.documents.plain.html_tables import TABLE_TAGS

_MAX_HTML = 4_000_000
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,300}\?>")
_TAG = re.compile(r"<(/?)([A-Za-z!?][A-Za-z0-9]*)?[^<>]*>?")
_HTML_CONFIG = ParserConfig(
    css=CSS,
    display_images=False,
    display_links=False,
    custom_html_tag_handler_mapping=TABLE_TAGS,
)


def add_html(reading: Reading, data: bytes) -> None:
    """Appends the visible text of an HTML file."""
    text, guessed = decode(data, known_charset(markup_charset(data)))
    text, flags = html_to_text(text, reading.settings.hidden)
    reading.builder.flags |= flags | ({"charset_guess"} if guessed else set())
    reading.add("body", text, media_type="text/html")


def html_to_text(markup: str, hidden: bool = False) -> tuple[str, set[str]]:
    """Returns the visible text of an HTML page with its tables kept in rows, and the flags of the page.

    hidden: hidden text is returned, too. It fetches nothing that the page names. Pages nested too deep for the renderer
    lose their layout and keep their words.
    """
    flags = {"truncated"} if len(markup) > _MAX_HTML else set()
    markup = _XML_DECLARATION.sub("", markup[:_MAX_HTML]).replace("\x00", "\ufffd")
    if not markup.strip():
        return "", flags
    try:
        # no_network is lxml's default; it is explicit because it must stay so.
        parser = lxml_html.HTMLParser(no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8")
        tree = lxml_html.fromstring(markup.encode("utf-8", "replace"), parser=parser)
        deep = any("depth" in entry.message for entry in parser.error_log)
        if not deep:
            flags |= hide(tree, show=hidden)
            Layout().arrange(tree)
            text = clean(str(Inscriptis(tree, _HTML_CONFIG).get_text()))
            text = text if any(map(str.isalnum, text)) else data_of(tree) or text
    except (etree.LxmlError, ValueError, RecursionError, AttributeError, KeyError, IndexError):
        deep = True
    if deep:
        flags -= {"hidden_text", "struck_text"}
        flags |= {"hidden_unsearched"} if HIDING.search(markup) else set()
        text = _without_tags(markup)
    return _tidy_lines(text), flags


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
    return re.sub(r" {9,}", " " * 8, _tidy_lines(text))


def _tidy_lines(text: str) -> str:
    """Returns `text` without blanks at line ends, and with at most one blank line; columns keep their places."""
    # A regular expression for the ends of lines would take quadratic time for a long run of blanks.
    text = "\n".join(line.rstrip() for line in text.replace("\xa0", " ").split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")
