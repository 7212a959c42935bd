"""Rewording: a question gets other words, and sometimes the name of another field."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from cinnabar.engine.models.reader.inputs.questions import Question
from cinnabar.engine.training import batches
from cinnabar.engine.training.batches import Rewording

DUE = Question("due date", "Day by which it is to be paid.", "invoice")
SENT = Question("sent", "Day on which it was sent.", "invoice")
TOTAL = Question("total", "What is to be paid.")
BARE = Question("remark", "")
DATE, NUMBER = 0, 1


@pytest.fixture
def misnamed(monkeypatch: pytest.MonkeyPatch) -> Rewording:
    monkeypatch.setattr(batches, "MISNAMED", 1.0)
    return Rewording(random.Random(0))


def test_a_described_field_takes_the_name_of_the_last_field_of_its_kind(misnamed: Rewording) -> None:
    misnamed.of(DUE, DATE)
    misnamed.of(TOTAL, NUMBER)
    asked = misnamed.of(SENT, DATE)
    assert (asked.label, asked.note, asked.parents) == ("due date", SENT.note, "invoice")


def test_a_field_without_a_description_keeps_its_name(misnamed: Rewording) -> None:
    misnamed.of(DUE, DATE)
    assert misnamed.of(BARE, DATE).label in ("remark", "")
    assert misnamed.of(SENT, DATE).label == "due date"


def test_a_question_has_one_wording_throughout_a_batch(misnamed: Rewording) -> None:
    misnamed.of(DUE, DATE)
    assert misnamed.of(SENT, DATE) is misnamed.of(SENT, DATE)


def test_most_batches_ask_for_fields_by_their_own_names() -> None:
    labels = []
    for seed in range(200):
        batch = Rewording(random.Random(seed))
        batch.of(DUE, DATE)
        labels.append(batch.of(SENT, DATE).label)
    assert 0.1 < labels.count("due date") / len(labels) < 0.3
    assert labels.count("sent") > 100


def test_a_question_is_told_apart_from_others_of_its_document_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MISNAMED", 0.0)
    monkeypatch.setattr(batches, "APART", 1.0)
    batch = Rewording(random.Random(0))
    batch.of(DUE, DATE)
    assert batch.of(SENT, DATE).note.endswith("not the due date")
    batch.next_document()
    assert "not the" not in batch.of(TOTAL, DATE).note


def test_every_wording_asks_for_the_field_in_some_way() -> None:
    for seed in range(300):
        for question in (DUE, BARE):
            worded = batches.reword(question, random.Random(seed))
            assert worded.text and worded.parents == question.parents


def test_a_note_that_says_what_is_not_meant_stays_with_its_name(misnamed: Rewording) -> None:
    told = replace(SENT, note="The date, not the due date.")
    misnamed.of(DUE, DATE)
    assert misnamed.of(told, DATE).label == told.label and "not the due date" in misnamed.of(told, DATE).note
    assert all("not the due date" in batches.reword(told, random.Random(seed)).note for seed in range(100))
