"""Spelled values: they grow, their letters are committed one by one, and they end in padding."""



from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from random_model import SteeredModel, request
from scripted_model import Spelling, filled, form_of

from cinnabar.engine.canvas import PAD, VOCABULARY, Canvas
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.base import Candidate, Scores


def test_a_spelled_value_stays_when_the_model_no_longer_spells_it() -> None:
    class Once(SteeredModel):
        """Spell the first slot out in the first step only, and rather copy another value later."""

        step = 0

        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            scores = super().score(forms, memories, rows, canvas)
            scores.candidates = [[Candidate(b'"copied"')] for _ in canvas.instances]
            scores.candidate_logits = torch.full((2, 1), -9.0 + 9.0 * self.step)
            scores.generate_logit[1] = scores.absent_logit[1] = scores.candidate_logits[1, 0]
            if self.step:
                scores.generating = torch.zeros(0, dtype=torch.long)
                scores.token_logits = scores.token_logits[:0]
            self.step += 1
            return scores

    form = form_of(a={"type": "string"}, b={"type": "string"})
    (got,) = Engine(Once(), "high").fill([request(form, text='{"a":"x","b":"y"}')])
    assert json.loads(filled(got).record)["a"] == "x" and filled(got).steps > 1
    assert filled(got).leaves["/a"].origin == "generated" and filled(got).reopened == 0


@pytest.mark.parametrize("size", [3, 14, 15, 30, 31, 62])
@pytest.mark.parametrize("effort", ["instant", "medium"])
def test_a_value_grows_until_it_fits(size: int, effort: str) -> None:
    record = json.dumps({"a": "x" * size}, separators=(",", ":"))
    (got,) = Engine(SteeredModel(), effort).fill([request(form_of(a={"type": "string"}), text=record)])
    assert filled(got).record == record
    assert filled(got).steps <= 1 + (size > 14) + (size > 30)


def test_a_value_longer_than_the_longest_slot_is_cut_but_valid() -> None:
    record = json.dumps({"a": "x" * 100})
    form = form_of(a={"type": "string"})
    (got,) = Engine(SteeredModel(), "low").fill([request(form, text=record)])
    assert json.loads(filled(got).record)["a"] == "x" * 62


def test_forced_positions_do_not_count_towards_confidence() -> None:
    class Unsure(SteeredModel):
        """Be sure of the digits only, not of the dashes and quotes that the date format forces."""

        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            scores = super().score(forms, memories, rows, canvas)
            for at in (0, 5, 8, 11):
                scores.token_logits[:, at] = 0.0
            return scores

    form = form_of(a={"type": "string", "format": "date"})
    (got,) = Engine(Unsure()).fill([request(form, text='{"a":"2024-05-17"}')])
    assert filled(got).record == '{"a":"2024-05-17"}'
    assert filled(got).leaves["/a"].confidence > 0.99


def test_padding_follows_from_the_end_of_a_value_and_never_comes_first() -> None:
    logits = torch.zeros(16, VOCABULARY)
    logits[0, ord('"')] = 9.0
    logits[1:4, ord("x")] = 6.0
    logits[4, ord('"')] = 5.0
    logits[5:9, PAD] = 4.0
    # The far right is certainly padding, but the end of the value is not certain.
    logits[9:, PAD] = 30.0
    model = Spelling(logits, 99.0, -9.0, 0.0)
    (got,) = Engine(model, "medium", threshold=1.0).fill([request(form_of(a={"type": "string"}))])
    end = len(filled(got).leaves["/a"].text or "")
    assert end < 9 and filled(got).steps > 1
    for _, tokens in model.seen:
        assert PAD not in tokens or tokens.index(PAD) == end
        assert PAD not in tokens or set(tokens[end:]) == {PAD}


def test_a_value_with_forced_letters_is_committed_as_a_whole_in_its_turn() -> None:
    form = form_of(a={"type": ["string", "null"], "pattern": "^abc$"}, b={"type": "string"})
    # Sixteen positions of 1 in 258 are -88.8: the spelled value is a little likelier than absence.
    model = Spelling(torch.zeros(16, VOCABULARY), 89.14, 0.0, 9.0)
    (got,) = Engine(model, "medium").fill([request(form)])
    assert filled(got).record == '{"a":"abc","b":"A"}'
    assert [value for value, _ in model.seen] == [None, None]
    assert all(set(tokens) == {-1} for _, tokens in model.seen)
    assert filled(got).leaves["/a"].confidence == pytest.approx(0.575, abs=0.02)


def test_a_position_is_reopened_at_most_twice() -> None:
    class Fickle(Spelling):
        """Be sure of the first letter, of another one in every step, and never of the others."""

        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            self.token_logits[1] = 0.0
            self.token_logits[1, ord("xy"[len(self.seen) % 2])] = 12.0
            return super().score(forms, memories, rows, canvas)

    logits = torch.zeros(16, VOCABULARY)
    logits[[0, 14], ord('"')] = 30.0
    logits[15:, PAD] = 30.0
    engine = Engine(Fickle(logits, 99.0, -9.0, 0.0), "high")
    (got,) = engine.fill([request(form_of(a={"type": "string"}))])
    assert filled(got).reopened == engine.reopenings.positions == 2
    assert filled(got).steps > 5


@pytest.mark.parametrize("other", ["absent", "copied"])
def test_a_partly_committed_value_does_not_become_absent_or_another_text(other: str) -> None:
    class Leaning(Spelling):
        """Lean towards another value once the first letters are committed, but not clearly."""

        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            self.spelled = 0.6 if self.seen else 4.0
            self.nothing = 0.0 if other == "absent" else -9.0
            scores = super().score(forms, memories, rows, canvas)
            if other == "copied":
                scores.candidates[0] = [Candidate(b'"copied"'), Candidate(b'"xxx"')]
                scores.candidate_logits = torch.tensor([[0.0, -9.0]])
            return scores

    logits = torch.zeros(16, VOCABULARY)
    logits[[0, 4], ord('"')] = 30.0
    logits[1:4, ord("x")] = 6.0
    logits[5:, PAD] = 30.0
    model = Leaning(logits, 0.0, 0.0, 0.0)
    engine = Engine(model, "medium", steps=4, threshold=0.9)
    (got,) = engine.fill([request(form_of(a={"type": ["string", "null"]}))])
    assert len(model.seen) == 4 and -1 in model.seen[1][1]
    assert filled(got).record == '{"a":"xxx"}' and filled(got).reopened == 0
    assert filled(got).leaves["/a"].origin == "generated"
