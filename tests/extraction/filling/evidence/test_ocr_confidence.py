"""A value's confidence knows how sure OCR was of its words."""

from dataclasses import replace

import numpy as np

from cinnabar.extraction.documents.content.builder import DocumentBuilder
from cinnabar.extraction.documents.content.document import Document, Evidence, Span
from cinnabar.extraction.filling.evidence.evidence import chance_of_reading


def document(sure: list[float] | None) -> Document:
    builder = DocumentBuilder()
    builder.open("body")
    builder.write("Total 12.50 EUR")
    builder.close()
    found = builder.build(b"x", "a.txt", "text/plain")
    words = replace(found.words, sure=None if sure is None else np.array(sure, np.float32))
    return replace(found, words=words)


def evidence(*spans: tuple[int, int]) -> Evidence:
    return Evidence(tuple(Span(*span) for span in spans), "")


def test_the_least_sure_word_behind_a_value_counts() -> None:
    read = document([1.0, 0.5, 0.75])
    assert chance_of_reading(read, evidence((6, 11))) == 0.5
    assert chance_of_reading(read, evidence((0, 5))) == 1.0
    assert chance_of_reading(read, evidence((0, 5), (12, 15))) == 0.75
    assert chance_of_reading(read, evidence((0, 15))) == 0.5
    # A part of a word is as sure as the word; a blank is none.
    assert chance_of_reading(read, evidence((7, 8))) == 0.5
    assert chance_of_reading(read, evidence((5, 6))) == 1.0


def test_other_text_and_values_without_words_are_as_sure_as_the_model() -> None:
    assert chance_of_reading(document(None), evidence((6, 11))) == 1.0
    assert chance_of_reading(document([0.1, 0.1, 0.1]), None) == 1.0
