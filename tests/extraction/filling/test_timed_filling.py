"""The filling of several documents: short ones share batches, long ones come after them and use only their own time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.support.reading_model import ReadingModel

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.request import Failed, Filled, Passage, Request, Result
from cinnabar.engine.work_time import check_time
from cinnabar.extraction.filling import timed_filling
from cinnabar.extraction.filling.timed_filling import DocumentRequests, fill_documents
from cinnabar.schemas import compile_schema

FORM = compile_schema({"type": "object", "properties": {"name": {"type": ["string", "null"]}}}).form


class Listing(ReadingModel):
    """A model that lists its batches, and never ends with a passage that holds the word SLOW."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[str]] = []

    def encode(self, passages: Sequence[Passage]) -> list[Any]:
        self.batches.append([passage.text for passage in passages])
        while any("SLOW" in passage.text for passage in passages):
            check_time()
        return super().encode(passages)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_filling, "LONG_DOCUMENT", 10)


def asked(tokens: int, *texts: str) -> DocumentRequests:
    none, boxes = np.zeros(0, np.int32), np.zeros((0, 4), np.float32)
    return DocumentRequests(tokens, [Request(text, FORM, Passage(text, text, 0, none, none, boxes)) for text in texts])


def codes(results: Sequence[Result]) -> list[str]:
    return [result.code if isinstance(result, Failed) else "" for result in results]


def test_long_documents_are_filled_alone_after_the_short_ones_the_shortest_first() -> None:
    model = Listing()
    documents = [asked(30, "longest", "of all"), asked(1, "a"), asked(20, "long"), asked(2, "b")]
    found = fill_documents(documents, Engine(model))
    assert model.batches == [["a", "b"], ["long"], ["longest"], ["of all"]]
    assert [[one.id for one in own] for own in found] == [["longest", "of all"], ["a"], ["long"], ["b"]]
    assert all(isinstance(one, Filled) for own in found for one in own)


def test_a_failure_of_a_long_document_stands_for_the_passages_after_it() -> None:
    model = Listing()
    (found,) = fill_documents([asked(30, "one", "BOOM", "three", "four")], Engine(model))
    assert codes(found) == ["", "engine_error", "engine_error", "engine_error"]
    assert [one.id for one in found] == ["one", "BOOM", "three", "four"]
    assert "three" not in str(model.batches)


def test_a_slow_document_says_which_option_gives_it_more_time_and_harms_no_other() -> None:
    found = fill_documents([asked(30, "SLOW", "x"), asked(1, "a"), asked(1, "SLOW")], Engine(Listing()), 0.05)
    assert [codes(own) for own in found] == [["too_slow", "too_slow"], [""], ["too_slow"]]
    failed = found[0][0]
    assert isinstance(failed, Failed)
    assert failed.detail.startswith("the model worked on it for more than 0.05 s; give more with max_seconds")


def test_the_seconds_are_those_of_all_passages_of_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr(timed_filling.time, "thread_time", lambda: float(next(clock)))
    (found,) = fill_documents([asked(30, "one", "two", "three")], Engine(ReadingModel()), 10.0)
    assert codes(found) == ["", "too_slow", "too_slow"]
