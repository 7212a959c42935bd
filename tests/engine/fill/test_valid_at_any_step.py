"""Random schemas, random scores: the engine holds a whole valid record before and after every step."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.support.effort import first
from tests.support.random_model import RandomModel, SteeredModel, request
from tests.support.random_schemas import forms, random_schema, writable
from tests.support.second_judge import independent
from tests.support.steps_of_a_fill import EFFORTS, fill_at_random, in_the_forms_way, objections, present

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.request import Failed, Filled
from cinnabar.engine.settings import effort_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.strings import parse

CHUNKS, SEEDS, BATCH = 20, 20, 5


@pytest.mark.parametrize("chunk", first(1, range(CHUNKS)))
def test_every_state_at_every_step_is_valid(chunk: int) -> None:
    """Fill CHUNKS * SEEDS * BATCH = 2,000 pairs of a schema and random scores."""
    cases = 0
    for seed in range(chunk * SEEDS, (chunk + 1) * SEEDS):
        compiled = forms(seed)
        for c, (result, states) in zip(
            compiled, fill_at_random(compiled, seed, EFFORTS[seed % 4]), strict=True
        ):
            other = independent(c.schema)
            assert other is not None and not [*objections(c, other, result, states)]
            assert all(" " not in state.split('"')[0] for state in states)
            cases += 1
    assert cases == SEEDS * BATCH


def test_faults_of_a_step_are_found() -> None:
    c = compile_schema(
        {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    )
    ((result, states),) = fill_at_random([c], 1, "low")
    assert len(states) > 1 and not [*objections(c, independent(c.schema), result, states)]
    for wrong in ('{"n":"x"}', '{"n":1,"n":2}', '{"m":1}'):
        said = [*objections(c, independent(c.schema), result, [wrong, *states])]
        assert said and wrong in said[0]
    assert [*objections(c, None, result, [*states, "{}"])] or states[-1] == "{}"
    assert [*objections(c, None, Failed("0", "model", "broken"), states)] == ["model: broken"]


def test_nearly_all_schemas_have_a_form() -> None:
    draw = random.Random(1)
    assert sum(writable(random_schema(draw)) for _ in range(300)) > 290


@pytest.mark.slow
def test_random_scores_reach_every_way_of_filling_a_slot() -> None:
    """The other tests rely on these: reopening, and every origin of a value do occur."""
    origins, reopened, missing = set(), 0, 0
    for seed in range(30):
        engine = Engine(RandomModel(seed), replace(effort_of("high"), threshold=0.6))
        for result in engine.fill([request(c.form, str(k)) for k, c in enumerate(forms(seed))]):
            assert isinstance(result, Filled)
            origins |= {leaf.origin for leaf in result.leaves.values()}
            missing += sum(leaf.missing for leaf in result.leaves.values())
            reopened += result.reopened
    assert origins == {"copied", "absent", "minimal"}
    assert reopened > 100 and missing > 10


@pytest.mark.parametrize("effort", first(1, EFFORTS))
def test_scores_peaked_on_a_record_give_its_canonical_text(effort: str) -> None:
    tried = 0
    for seed in range(25):
        made = Engine(RandomModel(seed, scales=(1.0,)), "low").fill(
            [request(c.form, str(k)) for k, c in enumerate(forms(seed))]
        )
        wanted = []
        for c, result in zip(forms(seed), made, strict=True):
            assert isinstance(result, Filled)
            way = in_the_forms_way(c.form, parse(result.record))
            assert present([parse(way)]) == present([parse(result.record)])
            if c.accepts(way):
                assert c.canonical(parse(way)) == way
                wanted.append((c, way))
        requests = [request(c.form, str(k), text=record) for k, (c, record) in enumerate(wanted)]
        for result, (_, record) in zip(Engine(SteeredModel(), effort).fill(requests), wanted, strict=True):
            assert isinstance(result, Filled), result
            assert result.record == record
            tried += 1
    assert tried > 80


@pytest.mark.slow
def test_scores_peaked_on_refused_records_give_allowed_ones_near_them() -> None:
    """Each value fits its slot, but they do not go together: the engine finds another record near them."""
    tried = given_up = 0
    for seed in range(60):
        loose = [replace(c.form, judge=None) for c in forms(seed)]
        requests = [request(form, str(k)) for k, form in enumerate(loose)]
        wanted = []
        for c, result in zip(forms(seed), Engine(RandomModel(seed), "low").fill(requests), strict=True):
            assert isinstance(result, Filled)
            if not c.accepts(result.record):
                wanted.append((c, result.record))
        requests = [request(c.form, str(k), text=record) for k, (c, record) in enumerate(wanted)]
        for result, (c, _) in zip(Engine(SteeredModel(), "low").fill(requests), wanted, strict=True):
            assert isinstance(result, Filled), result
            assert c.accepts(result.record)
            tried += 1
            given_up += all(leaf.origin in ("minimal", "absent") for leaf in result.leaves.values())
    assert tried > 40
    assert given_up < 0.25 * tried
