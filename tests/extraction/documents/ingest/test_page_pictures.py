"""Pages drawn for a person: in their order, bounded, from a process of their own, for the parts of the document."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
from PIL import Image

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.limits import DRAWN_PIXELS
from cinnabar.extraction.documents.ingest.page_pictures import page_pictures
from cinnabar.extraction.documents.ingest.sandbox import ParserPool

SAMPLES = Path(__file__).resolve().parents[4] / "data" / "samples"
INVOICE = SAMPLES / "invoice" / "docs" / "bill_24-0032.pdf"


@pytest.fixture(scope="module")
def pool() -> Iterator[ParserPool]:
    with ParserPool(1) as found:
        yield found


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_page_of_a_pdf_is_drawn_in_colour_for_its_part(pool: ParserPool) -> None:
    document = pool.submit(INVOICE).result()
    assert isinstance(document, Document)
    pages = page_pictures(pool, INVOICE, digest(INVOICE), document)
    ((part, jpeg),) = pages.items()
    assert (document.parts[part].kind, document.parts[part].page) == ("page", 1)
    image = Image.open(io.BytesIO(jpeg))
    assert image.mode == "RGB" and 500_000 < image.width * image.height <= DRAWN_PIXELS * 1.01
    assert page_pictures(pool, INVOICE, digest(INVOICE)) == pages
    assert page_pictures(pool, INVOICE, "0" * 64) == {}


def test_a_scan_is_shown_as_it_is_and_a_mail_has_the_pages_of_its_attachment(pool: ParserPool, tmp_path: Path) -> None:
    mail = EmailMessage()
    mail["Subject"] = "two pages"
    mail.set_content("See the attachment.")
    mail.add_attachment(INVOICE.read_bytes(), maintype="application", subtype="pdf", filename="a.pdf")
    path = tmp_path / "mail.eml"
    path.write_bytes(bytes(mail))
    document = pool.submit(path).result()
    assert isinstance(document, Document)
    (part,) = page_pictures(pool, path, digest(path), document)
    assert document.parts[part].kind == "page" and document.parts[part].parent >= 0
    image = tmp_path / "scan.png"
    Image.new("RGB", (2400, 1800), (200, 30, 30)).save(image)
    drawn = pool.drawn(image)
    assert isinstance(drawn, Document) and len(drawn.pictures) == 1
    shown = Image.open(io.BytesIO(drawn.pictures[0].data))
    red = shown.convert("RGB").getpixel((5, 5))
    assert isinstance(red, tuple) and red[0] > 150 and red[1] < 80 and shown.width < 2400


def test_texts_and_damaged_files_have_no_pages(pool: ParserPool, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7\nnothing")
    (tmp_path / "c.png").write_bytes(INVOICE.read_bytes()[:80])
    for path in tmp_path.iterdir():
        assert page_pictures(pool, path, digest(path)) == {}
