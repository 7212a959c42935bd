"""The facts of a PDF: the properties that its writer gave it, and its pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from cinnabar.extraction.documents.content.document import Fact
from cinnabar.extraction.documents.content.moments import moment

# The keys of the metadata, by the facts that they hold.
_TEXTS = {"pdf.title": "title", "pdf.author": "author", "pdf.subject": "subject", "pdf.keywords": "keywords"}
_MOMENTS = {"pdf.created": "creationdate", "pdf.modified": "moddate"}
# A date of ISO 32000, 7.9.4; a file that names no day has no date.
_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)(\d\d)(\d\d)?(\d\d)?(\d\d)?(?:Z(?:00'?(?:00'?)?)?|([+-])(\d\d)'?(?:(\d\d)'?)?)?"
)


def pdf_facts(metadata: Mapping[str, str], pages: int) -> dict[str, Fact]:
    """Returns the facts of a PDF with these properties and so many pages."""
    facts = {"document.pages": Fact(pages)}
    for name, key in _TEXTS.items():
        if text := metadata.get(key, "").strip():
            facts[name] = Fact(text)
    for name, key in _MOMENTS.items():
        if time := pdf_moment(metadata.get(key, "")):
            facts[name] = Fact(time)
    return facts


def pdf_moment(text: str) -> str:
    """Returns the moment that a date of a PDF names, "" if it names no day; a date without an offset is in UTC."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return ""
    *parts, sign, hours, minutes = match.groups()
    ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    try:
        zone = timezone(-ahead if sign == "-" else ahead)
        return moment(datetime(year, month, day, hour, minute, second, tzinfo=zone))
    except ValueError:
        return ""
