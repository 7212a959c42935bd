"""`improve` chooses which of reader and language model has the last word on a field, by corrected documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cinnabar.extraction.learning.evaluation import doubtful_pointers, tier_choice
from cinnabar.extraction.run.work.labelled_sets import LabelledSet

RIGHT, WRONG = "right", "wrong"


def labelled(count: int) -> LabelledSet:
    truths = tuple({"file": str(at), "truth": {"a": RIGHT, "b": "same", "c": "same"}} for at in range(count))
    return LabelledSet("note", Path(), truths, {}, {})


def predicted(values: list[tuple[str, float]]) -> dict[str, dict[str, Any]]:
    """Records with these values of `a` and their confidence; the others are right and sure."""
    return {
        str(at): {
            "record": {"a": value, "b": "same", "c": "same"},
            "confidence": {"/a": sure, "/b": 0.9, "/c": 0.9},
        }
        for at, (value, sure) in enumerate(values)
    }


@pytest.mark.parametrize(
    ("reader", "language", "chosen"),
    [
        # The language model is right, and less sure than the reader, so the surer value is wrong.
        ([(WRONG, 0.4)] * 6, [(RIGHT, 0.2)] * 6, {"/a": True}),
        # The reader is right, and the language model surer.
        ([(RIGHT, 0.2)] * 6, [(WRONG, 0.8)] * 6, {"/a": False}),
        # The surer one is right anyway.
        ([(WRONG, 0.2)] * 6, [(RIGHT, 0.8)] * 6, {}),
        # Four documents may be chance, and so may six against three.
        ([(WRONG, 0.4)] * 4, [(RIGHT, 0.2)] * 4, {}),
        ([(WRONG, 0.4)] * 6 + [(RIGHT, 0.4)] * 3, [(RIGHT, 0.2)] * 6 + [(WRONG, 0.2)] * 3, {}),
        # A run asks the language model for nothing that the reader does not doubt.
        ([(WRONG, 0.85)] * 6, [(RIGHT, 0.2)] * 6, {}),
    ],
)
def test_a_model_has_the_last_word_where_it_is_right_and_the_surer_one_is_not(
    reader: list[tuple[str, float]], language: list[tuple[str, float]], chosen: dict[str, bool]
) -> None:
    assert tier_choice(labelled(len(reader)), predicted(reader), predicted(language)) == chosen


def test_documents_that_the_language_model_did_not_read_do_not_count() -> None:
    language = predicted([(RIGHT, 0.2)] * 4)
    assert tier_choice(labelled(6), predicted([(WRONG, 0.4)] * 6), language) == {}


def test_all_values_of_an_unknown_kind_are_doubted() -> None:
    assert doubtful_pointers({"confidence": {"/a": 0.4, "/b": 0.95}}) == {"/a"}
    assert doubtful_pointers({"confidence": {"/a": 0.3, "/b": 0.6}}) == {"/a", "/b"}
