"""Choices of long passages: training shows the windows that say most of each."""

from __future__ import annotations

import random

import torch
from tests.support.tiny_network import labelled, wordpieces

from cinnabar.engine.training.examples import draw_window, is_held
from cinnabar.engine.training.pool import TrainingSource, add_evidence

SCHEMA = {
    "type": "object",
    "required": ["title", "audit_rights"],
    "properties": {"title": {"type": "string"}, "audit_rights": {"type": "boolean"}},
}
FILLER = "the and of with for that this from have been\n" * 60
TEXT = f"Supply agreement\n{FILLER}the seller has audit rights\n{FILLER}"


def _source() -> TrainingSource:
    passage = labelled(TEXT, SCHEMA, {"title": "Supply agreement", "audit_rights": True})
    torch.manual_seed(1)
    words = torch.randn(wordpieces().size, 64)
    return add_evidence(TrainingSource("agreements", 1.0, [passage]), words, wordpieces())


def test_the_windows_with_most_of_a_choices_words_hold_it() -> None:
    (passage,) = _source().train
    (choice,) = (s for s in passage.scalars if s.chosen)
    audit = passage.pieces.ids.tolist().index(wordpieces().ids("audit")[0])
    holding = [w for w in passage.windows if is_held(choice, w)]
    assert 0 < len(holding) < len(passage.windows)
    assert any(w.first <= audit < w.last for w in holding)


def test_windows_of_a_long_passage_begin_at_many_places_and_stay_within_it() -> None:
    passage = _source().train[0]
    rng = random.Random(0)
    drawn = [draw_window(passage, rng) for _ in range(200)]
    assert len({w.first for w in drawn}) > 50
    longest = max(w.last - w.first for w in passage.windows)
    assert all(0 <= w.first < w.last <= len(passage.pieces) and w.last - w.first <= longest for w in drawn)
