"""The choice of a value, step by step: committed when sure, reopened when doubted, guessed last."""


from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.random_model import RandomModel, request
from tests.support.scripted_model import Scripted, filled, form_of

from cinnabar.engine.engine import Engine
from cinnabar.engine.model import Canvas, Scores


def test_a_doubted_slot_is_reopened_and_takes_the_better_value() -> None:
    class Changing(Scripted):
        """Be sure of the first slot at once and of the opposite later, and never sure of the second."""

        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            spans.append(list(canvas.spans))
            scores = super().score(forms, memories, rows, canvas)
            scores.candidate_logits[1] = 0.0
            return scores

    spans: list[Any] = []
    form = form_of(a={"type": "string"}, b={"type": "string"})
    engine = Engine(Changing(['"A"', '"B"'], [[5, 0], [0, 5]]), "medium")
    states: list[str] = []
    (got,) = engine.fill([request(form)], lambda _, s: states.append(json.loads(s[0])["a"]))
    assert spans[:2] == [[(), ()], [((2, 5),), ()]]
    assert states[1] == "A" and json.loads(filled(got).record)["a"] == "B"
    assert filled(got).reopened == 1


def test_a_value_is_reopened_at_most_twice() -> None:
    class Fickle(Scripted):
        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            scores = super().score(forms, memories, rows, canvas)
            scores.candidate_logits[0] = scores.candidate_logits[0].roll(self.step)
            scores.candidate_logits[1] = 0.0
            return scores

    form = form_of(a={"type": "string"}, b={"type": "string"})
    (got,) = Engine(Fickle(['"A"', '"B"'], [[5, 0]]), "high").fill([request(form)])
    assert filled(got).reopened == 2


def test_an_answer_that_is_certain_at_once_takes_one_step() -> None:
    form = form_of(a={"type": "string"}, b={"type": "string"})
    (got,) = Engine(Scripted(['"A"', '"B"'], [[9, 0]]), "high").fill([request(form)])
    assert filled(got).steps == 1 and filled(got).record == '{"a":"A","b":"A"}'
    leaf = filled(got).leaves["/a"]
    assert leaf.confidence == pytest.approx(0.9999, abs=1e-4) and leaf.spans == ((9, 12),)
    assert leaf.origin == "copied" and not leaf.missing


def test_an_uncertain_answer_takes_no_more_steps_than_its_effort() -> None:
    form = form_of(**{name: {"type": "string"} for name in "abcdefgh"})
    for effort, steps in (("instant", 1), ("low", 2), ("medium", 3), ("high", 8)):
        (got,) = Engine(Scripted(['"A"', '"B"'], [[0, 0]]), effort).fill([request(form)])
        assert filled(got).steps == steps
        assert set(json.loads(filled(got).record).values()) == {"A"}


def test_no_form_takes_more_than_two_steps_beyond_its_effort_however_many_slots_it_has() -> None:
    # In so many slots there are some with a value that is doubted again and again.
    form = form_of(**{f"{at}": {"type": "string"} for at in range(300)})
    for seed in range(2):
        (got,) = Engine(RandomModel(seed), "instant").fill([request(form)])
        assert filled(got).steps <= 1 + 2


def test_a_value_that_is_demanded_but_not_found_is_guessed_and_flagged() -> None:
    form = form_of(a={"type": "string"}, b={"type": ["string", "null"]}, maybe={"type": "string"})
    (got,) = Engine(Scripted(['"A"', '"B"'], [[1, 0]], absent=4.0)).fill([request(form)])
    leaves = filled(got).leaves
    assert filled(got).record == '{"a":"A","b":null}'
    assert leaves["/a"].missing and leaves["/a"].text == '"A"' and leaves["/a"].confidence < 0.1
    assert (leaves["/b"].text, leaves["/b"].origin, leaves["/b"].missing) == ("null", "absent", False)
    assert (leaves["/maybe"].text, leaves["/maybe"].origin) == (None, "absent")
    assert leaves["/b"].confidence > 0.9


def test_a_slot_without_offers_is_minimal() -> None:
    (got,) = Engine(Scripted([], [[]])).fill([request(form_of(a={"type": "string", "minLength": 1}))])
    leaf = filled(got).leaves["/a"]
    assert leaf.origin == "minimal" and leaf.missing and leaf.confidence == 0.0
