"""Finds quoted mails and signatures within the body of a mail, by marks that hold in every language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html

from cinnabar.extraction.documents.content.builder import word_bounds
from cinnabar.extraction.documents.content.limits import (
    MAX_QUOTE_ELEMENTS,
    MAX_QUOTED_LINES,
    MAX_QUOTED_MARKUP,
    MAX_QUOTES,
)
from cinnabar.extraction.documents.plain.html import html_to_text

MarkKind = Literal["quote", "signature"]
#: What a stretch of a text is, with its first character and the one after its last.
Mark = tuple[MarkKind, int, int]

# Lines that may stand below "-- ", and lines of an attribution.
_SIGNATURE_LINES, _ATTRIBUTION_LINES = 20, 3
_QUOTED = re.compile(r"[ ]?>(?!From )")
# A separator has its dashes to both sides of some words, or is a long line without any.
_SEPARATOR = re.compile(r"\s*(?:[-_=]{2,40}[ ]?[^-_=\s][^\n]{0,80}?[ ]?[-_=]{2,40}|-{10,100}|_{10,100})\s*")
_LABELLED = re.compile(r"\s*\*?[^\W\d_][^:：\n@<>]{0,30}[:：]\*?(?:\s+\S|\S)?")
_DAY = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2}\b|\d{1,4}\s?年")
_CLOCK = re.compile(r"\b\d{1,2}[:.h]\d{2}\b|\d{1,2}\s?時")
_HEADLINE = re.compile(r"[^\W\d_]")
# Characters before the year of a time that is written out, such as those of "Wednesday, 24 September 2014 10:12".
_BEFORE_DAY = 35
# Headers that a program writes above a quoted mail.
_LEAST_HEADERS, _MOST_HEADERS = 3, 7
_MARKED = re.compile(r"blockquote|_quote|yahoo_quoted|RplyFwdMsg|appendonsend|signature", re.IGNORECASE)
_QUOTES = frozenset({"gmail_quote", "gmail_quote_container", "protonmail_quote", "yahoo_quoted", "zmail_extra"})
_SIGNATURES = frozenset({"gmail_signature", "moz-signature", "protonmail_signature_block", "signature",
                         "ms-outlook-mobile-signature", "applemailsignature"})  # fmt: skip
# From these elements to the end of their parent, the page is a quoted mail.
_REST = frozenset({"divrplyfwdmsg", "appendonsend"})


def marks(text: str, markup: str = "", hidden: bool = False) -> list[Mark]:
    """Returns the quoted mails and signatures of a body, in order, disjoint.

    markup: the page that the text was made from, if it was one. hidden: the text has what the page hides.
    """
    if text.count("\n") > MAX_QUOTED_LINES:
        return []
    marked = [*_elements(text, markup, hidden), *_lines(text)]
    kept: list[Mark] = []
    # Quotes may hold signatures, and longer stretches hold shorter ones.
    for kind, start, end in sorted(marked, key=lambda mark: (mark[0], mark[1] - mark[2])):
        apart = all(end <= other[1] or start >= other[2] for other in kept)
        if apart and len(kept) < MAX_QUOTES and _is_whole(text, start, end):
            kept.append((kind, start, end))
    return sorted(kept, key=lambda mark: mark[1])


def _is_whole(text: str, start: int, end: int) -> bool:
    """Returns True if a stretch begins and ends between words."""
    if not text[start:end].strip():
        return False
    return (start == 0 or text[start - 1].isspace()) and (end == len(text) or text[end].isspace())


def _lines(text: str) -> Iterator[Mark]:
    starts = [0, *(match.end() for match in re.finditer(r"\n", text)), len(text) + 1]
    lines = [text[start : end - 1] for start, end in pairwise(starts)]
    end = len(lines)
    if (rest := _quoted_rest(lines)) is not None:
        yield "quote", starts[rest], len(text.rstrip())
        end = rest
    covered = [False] * (end + 1)
    for first, last in _quoted_runs(lines[:end]):
        yield "quote", starts[first], starts[last] - 1
        covered[first:last] = [True] * (last - first)
    for number in range(end - 1, -1, -1):
        if lines[number] in ("-- ", "--") and not covered[number]:
            # The signature ends at the quoted mail that follows it.
            stop = next((line for line in range(number + 1, end) if covered[line]), end)
            below = [line for line in range(number + 1, stop) if lines[line].strip()]
            if below and below[-1] - number <= _SIGNATURE_LINES:
                yield "signature", starts[number], starts[below[-1] + 1] - 1
            break


def _quoted_runs(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yields runs of lines with ">", with the attribution above them: first line, and the one after the last."""
    number, free = 0, 0
    while number < len(lines):
        if not _QUOTED.match(lines[number]):
            number += 1
            continue
        last = number
        for line in range(number + 1, len(lines)):
            if _QUOTED.match(lines[line]):
                last = line
            elif lines[line].strip():
                break
        # A transcript of SMTP has ">>>" before the lines of one side, and "<<<" before those of the other.
        if not any(line.startswith("<<<") for line in lines[last + 1 : last + 2]):
            yield _attribution(lines, number, free), last + 1
        number = free = last + 1


def _attribution(lines: list[str], first: int, free: int) -> int:
    """Returns the line that a quote begins with: that of its attribution, which names a day or an address."""
    last = first - 1
    while last >= free and not lines[last].strip():
        last -= 1
    if last < free or first - last > 2 or not lines[last].rstrip().endswith((":", "：")):
        return first
    for begin in range(last, max(free, last - _ATTRIBUTION_LINES + 1) - 1, -1):
        if not lines[begin].strip():
            break
        joined = " ".join(lines[begin : last + 1])
        if _DAY.search(joined) or "@" in joined:
            # What is wrapped began at the top of its paragraph.
            while begin - 1 >= max(free, last - _ATTRIBUTION_LINES + 1) and lines[begin - 1].strip():
                begin -= 1
            return begin
    return first


def _quoted_rest(lines: list[str]) -> int | None:
    """Returns the line from which on all is a quoted mail: a separator with headers below it, or headers alone."""
    for number, line in enumerate(lines):
        if _SEPARATOR.fullmatch(line):
            below = number + 1
            while below < len(lines) and below - number <= 2 and not lines[below].strip():
                below += 1
            head = _header_lines(lines, below)
            # A table or an announcement may begin with dashes and labelled lines, too.
            tells = _HEADLINE.search(line) is not None or any(map(_is_moment, head)) or "@" in " ".join(head)
            if len(head) >= _LEAST_HEADERS and tells:
                return number
        # Without a separator the second header has to tell day and hour, as it does in every language of Outlook, or
        # any header below a line that announces them, as Apple Mail writes it.
        elif _LABELLED.match(line) and (number == 0 or not lines[number - 1].strip()):
            head = _header_lines(lines, number)
            timed = [_is_moment(line) for line in head]
            above = next((line for line in reversed(lines[max(0, number - 2) : number]) if line.strip()), "")
            announced = above.rstrip().endswith((":", "：")) and "@" in " ".join(head)
            if len(head) > _LEAST_HEADERS and (timed[1] or (any(timed) and announced)):
                return number
    return None


def _is_moment(line: str) -> bool:
    """Returns True if the value of a labelled line is a day and an hour, and no text that ends in one."""
    value = re.split("[:：]", line, maxsplit=1)[-1].strip()
    day = _DAY.search(value)
    return day is not None and day.start() <= _BEFORE_DAY and _CLOCK.search(value) is not None


def _header_lines(lines: list[str], first: int) -> list[str]:
    """Returns the labelled lines from `first` on; empty if too many follow for the headers of a mail."""
    block = []
    for line in lines[first : first + _MOST_HEADERS + 1]:
        if not _LABELLED.match(line):
            break
        block.append(line)
    return block if len(block) <= _MOST_HEADERS else []


def _elements(text: str, markup: str, hidden: bool) -> list[Mark]:
    """Returns the marks of a page: its elements are rendered alone, and found in the text by their letters."""
    if len(markup) > MAX_QUOTED_MARKUP or not _MARKED.search(markup):
        return []
    try:
        parser = lxml_html.HTMLParser(no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8")
        tree = lxml_html.fromstring(markup.encode("utf-8", "replace"), parser=parser)
        pieces = list(_outermost(tree))
    except (etree.LxmlError, ValueError, RecursionError):
        return []
    bounds = word_bounds(text).tolist()
    squeezed = "".join(text[start:end] for start, end in bounds)
    marked: list[Mark] = []
    after = 0
    for kind, piece in pieces:
        letters = "".join(html_to_text(piece, hidden)[0].split())
        at = squeezed.find(letters, after) if letters else -1
        if at < 0:
            continue
        after = at + len(letters)
        marked.append((kind, _place(bounds, at), _place(bounds, after - 1) + 1))
    return marked


def _place(bounds: list[list[int]], letter: int) -> int:
    """Returns the place of the letter with this number among those that are not blank."""
    for start, end in bounds:
        if letter < end - start:
            return start + letter
        letter -= end - start
    raise IndexError("there is no such letter")


def _outermost(tree: etree._Element) -> Iterator[tuple[MarkKind, str]]:
    """Yields the markup of the outermost quotes and signatures."""
    count, skipped = 0, None
    for element in tree.iter(etree.Element):
        if skipped is not None and skipped in element.iterancestors():
            continue
        kind = _kind(element)
        if kind is None:
            continue
        count, skipped = count + 1, element
        if count > MAX_QUOTE_ELEMENTS:
            return
        piece = etree.tostring(element, encoding="unicode", method="html", with_tail=False)
        names = {str(element.get("id", "")).lower().removeprefix("x_")}
        if names & _REST:
            rest = [etree.tostring(one, encoding="unicode", method="html") for one in element.itersiblings()]
            yield kind, piece + "".join(rest)
            return
        yield kind, piece


def _kind(element: etree._Element) -> MarkKind | None:
    names = {name.lower().removeprefix("x_") for name in f"{element.get('class', '')} {element.get('id', '')}".split()}
    if element.tag == "blockquote" or names & (_QUOTES | _REST):
        return "quote"
    return "signature" if names & _SIGNATURES else None


def joined_lines(text: str, delete_space: bool) -> str:
    """Returns a text with its soft line ends undone: a line with a blank at its end goes on in the next one.

    Lines of another depth of quoting, and the line above a signature, stay apart. delete_space: the blank is no part
    of the text (`delsp=yes`).
    """
    out: list[str] = []
    soft, before = False, -1
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        content = line.lstrip(">")
        depth = len(line) - len(content)
        # A blank before a line guards lines that begin with ">", "From " or a blank.
        content = content.removeprefix(" ")
        signature = content == "-- "
        goes_on = soft and depth == before and not signature
        soft, before = content.endswith(" ") and not signature, depth
        if soft and delete_space:
            content = content[:-1]
        if goes_on:
            out[-1] += content
        else:
            out.append(f"{'>' * depth} {content}" if depth else content)
    return "\n".join(out)
