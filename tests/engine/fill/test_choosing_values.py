"""The number of steps in which values are chosen."""

from __future__ import annotations

import json

import pytest
from tests.support.random_model import RandomModel, request
from tests.support.scripted_model import Scripted, filled, form_of

from cinnabar.engine.fill.engine import Engine


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
