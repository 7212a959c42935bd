"""Tests for the pages that repeat the data of an electronic invoice."""

from __future__ import annotations

from email.message import EmailMessage

import pytest
from tests.extraction.documents.pdf.test_pdf_files import page, with_files
from tests.extraction.documents.web.test_invoice import CII

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.invoice_copies import copies_in, prints
from cinnabar.extraction.filling.passages import stretches_of


def mail(*files: tuple[str, bytes]) -> Document:
    made = EmailMessage()
    made.set_content("See the invoice.")
    for name, content in files:
        made.add_attachment(content, maintype="application", subtype=name.rpartition(".")[2], filename=name)
    return parse(made.as_bytes(), "a.eml")


def copied(document: Document) -> list[str]:
    return [document.text[one.start : one.end].strip() for one in copies_in(document)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_pages_beside_the_data_of_their_invoice_are_a_copy(order: tuple[int, int]) -> None:
    files = [("a.pdf", page("Invoice R-7, total EUR 5,36")), ("a.xml", CII)]
    document = mail(*(files[at] for at in order))
    assert copied(document) == ["Invoice R-7, total EUR 5,36"]
    assert sorted(one.copy for one in stretches_of(document)).count(True) == 1


@pytest.mark.parametrize("shown", ["Invoice R-7, total 15.36", "Invoice R-71, total 5.36", "Invoice R-8", "no number"])
def test_pages_of_another_invoice_stay_apart_from_the_data(shown: str) -> None:
    document = mail(("a.pdf", page(shown)), ("a.xml", CII))
    assert copied(document) == []


def test_each_of_two_invoices_takes_its_own_pages() -> None:
    other = CII.replace(b"R-7", b"R-8")
    files = [("a.xml", other), ("b.pdf", page("R-7 5.36")), ("c.pdf", page("R-8 5.36")), ("d.xml", CII)]
    assert copied(mail(*files)) == ["R-7 5.36", "R-8 5.36"]


def test_data_that_come_twice_count_once() -> None:
    document = mail(("a.pdf", with_files(page("R-7 5.36"), ("factur-x.xml", CII))), ("b.xml", CII))
    pages, data = copied(document)
    assert pages == "R-7 5.36"
    assert data.startswith("Invoice number: R-7")


@pytest.mark.parametrize(
    ("value", "shown", "printed"),
    [
        ("1234.50", "1.234,50", True),
        ("1234.50", "1 234.50", True),
        ("1234.50", "1,234.5", True),
        ("1234.00", "1'234.–", True),
        ("1234.00", "1234", True),
        ("1234567.00", "12,34,567.00", True),
        ("1234.50", "11234.50", False),
        ("1234.50", "1234.51", False),
        ("1234.50", "1234.505", False),
        ("-5.00", "5.00-", True),
        ("0.00", "nothing", True),
    ],
)
def test_an_amount_is_printed_if_any_spelling_of_it_is(value: str, shown: str, printed: bool) -> None:
    assert prints(shown, value) is printed
