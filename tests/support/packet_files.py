"""Packets that a test draws: PDFs of several documents."""

from __future__ import annotations

from collections.abc import Sequence

from reportlab.pdfgen.canvas import Canvas
from tests.support.drawn_pages import drawn

_SENTENCES = {
    "invoice": "We delivered forty oak chairs and a round table to your shop in Bremen and ask for payment.",
    "minutes": "The board of the rowing club met in the boat house and voted on the new landing stage.",
    "recipe": "Stir the flour into the butter, add warm milk slowly and let the sauce simmer until it thickens.",
}


def page(kind: str, name: str, number: int, of: int, lines: int = 30) -> Sequence[str]:
    """Returns the lines of a page: a title on the first one, the number of the page on each."""
    title = [f"{kind.upper()} {name}", ""] if number == 1 else []
    body = [f"{_SENTENCES[kind]}" for _ in range(lines)]
    facts = [f"name={name}", "total=3.50"] if number == of else []
    return [*title, *body, *facts, "", f"Page {number} of {of}"]


def packet(*documents: Sequence[Sequence[str]]) -> bytes:
    """Returns a PDF of these documents, each a list of pages of lines; a page without lines is blank."""

    def draw(lines: Sequence[str]):
        def on(sheet: Canvas) -> None:
            for at, line in enumerate(lines):
                sheet.setFont("Helvetica-Bold" if at == 0 and line.isupper() else "Helvetica", 18 if at == 0 else 11)
                sheet.drawString(60, 790 - 20 * at, line)

        return on

    return drawn(*(draw(lines) for document in documents for lines in document))


def three() -> bytes:
    """Returns a packet of an invoice of two pages, minutes of three and a recipe of one."""
    documents = [("invoice", "A", 2), ("minutes", "B", 3), ("recipe", "C", 1)]
    return packet(*([page(kind, name, n, of) for n in range(1, of + 1)] for kind, name, of in documents))
