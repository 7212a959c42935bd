"""The target of one slot: its words, its option, or the value named for absence."""

from __future__ import annotations

import random
from typing import Any

import torch
from tests.support.tiny_network import BILL, bill, labelled, tiny_network, wordpieces

from cinnabar.engine.models.reader.inputs.questions import Question
from cinnabar.engine.training.batches import TrainingBatch, collate, reword
from cinnabar.engine.training.examples import IGNORE
from cinnabar.engine.training.objective import losses
from cinnabar.engine.training.targets import SlotTarget

AMOUNT = {"type": ["number", "null"], "description": "Fees, always positive; 0 when none."}
FEES: dict[str, Any] = {"type": "object", "required": ["fees"], "properties": {"fees": AMOUNT}}


def target(text: str, fees: float | None) -> SlotTarget:
    (found,) = labelled(text, FEES, {"fees": fees}).scalars
    return found


def batch(text: str, fees: float | None, seed: int = 0) -> TrainingBatch:
    passage = labelled(text, FEES, {"fees": fees})
    return collate([(passage, passage.windows[0])], wordpieces(), random.Random(seed))


def wanted(found: TrainingBatch) -> tuple[float, int, bool, float]:
    t = found.targets
    return float(t.absent[0, 0]), int(t.default[0, 0]), bool(t.either[0, 0]), float(t.unsigned[0, 0])


def test_an_unprinted_named_value_is_absent_and_the_default() -> None:
    found = target("Sold 12 shares.", 0)
    assert (found.absent, found.known, found.default, found.spans) == (True, True, 0, ())
    assert target("Sold 12 shares.", 7).default == -1 and target("Sold 12 shares.", None).default == -1


def test_a_value_that_is_not_printed_teaches_nothing() -> None:
    assert not (found := target("Sold 12 shares.", 7)).known and not found.absent
    absent, default, either, unsigned = wanted(batch("Sold 12 shares.", 7))
    assert absent != absent and unsigned != unsigned and (default, either) == (IGNORE, False)


def test_the_sign_of_a_printed_number_is_part_of_the_value_or_is_not() -> None:
    assert target("Fees -4.90 EUR", 4.9).unsigned is True
    assert target("Fees -4.90 EUR", -4.9).unsigned is False
    assert target("Fees 4.90 EUR", 4.9).unsigned is None
    assert target("Fees -4.90 EUR, 4.90 in all", 4.9).unsigned is None


def test_a_batch_has_the_default_of_each_question_that_names_it() -> None:
    named = [b for seed in range(30) if (b := batch("Sold 12 shares.", 0, seed)).questions.named.any()]
    assert {wanted(b)[:3] for b in named} == {(1.0, 1, False)}
    unnamed = [b for seed in range(60) if not (b := batch("Sold.", 0, seed)).questions.named.any()]
    assert unnamed and {wanted(b)[:3] for b in unnamed} == {(1.0, IGNORE, False)}
    assert wanted(batch("Sold 12 shares.", None))[:3] == (1.0, 0, False)
    assert wanted(batch("Fees -4.90", 4.9))[:3] == (0.0, IGNORE, False)
    assert wanted(batch("Fees -4.90", 4.9))[3] == 1.0


def test_a_named_value_that_is_printed_may_be_read_either_way() -> None:
    absent, default, either, _ = wanted(batch("Fees 0.00", 0))
    assert absent != absent and (default, either) == (1, True)


def test_a_shortened_wording_names_only_the_values_that_it_still_has() -> None:
    text, truth = bill(0)
    passage = labelled(text, BILL, truth)
    asked = next(s.question for s in passage.scalars if s.question.named)
    longer = Question(asked.label, asked.note.rstrip(".") + ". 7 is odd", "", asked.named)
    seen = [reword(longer, random.Random(seed)) for seed in range(80)]
    for question in seen:
        assert question.named == (asked.named if question.note else ())
        for value in question.named:
            assert question.note[value.start : value.end] == "0"
    assert any(not q.note for q in seen) and any(q.note == longer.note.split(". ")[0] for q in seen)


def test_the_loss_adds_up_both_readings_of_a_named_value() -> None:
    network = tiny_network().eval()
    with torch.no_grad():
        printed = losses(network, batch("Fees 0.00", 0))
    assert "start" not in printed and "absent" not in printed and printed["default"] > 0
