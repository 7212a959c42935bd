"""A step on tensors commits, reopens and notes the same as the step slot by slot in plain Python."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from tests.support.effort import first
from tests.support.plain_step import PlainSlot, plain_step
from tests.support.random_model import random_text, request

from cinnabar.engine.batch_state import BatchState
from cinnabar.engine.model import Candidate, Scores
from cinnabar.engine.settings import Effort
from cinnabar.engine.step import commit
from cinnabar.schemas import compile_schema

CPU, NONE = torch.device("cpu"), float("-inf")
KINDS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "minLength": 20},
    {"type": "string", "pattern": "^[ab]{1,9}$"},
    {"type": ["string", "null"], "pattern": "^x-[0-9]{3}-y[ab]$"},
    {"type": "integer"},
    {"type": ["number", "null"]},
    {"enum": ["one", "two", "three"]},
]


def state_of(draw: random.Random) -> BatchState:
    requests = []
    for name in ("r0", "r1", "r2")[: draw.randint(1, 3)]:
        names = "abcde"[: draw.randint(1, 5)]
        schema = {
            "type": "object",
            "properties": {name: draw.choice(KINDS) for name in names},
            "required": [name for name in names if draw.random() < 0.5],
        }
        form = compile_schema(schema).form
        known = {}
        if draw.random() < 0.2:
            known = {form.slots[0].path: random_text(form.slots[0].automaton, draw, 8).decode()}
        requests.append(request(form, name, known))
    return BatchState(requests, [None] * len(requests), [[]] * len(requests), CPU)


def logits(draw: random.Random, count: int) -> list[float]:
    """Logits of one softmax: sometimes one wins, sometimes several are alike, sometimes there is none."""
    spread = draw.choice((0.0, 0.7, 2.0, 5.0))
    return [NONE if draw.random() < 0.1 else draw.gauss(0, spread) for _ in range(count)]


def scores_of(state: BatchState, pools: dict[int, list[bytes]], draw: random.Random) -> Scores:
    """A model that wavers between a few texts of each slot from step to step."""
    size = len(state.canvas.instances)
    offered = [draw.sample(pools[at], draw.randint(0, len(pools[at]))) for at in range(size)]
    table = torch.full((size, max(1, *map(len, offered))), NONE)
    absent = []
    for at, texts in enumerate(offered):
        first, *rest = logits(draw, len(texts) + 1)
        absent.append(first)
        if rest:
            table[at, : len(rest)] = torch.tensor(rest)
    return Scores(
        candidates=[
            [
                Candidate(text, (), "default") if draw.random() < 0.2 else Candidate(text, ((1, 2 + at),))
                for text in texts
            ]
            for at, texts in enumerate(offered)
        ],
        candidate_logits=table,
        absent_logit=torch.tensor(absent),
        refused_logit=torch.tensor([draw.choice((NONE, -1.0)) for _ in range(size)]),
    )


def texts_for(state: BatchState, draw: random.Random) -> dict[int, list[bytes]]:
    """A few texts of each slot, none of which is null."""
    return {
        at: sorted(
            {random_text(i.slot.automaton, draw, draw.choice((4, 10, 40))) for _ in range(4)} - {b"null"}
        )
        or [i.slot.automaton.shortest_texts(2)[-1]]
        for at, i in enumerate(state.canvas.instances)
    }


@pytest.mark.parametrize("seed", first(4, range(10)))
def test_a_step_does_to_each_slot_what_plain_python_does(seed: int) -> None:
    for number in range(8):
        draw = random.Random(100 * seed + number)
        state = state_of(draw)
        pools = texts_for(state, draw)
        steps = draw.choice((1, 2, 3, 5, 8))
        effort = Effort("some", steps, draw.choice((0.5, 0.9, 0.97)), reopenings=draw.choice((0, 1, 2)))
        for _ in range(steps):
            scores = scores_of(state, pools, draw)
            expected = plain_step(state, scores, effort)
            done = list(state.steps)
            commit(state, scores, effort)
            for at, slot in enumerate(expected):
                assert PlainSlot(state, at).same() == slot.same(), (number, at)
            assert state.steps == [count + 1 for count in done]
