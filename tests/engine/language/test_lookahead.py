"""The lookahead of a block, against a sum over all token sequences that a record allows."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch
from tests.support.cases import each
from tests.support.scripted_decoder import Said
from tests.support.tiny_models import BLOCK

from cinnabar.engine.language import lookahead as module
from cinnabar.engine.language.class_scores import ClassScores, TokenClasses
from cinnabar.engine.language.lookahead import Constraint, ScanSpan
from cinnabar.engine.language.record_graph import graph_of
from cinnabar.engine.models.language.lifting import Vocabulary
from cinnabar.schemas.automata.operations import literals

TEXTS = [b"a", b"b", b"c", b"ab", b"bc", b"abc", b"ca", b"cab"]
END = len(TEXTS)
VOCABULARY = Vocabulary([*TEXTS, None], END)
RECORDS = [b"a", b"ab", b"abc", b"cab", b"bca", b"abcab", b"cc"]
GRAPH = graph_of(literals(RECORDS), VOCABULARY)


def scored(logits: np.ndarray, held: np.ndarray) -> ClassScores:
    return TokenClasses(GRAPH.token_class, GRAPH.classes).scores(Said(BLOCK), torch.from_numpy(logits), held)


def sequences(state: int, length: int, left: int) -> list[tuple[int, ...]]:
    """All token sequences of a length from a state, from whose end the record can end in `left` tokens."""
    found = []
    for tokens in product(range(END + 1), repeat=length):
        end = GRAPH.run(tokens, state)
        if end >= 0 and 0 <= GRAPH.distance[end] <= left:
            found.append(tokens)
    return found


@each("seed", range(24))
def test_the_lookahead_is_a_sum_over_all_texts(seed: int) -> None:
    draw = np.random.default_rng(seed)
    length, left = int(draw.integers(1, 5)), int(draw.integers(0, 4))
    state = int(draw.integers(0, len(GRAPH.distance) - 1)) if seed % 3 else 0
    every = sequences(state, length, left)
    logits = draw.normal(0, 3, (length, END + 1)).astype(np.float32)
    tokens = np.full(length, -1)
    if every:
        chosen = every[draw.integers(len(every))]
        held = draw.random(length) < 0.4
        tokens[held] = np.array(chosen)[held]
    scored_at = np.flatnonzero((tokens < 0) | (draw.random(length) < 0.5))
    if not len(scored_at):
        return
    span = ScanSpan(state, tokens, scored_at, left)
    found = Constraint(GRAPH).lookahead(span, scored(logits[scored_at], tokens[scored_at]))
    share = torch.from_numpy(logits).double().log_softmax(-1).numpy()

    def allowed(row: tuple[int, ...], at: int) -> float:
        """The log share of the tokens that may stand here, behind those before."""
        before = GRAPH.run(row[:at], state)
        return math.log(sum(math.exp(share[at, token]) for token in range(END + 1) if GRAPH.run([token], before) >= 0))

    def weight(row: tuple[int, ...], judged: int = -1) -> float | None:
        total = 0.0
        for at, token in enumerate(row):
            if tokens[at] < 0 or at == judged:
                total += float(share[at, token]) - allowed(row, at)
            elif tokens[at] != token:
                return None
        return total

    possible = {row: one for row in every if (one := weight(row)) is not None}
    assert found.complete == bool(possible)
    if not possible:
        return
    best = max(possible.values())
    assert possible[tuple(found.witness.tolist())] == pytest.approx(best, abs=1e-4)
    whole = sum(map(math.exp, possible.values()))
    opened = np.flatnonzero(tokens < 0)
    expected = sum(math.exp(one) / whole * sum(allowed(row, at) for at in opened) for row, one in possible.items())
    assert found.log_mass == pytest.approx(expected, abs=1e-3)
    for at in scored_at:
        by_token: dict[int, float] = {}
        for row in every:
            one = weight(row, at)
            if one is not None:
                by_token[row[at]] = by_token.get(row[at], 0.0) + math.exp(one)
        whole = sum(by_token.values())
        assert found.posterior[at] == pytest.approx(by_token[found.witness[at]] / whole, abs=1e-3)
        assert found.runner_up[at] == pytest.approx(max(by_token.values()) / whole, abs=1e-3)
        assert found.choices[at] == len(by_token)


def test_tokens_that_no_record_has_leave_no_text() -> None:
    tokens = np.array([TEXTS.index(b"b"), -1])
    span = ScanSpan(0, np.array([TEXTS.index(b"bc"), TEXTS.index(b"bc"), -1]), np.array([2]), 3)
    nothing = scored(np.zeros((1, END + 1), np.float32), np.array([-1]))
    assert not Constraint(GRAPH).lookahead(span, nothing).complete
    span = ScanSpan(0, tokens, np.array([1]), 0)
    nothing = scored(np.zeros((1, END + 1), np.float32), np.array([-1]))
    assert not Constraint(GRAPH).lookahead(span, nothing).complete


def test_the_tables_of_a_whole_graph_are_made_only_if_a_part_is_most_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = Vocabulary([*(bytes([97 + at]) for at in range(20)), None, None], 20)
    graph = graph_of(literals([b"aaaa" + bytes([97 + at]) * 9 for at in range(20)]), letters)
    monkeypatch.setattr(module, "WHOLE", 0)
    constraint = Constraint(graph)
    edges = len(graph.source)

    def look(state: int, length: int) -> None:
        empty = np.full(length, -1, np.int64)
        scores = constraint.classes.scores(Said(BLOCK), torch.zeros(length, 22), empty)
        constraint.lookahead(ScanSpan(state, empty, np.arange(length), 99), scores)

    look(0, 2)
    assert 0 < constraint.edges < edges / 2
    before = constraint.edges
    look(0, 16)
    assert constraint.edges == before + edges
