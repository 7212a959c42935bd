"""What to label next: documents of each kind come before a second one of the same kind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cinnabar.extraction.quality.labelling_order import Candidate, labelling_order

BILL = "Bill {} of the seller\nTotal due {} EUR\nPlease pay within ten days"
NOTE = "Dear Ms {}, the meeting is moved to room {}"
CODE = "def run_{}(): return {} + queue.pop()"


def _texts(*shapes: str) -> list[Candidate]:
    return [Candidate(shape.format(number, number * 7)) for number, shape in enumerate(shapes)]


def test_each_kind_comes_before_a_second_document_of_one() -> None:
    documents = _texts(BILL, BILL, BILL, BILL, NOTE, NOTE, NOTE, CODE, CODE)
    first = labelling_order(documents, 3)
    assert [sorted(first)[0] < 4, 4 <= sorted(first)[1] < 7, sorted(first)[2] >= 7] == [True] * 3


def test_a_kind_that_is_labelled_waits() -> None:
    assert labelling_order(_texts(BILL, BILL, NOTE), 1, labelled=_texts(BILL)) == [2]


def test_doubt_counts_as_far_as_it_is_asked_for() -> None:
    alike = [Candidate("a letter of thanks", {"/total": 0.1}), Candidate("a letter of thanks", {"/total": 0.9})]
    assert labelling_order(alike, 1, doubt=0.5) == [1]
    assert labelling_order(alike, 1, doubt=0.0) == [0]


@given(st.lists(st.text(max_size=30), max_size=12), st.integers(0, 15), st.integers(0, 3))
def test_every_document_comes_once_at_most(texts: list[str], count: int, labelled: int) -> None:
    own = [Candidate(text, {"/a": len(text) / 30}) for text in texts]
    found = labelling_order(own[labelled:], count, own[:labelled], doubt=0.3)
    assert len(found) == len(set(found)) == min(count, max(0, len(own) - labelled))
