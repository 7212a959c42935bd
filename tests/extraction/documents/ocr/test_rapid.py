"""RapidOCR's networks on drawn pages; skipped without the extra `ocr`."""

import io
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.support.effort import first

pytest.importorskip("onnxruntime")
pytest.importorskip("rapidocr")
pytest.importorskip("cv2")

from PIL import Image, ImageDraw, ImageFont

from cinnabar.extraction.documents.ocr.page_text import PageText, page_text
from cinnabar.extraction.documents.ocr.rapid import LineDetector, RapidReader
from cinnabar.extraction.documents.ocr.text_lines import (
    TextLine,
    align_lines,
    corners,
    page_angle,
    rotate_points,
    strip,
)

LINES = ["Delivery note 4711", "Pears      12.50", "Please pay now"]


@cache
def reader() -> RapidReader:
    return RapidReader()


def note(angle: float = 0.0) -> bytes:
    page = Image.new("L", (420, 200), 255)
    draw = ImageDraw.Draw(page)
    font: Any = ImageFont.load_default(size=26)
    for number, line in enumerate(LINES):
        first, _, last = line.partition("      ")
        draw.text((30, 25 + 50 * number), first, 0, font)
        draw.text((280, 25 + 50 * number), last, 0, font)
    out = io.BytesIO()
    page.rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=255).save(out, "PNG")
    return out.getvalue()


def text_of(page: PageText) -> str:
    return "".join(gap + word for gap, word in zip(page.gap, page.text, strict=True))


@pytest.mark.parametrize("angle", first(3, [0.0, 90.0, 4.0, 180.0, -90.0]))
def test_a_page_is_read_row_by_row_however_it_lies(angle: float) -> None:
    page = reader().read(note(angle))
    lines = [" ".join(line.split()) for line in text_of(page).splitlines() if line]
    assert lines == [" ".join(line.split()) for line in LINES]
    assert float(page.sure.min()) > 0.5


def test_the_boxes_of_words_lie_on_the_words() -> None:
    page = reader().read(note())
    box = dict(zip(page.text, page.box.tolist(), strict=True))
    x0, top, x1, bottom = box["12.50"]
    assert 270 < x0 < 290 and 340 < x1 < 370 and 65 < top < 90 < bottom < 120
    # The page on its side has the same word where it now lies.
    turned = reader().read(note(90))
    a, b, c, d = dict(zip(turned.text, turned.box.tolist(), strict=True))["12.50"]
    assert np.allclose([a, b, c, d], [top, 420 - x1, bottom, 420 - x0], atol=12)


def test_an_empty_page_and_a_single_dot_have_no_words() -> None:
    for size in ((300, 200), (8, 8)):
        out = io.BytesIO()
        Image.new("L", size, 255).save(out, "PNG")
        assert reader().read(out.getvalue()).text == ()


def line(angle: float, length: float = 100.0, height: float = 10.0) -> TextLine:
    return TextLine(50, 50, length, height, angle)


def test_the_angle_of_a_page_is_that_of_most_of_its_text() -> None:
    assert page_angle([]) == 0.0
    assert page_angle([line(1), line(2), line(2.5), line(90, 60)]) == 2.0
    assert page_angle([line(-89), line(88), line(90), line(0, 60)]) == 90.0
    assert page_angle([line(-30), line(-31), line(-32)]) == -31.0
    # Short words do not say where they go.
    assert page_angle([line(1, 200), *[line(90, 12)] * 50]) == 1.0


def test_short_words_are_read_along_the_page_and_long_lines_as_they_lie() -> None:
    short, across, along, back = align_lines([line(90, 12), line(90, 80), line(2, 80), line(178, 80)], 1.0)
    assert (short.length, short.height, short.angle) == (10.0, 12, 0.0)
    assert across.angle == 90 and along.angle == 2
    assert back.angle == 358


@pytest.mark.parametrize("angle", [0.0, 90.0, 180.0, 270.0, 30.0])
def test_a_strip_is_upright_and_its_corners_are_where_it_was_cut(angle: float) -> None:
    # The left half of the line is black, the right one white.
    whole = line(angle, 80, 20)
    page = np.full((100, 100, 3), 128, np.uint8)
    inverse = rotate_points(
        np.stack(np.meshgrid(np.arange(100), np.arange(100)), axis=-1).reshape(-1, 2) - 50.0, -angle
    )
    inside = (np.abs(inverse[:, 0]) < 42) & (np.abs(inverse[:, 1]) < 12)
    page.reshape(-1, 3)[inside] = np.where(inverse[inside, :1] < 0, 0, 255)
    cut = strip(page, whole, 10)
    assert cut.shape == (10, 40, 3)
    assert cut[1:-1, 2:18].max() < 60 and cut[1:-1, 22:38].min() > 195
    left = corners(whole, 0.0, 0.5).mean(axis=0).round().astype(int)
    assert page[left[1], left[0]].max() == 0


@pytest.mark.slow
def test_a_scanned_pdf_leaves_the_parser_pool_with_its_text() -> None:
    from pathlib import Path

    from cinnabar.extraction.documents.content.document import Document
    from cinnabar.extraction.documents.ingest.sandbox import ParserPool

    scan = Path(__file__).parents[4] / "data" / "samples" / "invoice" / "docs" / "Scan0001.pdf"
    with ParserPool(1) as pool:
        ((_, found),) = pool.parse_many([scan])
    assert isinstance(found, Document) and found.flags == ("ocr",)
    assert "INVOICE 0612" in " ".join(found.text.split()) and "162.40" in found.text
    assert found.facts["document.language"].value == "en"
    assert found.words.sure is not None and float(found.words.sure.mean()) > 0.9


class Seen:
    """A detector's network that takes each black pixel for text; `sizes` are those of the pictures that it saw."""

    def __init__(self) -> None:
        self.sizes: list[tuple[int, ...]] = []

    def get_inputs(self) -> list[Any]:
        return [type("Input", (), {"name": "x"})]

    def run(self, _names: None, fed: dict[str, Any]) -> list[Any]:
        (seen,) = fed.values()
        self.sizes.append(seen.shape[2:])
        return [(seen[:, :1] < 0).astype(np.float32)]


@pytest.mark.parametrize("size", [(900, 300), (300, 900), (200, 3000), (3000, 200)])
def test_each_line_of_a_picture_of_any_shape_is_found_once(size: tuple[int, int]) -> None:
    wide, high = size
    page = np.full((high, wide, 3), 255, np.uint8)
    tops = range(40, high - 40, 60)
    for top in tops:
        page[top : top + 12, 20 : wide - 20] = 0
    network = Seen()
    lines = LineDetector(network)(page)
    assert sorted(round(line.y / 6) for line in lines) == [round((top + 6) / 6) for top in tops]
    assert all(abs(line.x - wide / 2) < 8 and line.length > wide - 60 for line in lines)
    assert all(max(one) <= 4096 and one[0] * one[1] < 1.3e6 for one in network.sizes)


def test_tesseract_gets_pages_of_unknown_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    read = page_text([("Счёт", "", (0, 0, 9, 9), 0.9)])
    other = type("Other", (), {"read": lambda *_: read})()
    one = RapidReader()
    monkeypatch.setattr(one, "_other", other)
    assert text_of(one.read(note())).startswith("Delivery note")
    monkeypatch.setattr(one, "_recognise", lambda strips: [[] for _ in strips])
    assert one.read(note()).text == ("Счёт",)
    monkeypatch.setattr(one, "_other", None)
    assert one.read(note()).text == ()
