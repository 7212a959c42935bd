"""Random schemas, random scores: the engine holds a whole valid record before and after every step."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch
from effort import first
from random_model import RandomModel, SteeredModel, request
from random_schemas import forms, random_schema, writable
from steps_of_a_fill import EFFORTS, fill_at_random, in_the_forms_way, independent, objections, present

from cinnabar.engine.canvas import MASK, VOCABULARY
from cinnabar.engine.constraint import Constraint, first_length, shortest
from cinnabar.engine.engine import Engine
from cinnabar.engine.request import Failed, Filled
from cinnabar.engine.tokenizer import text_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.canonical import parse
from cinnabar.schemas.form.fitting import fit

CHUNKS, SEEDS, BATCH = 20, 20, 5


@pytest.mark.parametrize("chunk", first(3, range(CHUNKS)))
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


def test_random_scores_reach_every_way_of_filling_a_slot() -> None:
    """The other tests rely on these: growth, reopening, and every origin of a value do occur."""
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


@pytest.mark.parametrize("effort", first(1, EFFORTS))
@pytest.mark.parametrize("how", ["spell", "copy"])
def test_scores_peaked_on_a_record_give_its_canonical_text(how: str, effort: str) -> None:
    tried = 0
    for seed in range(25):
        made = Engine(RandomModel(seed, scales=(1.0,)), "low").fill(
            [request(c.form, str(k)) for k, c in enumerate(forms(seed))]
        )
        wanted = []
        for c, result in zip(forms(seed), made, strict=True):
            assert isinstance(result, Filled)
            way = in_the_forms_way(c.form, fit(c.form, parse(result.record)))
            assert present([parse(way)]) == present([parse(result.record)])
            short = all(len((leaf.text or "").encode()) <= 64 for leaf in result.leaves.values())
            if c.accepts(way) and (short or how == "copy"):
                assert c.canonical(parse(way)) == way
                wanted.append((c, way))
        requests = [request(c.form, str(k), text=record) for k, (c, record) in enumerate(wanted)]
        for result, (_, record) in zip(Engine(SteeredModel(how), effort).fill(requests), wanted, strict=True):
            assert isinstance(result, Filled), result
            assert result.record == record
            tried += 1
    assert tried > 80


def test_every_way_to_write_absence_counts_the_same() -> None:
    assert present({"a": None, "b": [], "c": {"d": None}, "e": [1, None]}) == {"e": [1]}
    assert present([None, 1]) == [1]


@pytest.mark.parametrize("how", first(1, ["copy", "spell"]))
def test_scores_peaked_on_refused_records_give_allowed_ones_near_them(how: str) -> None:
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
        for result, (c, _) in zip(Engine(SteeredModel(how), "low").fill(requests), wanted, strict=True):
            assert isinstance(result, Filled), result
            assert c.accepts(result.record)
            tried += 1
            given_up += all(leaf.origin in ("minimal", "absent") for leaf in result.leaves.values())
    assert tried > 40
    assert given_up < 0.25 * tried


def test_scores_peaked_on_refused_texts_give_allowed_ones() -> None:
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
