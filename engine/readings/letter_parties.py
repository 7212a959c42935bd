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
# Lines at the left edge, as far as the next column of the page.
_LINE = re.compile(r"^ {0,3}(\S+(?: \S+)*)", re.MULTILINE)
_BLANK = re.compile(r"(?:^|\n[ \t]*\n) {0,3}$")


def letter_parties(text: str) -> Iterator[DefinedTerm]:
    """Yields the sender and the addressee of a page, each by all that they may be called; none without such a line.

    The lines of the addressee are terms of their own, without a name: another column may stand beside, a label above.
    """
    lines = [match.span(1) for match in _LINE.finditer(text[:LONGEST_HEAD])]
    for place, (start, end) in enumerate(lines):
        name, *parts = _PART.split(text[start:end])
        below = _address(text, lines[place + 1 : place + 1 + ADDRESS_LINES])
        # "Dock House, The Quay, Ulm IP11 3TF" below the name of a firm is an address alone.
        has_street = len(parts) > 1 and re.search(r"\d", parts[0]) and not re.search(r"\d", name)
        if has_street and _CITY.search(text, start + len(name), end) and _BLANK.search(text[:start]) and below:
            if text.count("\n", end, below[0][0]) < 4:
                yield from (DefinedTerm(word, (end, end), (start, start + len(name)), (start, end)) for word in SENDER)
                yield from (DefinedTerm(word, (at, at), (at, at), (on, at)) for on, at in below for word in ADDRESSEE)
            return


def _address(text: str, lines: list[Span]) -> list[Span]:
    """Returns the lines of an address that begins with the first of these; none if it does not."""
    for count, (start, end) in enumerate(lines):
        if len(_PART.findall(text[start:end])) > 1 or (count and _BLANK.search(text[:start])):
            return []
        if count and _CITY.search(text, start, end):
            return lines[: count + 1]
    return []
