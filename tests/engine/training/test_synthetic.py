"""Generated documents become training windows whose targets hold the values."""

from __future__ import annotations

import pytest
from tiny_network import wordpieces

from cinnabar.engine.training.examples import LabelledPassage, SlotTarget
from cinnabar.engine.training.generator import FAMILIES, held_out
from cinnabar.engine.training.synthetic import synthetic_source


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
    assert (again.name, again.shared_schema, again.held_back) == ("synthetic_invoice", False, [])
    other = synthetic_source("invoice", 1, 2, wordpieces()).train[0]
    assert other.text not in [p.text for p in passages]


def test_families_that_are_held_out_are_only_measured() -> None:
    names = held_out()
    assert names and set(names) < set(FAMILIES)
    source = synthetic_source(names[0], 1, 1, wordpieces())
    assert (len(source.train), len(source.held_back)) == (0, 1)
