"""The bound on a document's tokens: counted no further than needed, and before any model."""

from __future__ import annotations

import pytest
from tests.support.tiny_network import tiny_model, wordpieces

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document, check_length
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling import passages
from cinnabar.extraction.filling.passages import chunks_for, tokens_of


class Counting:
    """A counter that adds up the characters that it was given."""

    context_tokens = 1000

    def __init__(self) -> None:
        self.characters = 0

    def count_tokens(self, text: str) -> int:
        self.characters += len(text)
        return 2 * len(text.split())

    def windows(self, _: object) -> list[tuple[int, int]]:
        return []


def document(text: str) -> Document:
    return parse(text.encode(), "a.txt")


def test_a_document_at_the_bound_passes_and_one_beyond_it_does_not() -> None:
    assert tokens_of(document("a b c"), Counting(), 6) == 6
    with pytest.raises(DocumentError, match=r"too_long: more than 5 tokens, .*max_tokens"):
        tokens_of(document("a b c"), Counting(), 5)


def test_words_or_characters_beyond_the_bound_are_refused_uncounted() -> None:
    counter = Counting()
    for text, size in (("a " * 11, "11 words"), ("a" * 321, "321 characters")):
        with pytest.raises(DocumentError, match=f"too_long: {size}, the limit is 10 tokens"):
            tokens_of(document(text), counter, 10)
    check_length(document("a" * 320), 10)
    assert counter.characters == 0


def test_tokens_are_counted_only_as_far_as_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages, "_STRETCH", 100)
    counter = Counting()
    with pytest.raises(DocumentError, match="too_long"):
        tokens_of(document("word " * 1000), counter, 1500)
    assert counter.characters < 4000


@pytest.mark.parametrize("blank", [" ", "\n", "  \n\n ", "\t", ""])
def test_a_text_counted_in_stretches_has_as_many_tokens(blank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages, "_STRETCH", 50)
    found = document(blank.join(["Überweisung", "12.50", "e\u0301t\u00e9", "(EUR)"] * 20))
    tokens = tokens_of(found, tiny_model())
    if blank not in ("", "\t"):
        assert tokens == wordpieces().count(found.text)
    else:  # a stretch without a blank is cut within words
        assert tokens >= wordpieces().count(found.text)


def test_a_document_that_fits_is_one_chunk_and_counted_once() -> None:
    counter, found = Counting(), document("word " * 100)
    assert len(chunks_for(found, counter)) == 1
    assert counter.characters == len(found.text)
