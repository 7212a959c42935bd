"""Chunking: documents are cut at their own borders, with nothing lost, in linear time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples
from tests.support.tiny_network import tiny_model

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.chunking import chunks, overlap_of
from cinnabar.extraction.documents.content.document import Document, Part, Words
from cinnabar.extraction.filling.passages import chunks_for, passage_of
from cinnabar.extraction.plan.limits import LEAST_LIMIT

MODEL = tiny_model()


def document(text: str, page_starts: tuple[int, ...] = (0,)) -> Document:
    none = np.zeros(0, np.int32)
    ends = (*page_starts[1:], len(text))
    parts = tuple(
        Part("page", s, e, page=i + 1) for i, (s, e) in enumerate(zip(page_starts, ends, strict=True))
    )
    words = Words(none, none, np.zeros((0, 4), np.float32), none)
    return Document("d", "d.txt", "text/plain", len(text), text, parts, words)


def words_of(text: str) -> int:
    return len(text.split())


def test_a_document_that_fits_is_one_chunk() -> None:
    (only,) = chunks(document("a b c"), 64, 8, words_of)
    assert (only.start, only.end) == (0, 5)


def test_an_empty_document_is_one_empty_chunk() -> None:
    (only,) = chunks(document(""), 64, 8, words_of)
    assert (only.start, only.end) == (0, 0)


def test_a_cut_falls_on_the_border_of_a_page_where_one_is_near() -> None:
    first = "one line of words\n" * 20
    text = first + "another line of words\n" * 20
    found = chunks(document(text, (0, len(first))), 100, 0, words_of)
    assert found[0].end == len(first)
    assert found[1].start == len(first)


def test_a_cut_falls_on_the_end_of_a_paragraph_before_that_of_a_line() -> None:
    text = "one line of words\n" * 22 + "\n" + "another line of words\n" * 20
    found = chunks(document(text), 100, 0, words_of)
    assert text[: found[0].end].endswith("\n\n")


def test_neighbours_share_whole_lines() -> None:
    text = "one line of words\n" * 60
    first, second, *_ = chunks(document(text), 100, 16, words_of)
    shared = text[second.start : first.end]
    assert shared == "one line of words\n" * 4


def test_a_line_without_blanks_is_cut_as_well() -> None:
    found = chunks(document("x" * 10_000), 100, 10, len)
    assert all(chunk.end - chunk.start <= 100 for chunk in found)
    assert found[-1].end == 10_000


def test_a_limit_or_an_overlap_out_of_range_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 64"):
        chunks(document("a"), LEAST_LIMIT - 1, 0, words_of)
    with pytest.raises(UsageError, match="overlap"):
        chunks(document("a"), 100, 51, words_of)


@given(st.text(alphabet="ab \n\t", max_size=3000), st.integers(64, 200), st.integers(0, 32))
def test_chunks_cover_the_document_in_order_and_fit(text: str, limit: int, overlap: int) -> None:
    found = chunks(document(text), limit, overlap, words_of)
    assert found[0].start == 0
    assert found[-1].end == len(text)
    for before, after in pairwise(found):
        assert before.start < after.start <= before.end < after.end
    # A cut word counts on both sides.
    assert all(words_of(text[c.start : c.end]) <= limit for c in found)
    assert all(
        words_of(text[after.start : before.end]) <= overlap + 1
        for before, after in pairwise(found)
    )


def test_a_document_of_400_000_tokens_is_counted_three_times_at_most() -> None:
    text = ("a line of seven words stands here\n" * 9 + "\n") * (400_000 // 63 + 1)
    counted = 0

    def count(part: str) -> int:
        nonlocal counted
        counted += len(part)
        return words_of(part)

    found = chunks(document(text), 2000, overlap_of(2000), count)
    assert 200 < len(found) < 300
    assert counted <= 3 * len(text)


@examples(40)
@given(st.lists(st.sampled_from(["a", "of", "Total", "\n", "\n\n", "12.50"]), min_size=500, max_size=2500))
def test_chunks_of_a_models_windows_have_the_windows_that_the_whole_text_has(words: list[str]) -> None:
    text = " ".join(words)
    whole = MODEL.windows(passage_of(document(text)))
    seen = []
    for chunk in chunks_for(document(text), MODEL, 1200):
        assert MODEL.count_tokens(text[chunk.start : chunk.end]) <= 1200
        part = passage_of(document(text), chunk.start, chunk.end)
        seen += [(chunk.start + a, chunk.start + b) for a, b in MODEL.windows(part)]
    assert seen == whole


def test_a_context_that_holds_no_window_is_cut_at_the_documents_borders() -> None:
    text = "one line of words\n" * 400
    found = chunks_for(document(text), MODEL, 100)
    assert len(found) > 10
    assert all(text[chunk.start : chunk.end].startswith("one") for chunk in found)
