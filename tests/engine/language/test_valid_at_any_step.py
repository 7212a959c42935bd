"""Random schemas, random scores: under a record's graph every state of every step is a whole valid record."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.support.effort import first
from tests.support.random_schemas import forms
from tests.support.random_scores import SCALES, decoder_of, random_script, records_at_random, sure_script, task_of
from tests.support.scripted_decoder import Said, ScriptedDecoder
from tests.support.second_judge import independent
from tests.support.steps_of_a_fill import EFFORTS, refusals
from tests.support.tiny_models import BLOCK, TOKENIZER, VOCABULARY

from cinnabar.engine.language.class_scores import TokenClasses
from cinnabar.engine.language.decoded import Decoded
from cinnabar.engine.language.denoiser import Denoiser
from cinnabar.engine.language.graph_cache import cached_graph
from cinnabar.engine.language.lookahead import Constraint, ScanSpan
from cinnabar.engine.language.settings import SETTINGS
from cinnabar.errors import TooLarge
from cinnabar.schemas import CompiledSchema, compile_schema

CHUNKS, SEEDS, BATCH = 80, 5, 5


#: What the language leaves to the judge: a list of many values that repeats none.
LEFT = {
    "type": "object",
    "properties": {"list": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9},
                            "uniqueItems": True, "minItems": 3}},
    "required": ["list"],
}  # fmt: skip


def with_graphs(seed: int, count: int = BATCH) -> list[CompiledSchema]:
    """Random schemas whose records have a graph."""
    found = []
    for compiled in forms(seed, count):
        try:
            cached_graph(compiled.form, TOKENIZER)
            found.append(compiled)
        except TooLarge:
            pass
    return found


@pytest.mark.parametrize("chunk", first(1, range(CHUNKS)))
def test_every_state_at_every_step_is_valid(chunk: int) -> None:
    """Decode nearly CHUNKS * SEEDS * BATCH = 2,000 pairs of a schema and random scores."""
    cases = 0
    for seed in range(chunk * SEEDS, (chunk + 1) * SEEDS):
        compiled = with_graphs(seed)
        for c, (result, states) in zip(compiled, records_at_random(compiled, seed, EFFORTS[seed % 4]), strict=True):
            other = independent(c.schema)
            assert isinstance(result, Decoded), result
            assert other is not None and not [*refusals(c, other, states)]
            cases += 1
    assert cases > 0.8 * SEEDS * BATCH


def test_random_scores_reach_every_way_of_writing_a_record() -> None:
    """The test above relies on these: chosen, forced and re-opened tokens, and records that the judge refuses."""
    results = [
        result
        for seed in range(5)
        for result, _ in records_at_random([*with_graphs(seed), compile_schema(LEFT)], seed, "high")
        if isinstance(result, Decoded)
    ]
    chosen = [sure for result in results for sure in result.chosen]
    assert 0.1 < np.mean(chosen) < 0.9
    assert sum(result.reopened for result in results) > 5
    assert {result.accepted for result in results} == {True, False}


@pytest.mark.parametrize("chunk", first(1, range(5)))
def test_any_subset_of_a_witness_can_be_completed(chunk: int) -> None:
    for seed in range(4 * chunk, 4 * chunk + 4):
        draw, noise = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
        for compiled in with_graphs(seed, 2):
            graph = cached_graph(compiled.form, TOKENIZER)
            length = int(graph.distance[0]) + int(draw.integers(0, 20))
            constraint, tokens = Constraint(graph), np.full(length, -1)
            scale = SCALES[seed % len(SCALES)]
            while (tokens < 0).any():
                logits = torch.randn(length, VOCABULARY.size, generator=noise) * scale
                scores = TokenClasses(graph.token_class, graph.classes).scores(Said(BLOCK), logits, tokens)
                found = constraint.lookahead(ScanSpan(0, tokens, np.arange(length), 0), scores)
                assert found.complete
                fixed = tokens >= 0
                assert (found.witness[fixed] == tokens[fixed]).all()
                assert graph.run(found.witness.tolist()) == graph.done
                tokens = np.where((draw.random(length) < 0.4) & ~fixed, found.witness, tokens)


@pytest.mark.parametrize("effort", first(1, EFFORTS))
def test_scores_that_are_sure_of_a_record_give_its_text(effort: str) -> None:
    tried = 0
    for seed in range(3):
        for c, (made, _) in zip(with_graphs(seed), records_at_random(with_graphs(seed), seed, "low"), strict=True):
            assert isinstance(made, Decoded)
            tokens = TOKENIZER.encode(made.text.decode())
            task = task_of(c, "Document", len(tokens) + 20)
            sure = decoder_of("block", sure_script(made.text, len(task.prompt)))
            (found,) = Denoiser(sure, TOKENIZER, SETTINGS[effort]).decode([task])
            assert isinstance(found, Decoded) and found.text == made.text
            tried += 1
    assert tried > 10


@pytest.mark.slow
@pytest.mark.parametrize("chunk", first(1, range(4)))
def test_scores_that_are_sure_of_refused_records_give_allowed_ones(chunk: int) -> None:
    """Each value fits the graph, but they do not go together: the loop finds another record."""
    tried = 0
    for seed in range(8 * chunk, 8 * chunk + 8):
        compiled = [c for c in (*with_graphs(seed), compile_schema(LEFT)) if c.form.judge is not None]
        loose = [replace(task_of(c, "Document"), judge=None) for c in compiled]
        wrong = Denoiser(decoder_of("block", random_script(seed)), TOKENIZER, SETTINGS["low"]).decode(loose)
        for c, made in zip(compiled, wrong, strict=True):
            assert isinstance(made, Decoded)
            if c.accepts(made.text.decode()):
                continue
            task = task_of(c, "Document")
            sure = ScriptedDecoder(BLOCK, sure_script(made.text, len(task.prompt)))
            (found,) = Denoiser(sure, TOKENIZER).decode([task])
            assert isinstance(found, Decoded)
            assert found.text != made.text and c.accepts(found.text.decode())
            tried += 1
    assert tried > 1


def test_scores_that_are_sure_of_values_beyond_their_bounds_give_allowed_ones() -> None:
    properties = {
        "n": {"type": "integer", "minimum": 10, "maximum": 99},
        "d": {"type": "string", "format": "date"},
        "e": {"enum": ["red", "green"]},
    }
    c = compile_schema({"type": "object", "properties": properties, "required": [*properties]})
    wrong = '{"n": 123, "d": "2024-02-30", "e": "blue"}'
    task = task_of(c, "Document")
    for effort in EFFORTS:
        model = decoder_of("block", sure_script(wrong.encode(), len(task.prompt)))
        (found,) = Denoiser(model, TOKENIZER, SETTINGS[effort]).decode([task])
        assert isinstance(found, Decoded) and c.accepts(found.text.decode())
        assert json.loads(found.text) != json.loads(wrong) and found.log_mass < -5


def test_faults_of_a_state_are_found() -> None:
    c = compile_schema({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False})
    ((_, states),) = records_at_random([c], random.Random(1).randrange(9), "low")
    assert len(states) > 1 and not [*refusals(c, independent(c.schema), states)]
    for wrong in ('{"n": "x"}', '{"n": 1, "n": 2}', '{"m": 1}'):
        said = [*refusals(c, independent(c.schema), [wrong, *states])]
        assert len(said) == 2 and all(wrong in one for one in said)
