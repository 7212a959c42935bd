"""Who wrote a letter to whom, by its window: a line with the sender's whole address, above the addressee's lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cinnabar.engine.readings.defined_terms import DefinedTerm, Span

#: What the two are in a letter or an invoice; a field of another name is compared with these.
SENDER, ADDRESSEE = ("sender", "issuer", "seller"), ("recipient", "addressee", "customer", "buyer")
#: The most characters of a page above its addressee, and the most lines of one.
LONGEST_HEAD, ADDRESS_LINES = 2_000, 7
# A postal code with its city: "94032 Passau", "York YO1 6HS", "Salem, OR 97301".
_CITY = re.compile(r"\b\d{4,5}(?: [A-Z]{2})?\s+[^\W\d_]|\b[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}\b|\b[A-Z]{2} \d{5}\b")
_PART = re.compile(r"\s*(?:[·•|,;∙⋅*]|\s[–—-]\s)\s*")
# Lines as far as the next column of the page.
_LINE = re.compile(r"^[ \t]*(\S+(?: \S+)*)[^\n]*$", re.MULTILINE)


def letter_parties(text: str) -> Iterator[DefinedTerm]:
    """Yields the sender and the addressee of a page, each by all that they may be called; none without such a line."""
    lines = [match.span(1) for match in _LINE.finditer(text[:LONGEST_HEAD])]
    for place, (start, end) in enumerate(lines):
        parts = [*_PART.finditer(text, start, end)]
        below = _address(text, lines[place + 1 : place + 1 + ADDRESS_LINES])
        if len(parts) > 1 and _CITY.search(text, parts[0].end(), end) and below and text.count("\n", end, below[0]) < 4:
            yield from _named(SENDER, (start, parts[0].start()), (start, end))
            yield from _named(ADDRESSEE, lines[place + 1], below)
            return


def _address(text: str, lines: list[Span]) -> Span | None:
    """Returns the characters of an address of several lines that begins with the first of these; None if none does."""
    for count, (start, end) in enumerate(lines):
        if len(_PART.findall(text[start:end])) > 1 or (count and text[:start].endswith("\n\n")):
            return None
        if count and _CITY.search(text, start, end):
            return lines[0][0], end
    return None


def _named(words: tuple[str, ...], name: Span, party: Span) -> Iterator[DefinedTerm]:
    for word in words:
        yield DefinedTerm(word, (party[1], party[1]), name, party)
