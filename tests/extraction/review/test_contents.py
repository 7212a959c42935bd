"""Pictures of pages for the review: one page comes at once, wherever it is, and no page is drawn twice or in vain."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.limits import MAX_DRAWN
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.review import contents as module
from cinnabar.extraction.review.contents import Contents, WantedDocument

PAGES = 3 * MAX_DRAWN


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Contents]:
    with Contents(tmp_path / "out") as found:
        yield found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pages that drawing began with."""
    pages: list[int] = []
    drawn = ParserPool.drawn

    def noted(self: ParserPool, item: object, page: int = 0) -> object:
        pages.append(page)
        return drawn(self, item, page)  # type: ignore[arg-type]

    monkeypatch.setattr(ParserPool, "drawn", noted)
    return pages


def wanted(path: Path) -> WantedDocument:
    data = path.read_bytes()
    return WantedDocument(hashlib.sha256(data).hexdigest(), (str(path),), len(data))


def long_pdf(path: Path, pages: int = PAGES) -> WantedDocument:
    """A PDF with pages that have a black bar each, the lower the later the page is."""
    canvas = Canvas(str(path), pagesize=(300, 400))
    for number in range(pages):
        canvas.drawString(20, 385, f"page {number + 1}")
        canvas.rect(0, 380 * (1 - number / pages), 300, 4, fill=1)
        canvas.showPage()
    canvas.save()
    return wanted(path)


def bar(jpeg: bytes | None) -> float:
    """The place of a page's bar, from 0 at the top to 1."""
    assert jpeg is not None
    image = Image.open(io.BytesIO(jpeg)).convert("L")
    dark = [y for y in range(image.height // 16, image.height) if image.getpixel((image.width - 3, y)) < 90]  # type: ignore[operator]
    return sum(dark) / len(dark) / image.height


def test_a_late_page_is_drawn_at_once_with_some_after_it(
    shown: Contents, asked: list[int], tmp_path: Path
) -> None:
    one = long_pdf(tmp_path / "long.pdf")
    last = shown.picture(one, PAGES - 1)
    assert bar(last) == pytest.approx(1 - 380 / 400 / PAGES, abs=0.02)
    middle = shown.picture(one, PAGES // 2)
    assert bar(middle) == pytest.approx(1 - 0.95 / 2, abs=0.02)
    assert asked == [PAGES, PAGES // 2 + 1]
    assert (shown.picture(one, PAGES // 2), shown.picture(one, PAGES - 1)) == (middle, last)
    assert shown.picture(one, PAGES // 2 + 1) is not None
    assert asked == [PAGES, PAGES // 2 + 1], "the next page came with it"


def test_pictures_are_kept_up_to_a_number_of_bytes(
    monkeypatch: pytest.MonkeyPatch, asked: list[int], tmp_path: Path
) -> None:
    one = long_pdf(tmp_path / "long.pdf", 2)
    monkeypatch.setattr(module, "_PICTURED", 1)
    with Contents(tmp_path / "out") as shown:
        first = shown.picture(one, 0)
        assert first is not None and shown.picture(one, 1) is not None
        assert shown.picture(one, 0) == first
    # The second page came with the first one, or was asked for: a busy machine draws fewer pages at once.
    assert asked.count(1) == 2


def test_what_cannot_be_drawn_is_tried_once(shown: Contents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = long_pdf(tmp_path / "long.pdf", 5)
    assert isinstance(shown.document(one), Document)
    tries: list[int] = []
    monkeypatch.setattr(module, "page_pictures", lambda *asked: tries.append(asked[-1]) or {})
    assert [shown.picture(one, part) for part in (2, 3, 2, 0, -1, 9)] == [None] * 6
    assert tries == [3]


def test_a_document_that_is_gone_has_no_picture_until_it_is_back(shown: Contents, tmp_path: Path) -> None:
    one = long_pdf(tmp_path / "long.pdf", 2)
    assert isinstance(shown.document(one), Document)
    (tmp_path / "long.pdf").rename(tmp_path / "other")
    assert shown.picture(one, 0) is None
    (tmp_path / "other").rename(tmp_path / "long.pdf")
    assert shown.picture(one, 0) is not None


def test_a_text_has_no_pictures(shown: Contents, asked: list[int], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    assert shown.picture(wanted(tmp_path / "a.txt"), 0) is None
    assert asked == []
