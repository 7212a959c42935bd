"""Random schemas, random scores: the engine holds a whole valid record before and after every step."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest
import torch
from random_model import RandomModel, SteeredModel, request
from random_schemas import forms, random_schema, schemas, writable

from cinnabar.engine.constraint import Constraint, first_length, shortest
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.base import MASK, VOCABULARY
from cinnabar.engine.request import Filled
from cinnabar.engine.tokenizer import text_of
from cinnabar.schemas import compile_schema

EFFORTS = ("instant", "low", "medium", "high")
CHUNKS, SEEDS, BATCH = 20, 20, 5


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_state_at_every_step_is_valid(chunk: int) -> None:
    """CHUNKS * SEEDS * BATCH = 2,000 pairs of a schema and random scores."""
    cases = 0
    for seed in range(chunk * SEEDS, (chunk + 1) * SEEDS):
        validators = [jsonschema_rs.validator_for(s, validate_formats=True) for s in schemas(seed)]
        requests = [request(c.form, str(k)) for k, c in enumerate(forms(seed))]
        steps = 0

        def check(step: int, states: list[str], validators: list[Any] = validators, seed: int = seed) -> None:
            nonlocal steps
            steps = step
            assert len(states) == len(validators)
            for state, validator in zip(states, validators, strict=True):
                validator.validate(json.loads(state, object_pairs_hook=_once))
                assert " " not in state.split('"')[0], (seed, state)

        engine = Engine(RandomModel(seed), EFFORTS[seed % 4])
        results = engine.fill(requests, check)
        for result, validator, c in zip(results, validators, forms(seed), strict=True):
            assert isinstance(result, Filled), result
            validator.validate(json.loads(result.record))
            assert c.accepts(result.record)
            assert result.steps <= engine.effort.steps + 2
            cases += 1
    assert cases == SEEDS * BATCH


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({name for name, _ in pairs}) == len(pairs), "a key is written twice"
    return dict(pairs)


def test_there_is_a_form_of_nearly_all_schemas() -> None:
    draw = random.Random(1)
    assert sum(writable(random_schema(draw)) for _ in range(300)) > 290


def test_random_scores_reach_every_way_of_filling_a_slot() -> None:
    """What the other tests rest on: growth, re-opening, and every origin of a value do occur."""
    origins, reopened, changed, longest, missing = set(), 0, 0, 0, 0
    for seed in range(30):
        engine = Engine(RandomModel(seed), "high", threshold=0.6)
        for result in engine.fill([request(c.form, str(k)) for k, c in enumerate(forms(seed))]):
            assert isinstance(result, Filled)
            origins |= {leaf.origin for leaf in result.leaves.values()}
            missing += sum(leaf.missing for leaf in result.leaves.values())
            spelled = [leaf.text or "" for leaf in result.leaves.values() if leaf.origin == "generated"]
            longest = max([longest, *(len(text.encode()) for text in spelled)])
        reopened += engine.reopenings.values + engine.reopenings.positions
        changed += engine.reopenings.changed
    assert origins == {"copied", "generated", "absent", "minimal"}
    assert reopened > 100 and 0 < changed <= reopened
    assert longest > 32 and missing > 10


def test_any_subset_of_a_witness_can_be_completed() -> None:
    constraint = Constraint(torch.device("cpu"))
    for seed in range(20):
        draw, torch_draw = random.Random(seed), torch.Generator().manual_seed(seed)
        slots = [slot for c in forms(seed, 3) for slot in c.form.slots if slot.kind != "null"]
        slots = [slot for slot in slots if (shortest(slot) or 0) <= 64]
        if not slots:
            continue
        length = torch.tensor([max(first_length(slot), draw.choice((16, 32))) for slot in slots])
        inside = torch.arange(int(length.max())) < length.unsqueeze(1)
        tokens = torch.full(inside.shape, MASK)
        scale = draw.choice((1.0, 20.0, 1e4))
        while bool(((tokens < 0) & inside).any()):
            logits = torch.randn(*tokens.shape, VOCABULARY, generator=torch_draw) * scale
            got = constraint.outlook(slots, tokens, length, logits)
            assert bool(got.complete.all())
            fixed = tokens >= 0
            assert torch.equal(got.witness[fixed], tokens[fixed])
            for k, slot in enumerate(slots):
                text = text_of(got.witness[k, : int(length[k])].tolist())
                assert slot.accepts(text) and (text != b"null" or not slot.nullable), text
            now = torch.rand(tokens.shape, generator=torch_draw) < 0.4
            tokens = torch.where(now & inside & ~fixed, got.witness, tokens)


def present(value: Any) -> Any:
    """What a value holds, however it is written that there is nothing: as null, as `[]`, not at all."""
    if isinstance(value, dict):
        parts = {name: present(part) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part not in (None, [], {})}
    if not isinstance(value, list):
        return value
    items = [present(part) for part in value]
    while items and items[-1] in (None, [], {}):
        items.pop()
    return items


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("how", ["spell", "copy"])
def test_scores_peaked_on_a_record_give_its_canonical_text(how: str, effort: str) -> None:
    tried = same = 0
    for seed in range(25):
        made = Engine(RandomModel(seed, scales=(1.0,)), "low").fill(
            [request(c.form, str(k)) for k, c in enumerate(forms(seed))]
        )
        wanted = []
        for c, result in zip(forms(seed), made, strict=True):
            assert isinstance(result, Filled)
            short = all(len((leaf.text or "").encode()) <= 64 for leaf in result.leaves.values())
            if short or how == "copy":
                wanted.append((c, result.record))
        requests = [request(c.form, str(k), text=record) for k, (c, record) in enumerate(wanted)]
        for result, (_, record) in zip(Engine(SteeredModel(how), effort).fill(requests), wanted, strict=True):
            assert isinstance(result, Filled), result
            assert present(json.loads(result.record)) == present(json.loads(record))
            tried += 1
            same += result.record == record
    assert tried > 80
    assert same > 0.9 * tried


@pytest.mark.parametrize("how", ["spell", "copy"])
def test_scores_peaked_on_records_that_are_cut_give_others_that_are_allowed(how: str) -> None:
    """Values that each fit their slot and do not go together: another record is found near them."""
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
        for result, (c, _) in zip(Engine(SteeredModel(how), "low").fill(requests), wanted, strict=True):
            assert isinstance(result, Filled), result
            assert c.accepts(result.record)
            tried += 1
            given_up += all(leaf.origin in ("minimal", "absent") for leaf in result.leaves.values())
    assert tried > 40
    assert given_up < 0.2 * tried


def test_scores_peaked_on_what_is_not_allowed_give_another_text_that_is() -> None:
    c = compile_schema(
        {
            "type": "object",
            "properties": {
                "n": {"type": "integer", "minimum": 10, "maximum": 99},
                "d": {"type": "string", "format": "date"},
                "e": {"enum": ["red", "green"]},
            },
            "required": ["n", "d", "e"],
        }
    )
    wrong = '{"n":123,"d":"2024-02-30","e":"blue"}'
    for effort in EFFORTS:
        (result,) = Engine(SteeredModel("spell"), effort).fill([request(c.form, text=wrong)])
        assert isinstance(result, Filled)
        assert result.record != wrong and c.accepts(result.record)
        assert result.leaves["/n"].allowed_mass < -5
