"""Words of a page between an OCR process and its parent."""

from typing import Any

import numpy as np
import orjson
import pytest
from tests.support.cases import each

from cinnabar.extraction.documents.content.limits import MAX_PAGE_WORDS
from cinnabar.extraction.documents.ocr.page_text import page_text, unpack_page

GOOD: dict[str, Any] = {"text": ["a"], "gap": [""], "box": [[0, 0, 1, 1]], "sure": [0.5], "damaged": False}


def test_a_page_comes_out_as_it_went_in() -> None:
    page = page_text([("Total", "", (1, 2, 30.5, 12), 0.75), ("5,00", "\n  ", (40, 2, 50, 12), 1.0)], damaged=True)
    found = unpack_page(page.pack())
    assert (found.text, found.gap, found.damaged) == (page.text, page.gap, True)
    assert np.array_equal(found.box, page.box) and np.array_equal(found.sure, page.sure)
    assert unpack_page(page_text([]).pack()).text == ()


@each(
    "wrong",
    [
        {"text": ["a b"]},
        {"text": [""]},
        {"text": ["a\x00"]},
        {"text": ["\ud800"]},
        {"text": ["a" * 5000]},
        {"text": [5]},
        {"text": ["a"] * 2},
        {"gap": ["x"]},
        {"gap": ["\t"]},
        {"box": [[0, 0, 1]]},
        {"box": [[2, 0, 1, 1]]},
        {"box": [[0, 0, "nan", 1]]},
        {"sure": [1.5]},
        {"sure": [None]},
        {name: GOOD[name] * (MAX_PAGE_WORDS + 1) for name in ("text", "gap", "box", "sure")},
    ]
)
def test_what_no_correct_process_writes_is_refused(wrong: dict[str, Any]) -> None:
    data = orjson.dumps(GOOD | wrong) if wrong != {"text": ["\ud800"]} else b'{"text": ["\\ud800"]}'
    assert unpack_page(orjson.dumps(GOOD)).text == ("a",)
    with pytest.raises(ValueError):
        unpack_page(data)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"5", b"\xff", b'{"text": 5}'])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        unpack_page(data)
