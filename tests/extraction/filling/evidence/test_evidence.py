"""Evidence: a value's spans lead back to words on pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cinnabar.extraction.documents.content.document import Document, Part, Words
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.evidence.evidence import evidence_of, page_of
from cinnabar.extraction.filling.table_columns import TableColumns

SAMPLES = Path(__file__).resolve().parents[4] / "data" / "samples"


@pytest.fixture
def two_pages() -> Document:
    # Page 1 has "Total due" and below it "12.50"; page 2 has "EUR", without a box.
    text = "Total due\n12.50\fEUR"
    words = Words(
        start=np.array([0, 6, 10, 16], np.int32),
        end=np.array([5, 9, 15, 19], np.int32),
        box=np.array([[10, 10, 40, 20], [44, 11, 60, 21], [10, 30, 40, 40], [np.nan] * 4], np.float32),
        part=np.array([0, 0, 0, 1], np.int32),
    )
    parts = (Part("page", 0, 16, page=1, width=100, height=100), Part("page", 16, 19, page=2))
    return Document("d", "d.pdf", "application/pdf", 1, text, parts, words)


def test_a_span_over_two_lines_has_a_box_for_each(two_pages: Document) -> None:
    found = evidence_of(two_pages, [(0, 15)])
    assert found is not None
    assert found.text == "Total due\n12.50"
    assert [(b.page, b.x0, b.top, b.x1, b.bottom) for b in found.boxes] == [
        (1, 10, 10, 60, 21),
        (1, 10, 30, 40, 40),
    ]


def test_part_of_a_word_has_the_box_of_the_word(two_pages: Document) -> None:
    found = evidence_of(two_pages, [(11, 13)])
    assert found is not None
    assert (found.text, len(found.boxes), found.boxes[0].top) == ("2.", 1, 30)


def test_words_without_a_box_give_none_but_have_their_page(two_pages: Document) -> None:
    found = evidence_of(two_pages, [(16, 19)])
    assert found is not None
    assert (found.text, found.boxes, page_of(two_pages, found)) == ("EUR", (), 2)


def test_several_spans_are_kept_as_they_are(two_pages: Document) -> None:
    found = evidence_of(two_pages, [(6, 9), (16, 19)])
    assert found is not None
    assert found.text == "due EUR"
    assert [(s.start, s.end) for s in found.spans] == [(6, 9), (16, 19)]
    assert page_of(two_pages, found) == 1


def test_no_span_is_no_evidence(two_pages: Document) -> None:
    assert evidence_of(two_pages, []) is None
    assert page_of(two_pages, None) == 0


def test_boxes_of_a_real_page_lie_on_it() -> None:
    path = SAMPLES / "invoice" / "docs" / "90077315.pdf"
    document = parse(path.read_bytes(), str(path))
    end = int(document.words.end[min(40, len(document.words) - 1)])
    found = evidence_of(document, [(int(document.words.start[0]), end)])
    assert found is not None and len(found.boxes) > 2
    page = next(part for part in document.parts if part.page == 1)
    for box in found.boxes:
        assert 0 <= box.x0 < box.x1 <= page.width
        assert 0 <= box.top < box.bottom <= page.height


def test_a_value_of_a_table_names_its_column_or_heading() -> None:
    text = "Depot North\nNo    Make      Value\n1     Ford        100\n2     Opel        200\n3     Fiat        300\n"
    text += "Depot South\n4     Seat        400\n5     Saab        500\n"
    columns = TableColumns(parse(text.encode(), "fleet.txt"))
    assert columns.at(text.index("Opel") + 1) == 'column "Make"'
    assert columns.at(text.index("South")) == 'heading "Depot"'
    assert columns.at(text.index("Value")) == ""
