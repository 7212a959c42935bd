"""A page that hangs or fills its parser costs itself, and the other pages of its PDF are read."""

import io
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pypdf
import pytest
from PIL import Image
from pypdf.generic import ArrayObject, DecodedStreamObject, DictionaryObject, FloatObject, NameObject
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas
from tests.support.drawn_pages import drawn, text_pages

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.pdf.pages import copied_answers

CAREFUL = ParserSettings(careful=True)


def monstrous(levels: int, *texts: str) -> bytes:
    """A PDF with these pages, of which the second draws ten forms that draw ten each, and so on."""
    writer = pypdf.PdfWriter()
    for text in texts:
        writer.append(io.BytesIO(text_pages(text)))
    inner = None
    for _ in range(levels):
        form = DecodedStreamObject()
        form.update(
            {
                NameObject("/Type"): NameObject("/XObject"),
                NameObject("/Subtype"): NameObject("/Form"),
                NameObject("/BBox"): ArrayObject(FloatObject(side) for side in (0, 0, 100, 100)),
            }
        )
        if inner is None:
            form.set_data(b"0 0 1 1 re f")
        else:
            form.set_data(b"/F Do " * 10)
            named = DictionaryObject({NameObject("/F"): inner})
            form[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): named})
        inner = writer._add_object(form)
    second = writer.pages[1]
    second["/Resources"][NameObject("/XObject")] = DictionaryObject({NameObject("/F"): inner})  # type: ignore[index]
    content = DecodedStreamObject()
    content.set_data(b"/F Do")
    second[NameObject("/Contents")] = writer._add_object(content)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def page_texts(document: Document) -> dict[int, str]:
    return {part.page: document.text[part.start : part.end] for part in document.parts if part.kind == "page"}


@pytest.mark.slow
def test_the_other_pages_of_a_file_with_a_monstrous_one_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(monstrous(9, "first page", "lost", "third page"))
    with ParserPool(1, time_limit=8.0) as pool:
        ((_, document),) = pool.parse_many([path])
    assert isinstance(document, Document)
    assert page_texts(document) == {1: "first page", 3: "third page"}
    assert {"slow_pages", "broken_pages"} <= set(document.flags)
    assert np.isfinite(document.words.box).all()


def test_a_second_try_reads_what_the_first_reads() -> None:
    def form(sheet: canvas.Canvas) -> None:
        sheet.drawString(72, 700, "Name:")
        sheet.acroForm.textfield(name="n", value="Ada Lovelace", x=150, y=692, width=200, height=20)
        sheet.acroForm.checkbox(name="agreed", checked=True, x=100, y=600)

    def scan(sheet: canvas.Canvas) -> None:
        sheet.drawImage(ImageReader(Image.new("RGB", (20, 20), "red")), 72, 600, 100, 100)

    def white(sheet: canvas.Canvas) -> None:
        sheet.drawString(72, 700, "seen")
        sheet.setFillGray(1)
        sheet.drawString(72, 600, "unseen")

    data = drawn(form, scan, white, form)
    first, second = parse(data, "a.pdf"), parse(data, "a.pdf", CAREFUL)
    assert "agreed: Yes" in first.text and "hidden_text" in first.flags and len(first.pictures) == 1
    assert (second.text, second.parts, second.flags) == (first.text, first.parts, first.flags)
    assert second.pictures == first.pictures
    assert np.array_equal(second.words.box, first.words.box, equal_nan=True)


def test_a_file_of_nothing_but_monstrous_pages_has_the_code_of_a_limit() -> None:
    data = monstrous(9, "first page", "lost")
    reader = pypdf.PdfReader(io.BytesIO(data))
    writer = pypdf.PdfWriter()
    writer.add_page(reader.pages[1])
    buffer = io.BytesIO()
    writer.write(buffer)
    with pytest.raises(DocumentError) as caught:
        parse(buffer.getvalue(), "a.pdf", ParserSettings(careful=True, seconds=4.0))
    assert caught.value.code == "timeout"


def test_pages_after_half_of_the_time_are_plain_text_and_the_last_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer = pypdf.PdfWriter()
    for number in range(1, 6):
        writer.append(io.BytesIO(text_pages(f"page {number}")))
    buffer = io.BytesIO()
    writer.write(buffer)
    shares = iter([0.1, 0.1, 0.2, 0.2, 0.6, 0.6, 0.7, 0.7, 0.8])
    reading = "cinnabar.extraction.documents.content.parse_context.ParseContext"
    monkeypatch.setattr(f"{reading}.is_late", lambda _, share: next(shares) > share)
    document = parse(buffer.getvalue(), "a.pdf")
    assert document.flags == ("slow_pages",)
    assert page_texts(document) == {number: f"page {number}" for number in range(1, 5)}
    placed = np.isfinite(document.words.box).all(axis=1).tolist()
    assert placed == [True] * 4 + [False] * 4


@pytest.mark.slow
def test_a_copy_that_dies_or_hangs_loses_its_number_only() -> None:
    def work(number: int) -> Iterator[bytes]:
        yield f"begun {number}".encode()
        if number == 1:
            os._exit(3)
        if number == 2:
            time.sleep(60)
        if number == 3:
            raise MemoryError
        yield f"done {number}".encode()

    found = list(copied_answers(work, 6, 2.0, time.monotonic() + 90))
    assert [whole for _, whole in found] == [True, False, False, False, True, True]
    assert [pieces[-1] for pieces, _ in found] == [
        b"done 0", b"begun 1", b"begun 2", b"begun 3", b"done 4", b"done 5"
    ]  # fmt: skip


@pytest.mark.slow
def test_copies_end_with_the_clock() -> None:
    def work(number: int) -> Iterator[bytes]:
        time.sleep(0.2)
        yield bytes(300_000 + number)

    began = time.monotonic()
    found = list(copied_answers(work, 100, 5.0, began + 1.0))
    assert time.monotonic() - began < 15  # all of them take 20 seconds
    assert 1 <= len(found) < 10
