"""Fields of a draft that the parser knows already: the headers of mails, bound to their facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cinnabar.extraction.documents import Document
from cinnabar.extraction.drafting.page_lines import CellPage
from cinnabar.schemas.facts import FACTS
from cinnabar.schemas.reading.schema_object import BINDING

#: The facts that a draft proposes, if the text of this share of the documents prints them.
PROPOSED = ("mail.from.name", "mail.from.address", "mail.to.address", "mail.sent", "mail.subject")
SHARE_WITH_FACT = 0.6

_SHAPES: dict[str, dict[str, Any]] = {
    "text": {"type": ["string", "null"]},
    "texts": {"type": "array", "items": {"type": "string"}},
    "moment": {"type": ["string", "null"], "format": "date-time"},
}


def bound_facts(documents: Sequence[Document]) -> dict[str, dict[str, Any]]:
    """The schemas of the proposed facts that most documents print, by property name."""
    found = {}
    for fact in PROPOSED:
        printed = sum(fact in one.facts and bool(one.facts[fact].spans) for one in documents)
        if printed >= SHARE_WITH_FACT * len(documents):
            _, *words = fact.split(".")
            title = " ".join(words).capitalize()
            said = {"title": title, "description": FACTS[fact].about, **_SHAPES[FACTS[fact].kind], BINDING: fact}
            found["_".join(words)] = said
    return found


def lines_of_facts(document: Document, page: CellPage) -> frozenset[int]:
    """The lines of a page on which facts of a mail are printed."""
    spans = [span for name, fact in document.facts.items() if name.startswith("mail.") for span in fact.spans]
    return frozenset(
        number
        for number, line in enumerate(page.lines)
        if any(line.start <= start <= line.start + len(line.text) for start, _ in spans)
    )
