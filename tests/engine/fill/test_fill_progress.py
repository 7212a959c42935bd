"""The states of a watched fill: valid, in order, with what each step committed and opened again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.cases import each
from tests.support.random_model import RandomModel, request
from tests.support.random_schemas import forms
from tests.support.second_judge import independent
from tests.support.steps_of_a_fill import EFFORTS

from cinnabar.engine.fill.engine import Engine, FormState
from cinnabar.engine.request import Filled
from cinnabar.engine.settings import effort_of
from cinnabar.errors import RunError
from cinnabar.schemas import compile_schema

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string", "maxLength": 40}, "b": {"type": ["integer", "null"]}},
    "required": ["a", "b"],
}


@each("seed", range(12))
def test_each_state_is_valid_and_the_last_one_is_the_result(seed: int) -> None:
    compiled = forms(seed)
    requests = [request(c.form, str(at)) for at, c in enumerate(compiled)]
    found: list[FormState] = []
    effort = replace(effort_of(EFFORTS[seed % 4]), threshold=0.6)
    engine = Engine(RandomModel(seed), effort)
    results = engine.fill(requests, watcher=found.append)
    assert results == Engine(RandomModel(seed), effort).fill(requests)
    for at, (c, result) in enumerate(zip(compiled, results, strict=True)):
        assert isinstance(result, Filled)
        own = [state for state in found if state.id == str(at)]
        assert [state.step for state in own] == [*range(len(own))] and len(own) == result.steps + 1
        other = independent(c.schema)
        for state in own:
            assert c.accepts(state.record) and (other is None or other(state.record)), state.record
            assert all(0 <= sure <= 1 for sure in state.confidence.values())
        assert own[-1].record == result.record


def test_a_doubted_value_was_committed_before_and_every_value_is_in_the_end() -> None:
    doubted = 0
    for seed in range(40):
        engine = Engine(RandomModel(seed), replace(effort_of("high"), threshold=0.6))
        states: list[FormState] = []
        # No rows: without them a pointer stands for one slot all the time.
        form = compile_schema(SCHEMA).form
        engine.fill([request(form)], watcher=states.append)
        now: set[str] = set()
        partly = False
        for state in states:
            # Parts of a text that is spelled out may be doubted before the whole of it is committed.
            partly = partly or "/a" in state.doubted
            assert {*state.doubted} <= now | {"/a"}
            assert not {*state.committed} & (now - {*state.doubted})
            now = (now - {*state.doubted}) | {*state.committed}
            doubted += len(state.doubted)
        assert now == {"/a", "/b"}
    assert doubted > 0


def test_known_values_are_committed_before_the_first_step() -> None:
    states: list[FormState] = []
    form = compile_schema(SCHEMA).form
    Engine(RandomModel(1), "low").fill([request(form, known={"/b": "3"})], watcher=states.append)
    assert states[0].committed == ("/b",) and states[0].confidence["/b"] == 1.0
    assert all("/b" not in state.committed for state in states[1:])


def test_a_watcher_that_fails_ends_the_run() -> None:
    def failing(_: FormState) -> None:
        raise ValueError("full")

    with pytest.raises(RunError, match="the watcher failed at step 0: full"):
        Engine(RandomModel(1)).fill([request(compile_schema(SCHEMA).form)], watcher=failing)
