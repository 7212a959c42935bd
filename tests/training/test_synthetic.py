"""Synthetic sources: generated documents become training windows whose targets hold the values."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from tests.support.tiny_network import wordpieces
from training.recipe import MadeRecipe
from training.synthetic import mined_source, synthetic_source

from cinnabar.engine.training.examples import LabelledPassage
from cinnabar.engine.training.targets import SlotTarget


@pytest.fixture(scope="module")
def passages() -> list[LabelledPassage]:
    return synthetic_source("invoice", 4, 1, wordpieces()).train


def slots_of(passage: LabelledPassage) -> list[SlotTarget]:
    return [*passage.scalars, *(x for row in passage.rows for x in row)]


def test_targets_lie_in_their_passage_and_on_allowed_starts(passages: list[LabelledPassage]) -> None:
    assert len(passages) == 4
    for passage in passages:
        count = len(passage.pieces)
        for slot in slots_of(passage):
            assert all(0 <= a <= b < count for a, b in slot.spans)
            assert slot.allowed is None or {a for a, _ in slot.spans} <= slot.allowed
            assert -1 <= slot.anchor < count and -1 <= slot.until <= count
            assert not (slot.absent and slot.spans)
            assert slot.option < len(slot.options) or not slot.options
        assert all(0 <= p < count for array in passage.arrays for p in array.places)
    assert any(slot.spans for passage in passages for slot in slots_of(passage))


def test_the_same_seed_generates_the_same_documents(passages: list[LabelledPassage]) -> None:
    again = synthetic_source("invoice", 4, 1, wordpieces())
    assert [p.text for p in again.train] == [p.text for p in passages]
    assert [p.scalars for p in again.train] == [p.scalars for p in passages]
    assert (again.name, again.shared_schema) == ("synthetic_invoice", False)
    other = synthetic_source("invoice", 1, 2, wordpieces()).train[0]
    assert other.text not in [p.text for p in passages]


def test_texts_that_name_their_values_are_mined(tmp_path: Path) -> None:
    text = "Order: 4711\nCustomer: Ana Duarte\nDelivery: by truck\n\nThank you for your order.\n"
    path = tmp_path / "notes.jsonl.xz"
    with lzma.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps({"text": t}) + "\n" for t in (text, "Nothing is named here."))
    source = mined_source(path, MadeRecipe(1.5, 10), wordpieces())
    assert (source.name, source.weight, len(source.train)) == ("mined_notes", 1.5, 1)
    shown = {
        source.train[0].text[source.train[0].pieces.start[a] : source.train[0].pieces.end[b]]
        for target in source.train[0].scalars
        for a, b in target.spans
    }
    assert shown and shown <= {"4711", "Ana Duarte", "by truck"}
