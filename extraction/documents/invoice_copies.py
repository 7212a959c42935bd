"""Pages that show an electronic invoice whose data the document holds, and where the two differ.

The pages of a PDF repeat the data that lie within it. In a mail the data may lie beside the PDF: they are one invoice
if its pages print the number and the total of the data.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from cinnabar.extraction.documents.content.document import Document, Part, Span

#: The flag of a value, and of its record, that the pages of its invoice do not print.
DATA_DIFFERS = "data_differs"
#: The places of the terms that pages have to print: the number, the total with VAT and the amount due for payment.
_NUMBER, _TOTAL, _DUE = "BT-1", "BT-112", "BT-115"
# Marks of thousands; blanks are those of all widths.
_GROUPING = r"[.,'’\s]?"


@dataclass(frozen=True, slots=True)
class TermValue:
    """A printed term of an invoice's data: its value, and the interval of its line."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class InvoiceData:
    """The data of an invoice: the index of their part, the terms that pages print, and their pages if there are any."""

    part: int
    terms: dict[str, TermValue]
    pages: Span | None = None

    @property
    def name(self) -> tuple[str, str] | None:
        """Returns the number and the total, which tell invoices apart; None if one is missing."""
        number, total = self.terms.get(_NUMBER), self.terms.get(_TOTAL)
        return (number.value, total.value) if number is not None and total is not None else None


def copies_in(document: Document) -> list[Span]:
    """Returns the stretches that repeat the data of an invoice, in order and disjoint: pages, and data sent twice."""
    known = set[tuple[str, str]]()
    repeated: list[Span] = []
    for one in invoices_in(document):
        file = document.parts[document.parts[one.part].parent]
        if one.name is not None and one.name in known:
            repeated.append(Span(file.start, file.end))
        elif one.pages is not None:
            repeated.append(one.pages)
        if one.name is not None:
            known.add(one.name)
    kept: list[Span] = []
    for span in sorted(repeated, key=lambda one: one.start):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def differences(document: Document) -> list[Span]:
    """Returns the lines of invoices' data whose values their pages do not print, in order."""
    spans = []
    for one in invoices_in(document):
        shown = "" if one.pages is None else _plain(document.text[one.pages.start : one.pages.end])
        if any(map(str.isdigit, shown)):
            spans += [term.span for at, term in one.terms.items() if not prints(shown, at, term.value)]
    return spans


def invoices_in(document: Document) -> list[InvoiceData]:
    """Returns the invoices whose data lie in files of the document, in order, with their pages."""
    parts = document.parts
    held = [at for at, part in enumerate(parts) if part.kind == "invoice" and part.parent >= 0]
    invoices: list[InvoiceData] = []
    taken: set[int] = set()
    # Data within a PDF take its pages before data beside it.
    for at in sorted(held, key=lambda at: _pages_around(parts, at) is None):
        around = _pages_around(parts, at)
        terms = _terms(document, parts[at])
        invoice = InvoiceData(at, terms, around)
        if not document.text[parts[at].start : parts[at].end].strip():
            continue
        if around is None:
            for file, pages in _pages_beside(parts, at):
                shown = _plain(document.text[pages.start : pages.end])
                if file not in taken and invoice.name is not None and _shows(shown, *invoice.name):
                    taken.add(file)
                    invoice = InvoiceData(at, terms, pages)
                    break
        else:
            taken.add(parts[parts[at].parent].parent)
        invoices.append(invoice)
    return sorted(invoices, key=lambda one: one.part)


def _pages_around(parts: tuple[Part, ...], at: int) -> Span | None:
    """Returns the pages of the PDF that an invoice lies in: they stand before it."""
    file = parts[parts[at].parent]
    start = min((one.start for one in parts if one.page and one.parent == file.parent), default=file.start)
    return Span(start, file.start) if start < file.start else None


def _pages_beside(parts: tuple[Part, ...], at: int) -> Iterator[tuple[int, Span]]:
    """Yields the files with pages that lie beside the file of an invoice: their indices and the stretch of them."""
    beside = parts[parts[at].parent].parent
    starts: dict[int, int] = {}
    for one in parts:
        if one.page and one.parent >= 0 and parts[one.parent].parent == beside:
            starts.setdefault(one.parent, one.start)
    for file, start in starts.items():
        yield file, Span(start, parts[file].end)


def _terms(document: Document, part: Part) -> dict[str, TermValue]:
    """Returns the terms of an invoice that pages have to print, by their places."""
    terms: dict[str, TermValue] = {}
    start = part.start
    for line in document.text[part.start : part.end].split("\n"):
        at = document.places.at(start).rpartition(" ")[2]
        if at in (_NUMBER, _TOTAL, _DUE) and line.strip():
            value = line.partition(": ")[2].strip()
            terms.setdefault(at, TermValue(value, Span(start, start + len(line))))
        start += len(line) + 1
    return terms


def _plain(text: str) -> str:
    """Returns a text with figures of all scripts as those of ASCII."""
    return "".join(c if c.isascii() else str(unicodedata.decimal(c, c)) for c in text)


def _shows(shown: str, number: str, total: str) -> bool:
    """Returns whether pages print the number of an invoice, as words of its own, and its total."""
    words = r"\s*".join(map(re.escape, number.split()))
    return re.search(rf"(?<!\w){words}(?!\w)", shown) is not None and prints(shown, _TOTAL, total)


def prints(shown: str, at: str, value: str) -> bool:
    """Returns whether pages print a term in some spelling; signs and a zero need not be printed."""
    if at == _NUMBER:
        return _letters(value) in _letters(shown)
    whole, _, decimals = value.lstrip("+-").partition(".")
    if not whole.isdigit() or not (int(whole) or int(decimals or 0)):
        return True
    cents = decimals.rstrip("0")
    fraction = rf"[.,٫]\s?{cents}0*" if cents else r"(?:[.,٫]\s?(?:0+|[-–—]+))?"
    return re.search(rf"(?<!\d){_GROUPING.join(whole)}{fraction}(?!\d)", shown) is not None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
