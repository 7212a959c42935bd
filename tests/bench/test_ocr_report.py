"""The report on OCR counts words, and lays pages as it says."""

import numpy as np
from bench.ocr_report import VARIANTS, WordCount
from PIL import Image

from cinnabar.extraction.documents.content.builder import DocumentBuilder


def test_a_word_counts_as_often_as_it_is_printed() -> None:
    builder = DocumentBuilder()
    builder.open("page")
    builder.write("Total 5 5 EUR ____ Tota1")
    builder.close()
    count = WordCount()
    count.add("Total: 5 and 5.\n5 EUR ____", builder.build(b"", "a", "b"), 2.0)
    count.add("one", None, 1.0)
    assert count.row() == ["2", "7", "57.1%", "1", "0.000", "1.5"]


def test_pages_are_turned_blurred_and_scanned() -> None:
    page = Image.new("L", (300, 200), 255)
    page.paste(0, (20, 20, 120, 60))
    drawn = {name: np.asarray(change(page, 150)) for name, change in VARIANTS.items()}
    assert drawn["turned by 90"].shape == (300, 200) and drawn["turned by 180"][180, 280] == 255
    assert drawn["turned by 180"][160, 200] == 0 and drawn["printed"][40, 60] == 0
    assert 0 < drawn["blurred"][19, 60] < 255
    assert drawn["askew by 3"].shape == (200, 300) and (drawn["askew by 3"] != drawn["printed"]).any()
    assert 0 < drawn["poor scan"][40, 60] < 70 and 200 < drawn["poor scan"][150, 200] < 250
