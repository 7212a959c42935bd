"""Pages that show an electronic invoice whose data the document holds.

The pages of a PDF repeat the data that lie within it. In a mail the data may lie beside the PDF: they are one invoice
if its pages print the number and the total of the data.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from cinnabar.extraction.documents.content.document import Document, Part, Span

#: The places of the number and of the total with VAT, which tell invoices apart.
_NUMBER, _TOTAL = "BT-1", "BT-112"
# Marks of thousands; blanks are those of all widths.
_GROUPING = r"[.,'’\s]?"


@dataclass(frozen=True, slots=True)
class InvoiceData:
    """The data of an invoice: the index of their part, its number and total, None if one lacks, and its pages."""

    part: int
    name: tuple[str, str] | None
    pages: Span | None


def copies_in(document: Document) -> list[Span]:
    """Returns the stretches that repeat the data of an invoice, in order and disjoint: pages, and data sent twice."""
    known = set[tuple[str, str]]()
    repeated: list[Span] = []
    for one in _invoices_in(document):
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


def _invoices_in(document: Document) -> list[InvoiceData]:
    """Returns the invoices whose data lie in files of the document, in order, with their pages."""
    parts = document.parts
    held = [at for at, part in enumerate(parts) if part.kind == "invoice" and part.parent >= 0]
    invoices: list[InvoiceData] = []
    taken: set[int] = set()
    # Data within a PDF take its pages before data beside it.
    for at in sorted(held, key=lambda at: _pages_around(parts, at) is None):
        if not document.text[parts[at].start : parts[at].end].strip():
            continue
        pages, name = _pages_around(parts, at), _name_of(document, parts[at])
        if pages is not None:
            taken.add(parts[parts[at].parent].parent)
        elif name is not None:
            for file, beside in _pages_beside(parts, at):
                if file not in taken and _shows(_plain(document.text[beside.start : beside.end]), *name):
                    taken.add(file)
                    pages = beside
                    break
        invoices.append(InvoiceData(at, name, pages))
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


def _name_of(document: Document, part: Part) -> tuple[str, str] | None:
    """Returns the number and the total of an invoice's data; None if one is missing."""
    terms: dict[str, str] = {}
    start = part.start
    for line in document.text[part.start : part.end].split("\n"):
        if line.strip():
            terms.setdefault(document.places.at(start).rpartition(" ")[2], line.partition(": ")[2].strip())
        start += len(line) + 1
    return (terms[_NUMBER], terms[_TOTAL]) if _NUMBER in terms and _TOTAL in terms else None


def _plain(text: str) -> str:
    """Returns a text with figures of all scripts as those of ASCII."""
    return "".join(c if c.isascii() else str(unicodedata.decimal(c, c)) for c in text)


def _shows(shown: str, number: str, total: str) -> bool:
    """Returns whether pages print the number of an invoice, as words of its own, and its total."""
    words = r"\s*".join(map(re.escape, number.split()))
    return re.search(rf"(?<!\w){words}(?!\w)", shown) is not None and prints(shown, total)


def prints(shown: str, amount: str) -> bool:
    """Returns whether pages print an amount in some spelling; signs and a zero need not be printed."""
    whole, _, decimals = amount.lstrip("+-").partition(".")
    if not whole.isdigit() or not (int(whole) or int(decimals or 0)):
        return True
    cents = decimals.rstrip("0")
    fraction = rf"[.,٫]\s?{cents}0*" if cents else r"(?:[.,٫]\s?(?:0+|[-–—]+))?"
    return re.search(rf"(?<!\d){_GROUPING.join(whole)}{fraction}(?!\d)", shown) is not None
