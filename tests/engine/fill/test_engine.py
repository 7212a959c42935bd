"""The promises of `Engine.fill`: one result for each request, whatever else is in its batch."""

# ruff: noqa: ARG002 - the models and observers of these tests have the signatures that the engine calls.

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.random_model import RandomModel, request
from tests.support.scripted_model import Scripted, filled, form_of, many

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.model import Canvas, Row, Scores
from cinnabar.engine.request import Failed
from cinnabar.engine.settings import effort_of
from cinnabar.errors import UsageError


@pytest.mark.parametrize("effort", ["instant", "medium"])
def test_a_result_does_not_depend_on_its_batch_or_order(effort: str) -> None:
    requests = many(24)
    together = Engine(RandomModel(3), effort, token_budget=10**6).fill(requests)
    alone = [Engine(RandomModel(3), effort).fill([r])[0] for r in requests]
    packed = Engine(RandomModel(3), effort, token_budget=300).fill(requests)
    backwards = Engine(RandomModel(3), effort, token_budget=10**6).fill(requests[::-1])[::-1]
    assert together == alone == packed == backwards
    assert [result.id for result in together] == [r.id for r in requests]


def test_no_requests_give_no_results() -> None:
    assert Engine(RandomModel()).fill([]) == []


def test_known_values_never_change_and_the_model_sees_them() -> None:
    form = form_of(
        name={"type": "string"},
        count={"type": ["integer", "null"]},
        maybe={"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": ["number", "null"]}}},
        items={
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "string"}, "m": {"type": "string"}}},
        },
    )
    known = {"/name": '"Ada"', "/count": "null", "/maybe/x": '"kept"', "/items/1/n": '"second"'}
    seen = []

    class Watching(RandomModel):
        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            seen.append(dict(zip((i.slot.path for i in canvas.instances), canvas.values, strict=True)))
            return super().score(forms, memories, rows, canvas)

    for seed in range(15):
        states: list[str] = []
        engine = Engine(Watching(seed), "high")
        (result,) = engine.fill([request(form, known=known)], lambda state, states=states: states.append(state.record))
        for state in [*states, filled(result).record]:
            record = json.loads(state)
            assert record["name"] == "Ada" and record["count"] is None and record["maybe"]["x"] == "kept"
            assert record["items"][1]["n"] == "second"
        leaves = filled(result).leaves
        assert all(leaves[pointer].text == text for pointer, text in known.items())
        assert all(
            leaves[pointer].origin == "known" and leaves[pointer].confidence == 1.0 for pointer in known
        )
    assert all(values["/name"] == b'"Ada"' and values["/maybe/x"] == b'"kept"' for values in seen)


@pytest.mark.parametrize(
    ("known", "detail"),
    [
        ({"/nme": '"Ada"'}, "the form has no place '/nme'"),
        ({"/name": "7"}, "/name: the known value 7 is not allowed here"),
        ({"/name": None}, "/name: this place may not be left out"),
        ({"/items/2/n": '"x"'}, "/items: 3 known items, 2 are allowed"),
    ],
)
def test_known_values_that_do_not_fit_fail_the_request(known: dict[str, str | None], detail: str) -> None:
    item = {"type": "object", "properties": {"n": {"type": "string"}}}
    form = form_of(name={"type": "string"}, items={"type": "array", "maxItems": 2, "items": item})
    (got,) = Engine(RandomModel()).fill([request(form, known=known)])
    assert isinstance(got, Failed) and got.code == "known" and detail in got.detail


def test_the_fingerprint_names_model_and_effort() -> None:
    plain = Engine(RandomModel(1)).fingerprint
    assert plain == Engine(RandomModel(1), "medium").fingerprint
    others = {
        Engine(RandomModel(2)).fingerprint,
        Engine(RandomModel(1), "high").fingerprint,
        Engine(RandomModel(1), steps=5).fingerprint,
        Engine(RandomModel(1), replace(effort_of("medium"), threshold=0.5)).fingerprint,
    }
    assert len(others | {plain}) == 5


def test_timings_are_kept_by_stage() -> None:
    engine = Engine(RandomModel())
    engine.fill(many(2))
    assert list(engine.timings) == ["encode", "rows", "score", "commit"]
    assert all(seconds > 0 for seconds in engine.timings.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"effort": "huge"}, "expected one of instant, low, medium, high, got 'huge'"),
        ({"steps": 0}, "expected 1 to 64 steps, got 0"),
        ({"token_budget": 0}, "expected at least 1, got 0"),
    ],
)
def test_wrong_settings_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Engine(RandomModel(), **arguments)


def test_the_offset_of_the_passage_is_added_to_spans_and_anchors() -> None:
    form = form_of(items={"type": "array", "items": {"type": "string"}})

    class Rows(Scripted):
        def find_rows(self, forms: Any, memories: Any) -> list[list[Row]]:
            return [[Row(0, -1, 3, 0.75)]]

    base = request(form)
    moved = replace(base, passage=replace(base.passage, offset=100))
    (got,) = Engine(Rows(['"A"'], [[9.0]])).fill([moved])
    assert filled(got).rows == {"/items/0": (103, 0.75)}
    assert filled(got).leaves["/items/0"].spans == ((102, 105),)
