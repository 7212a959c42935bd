"""The scan of one block gives what its definition gives, and the best text has the score that it claims."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.cases import each

from cinnabar.kernels.block_scan import block_scan, part_tables
from cinnabar.kernels.block_scan_reference import block_scan_reference
from cinnabar.kernels.score_limits import FLOOR, POSSIBLE

#: States, classes, edges, positions, and why.
SHAPES = [
    (1, 1, 1, 1, "one of each"),
    (2, 3, 4, 1, "one position, as for an autoregressive model"),
    (5, 4, 12, 6, "small"),
    (40, 17, 200, 16, "a block"),
    (40, 17, 30, 16, "so few edges that many states lead nowhere"),
    (300, 90, 4000, 33, "one past a power of two"),
]


@each("local", [0.0, 0.5, 1.0])
@each("seed", range(4))
@each("states, classes, count, length", [shape[:4] for shape in SHAPES])
def test_the_scan_of_a_block_equals_its_definition(
    states: int, classes: int, count: int, length: int, seed: int, local: float
) -> None:
    draw = np.random.default_rng(seed)
    pairs = draw.choice(states * classes, min(count, states * classes), replace=False)
    edges = np.stack([pairs // classes, draw.integers(0, states, len(pairs)), pairs % classes])
    start = int(edges[0, 0])
    final = np.where(draw.random(states) < 0.5, 0.0, FLOOR).astype(np.float32)
    free = np.log(draw.dirichlet(np.full(classes, 0.3), length) + 1e-12).astype(np.float32)
    best = free - draw.random(free.shape).astype(np.float32)
    fixed, sharp = free.copy(), best.copy()
    # Some positions are committed to the tokens of a path through the graph.
    state = start
    for at in range(length):
        ways = np.flatnonzero(edges[0] == state)
        if not len(ways):
            break
        way = draw.choice(ways)
        if draw.random() < 0.3:
            fixed[at], sharp[at] = FLOOR, FLOOR
            fixed[at, edges[2, way]] = sharp[at, edges[2, way]] = 0.0
        state = int(edges[1, way])
    judged = np.flatnonzero(draw.random(length) < 0.7)
    opened = fixed[judged].min(1) > FLOOR
    given = (start, final, fixed, free[judged], sharp, judged, opened, local)
    expected = block_scan_reference(states, (edges[0], edges[1], edges[2]), *given)
    found = block_scan(part_tables(states, classes, *edges), *given)
    possible = expected.best > POSSIBLE
    assert (found.best > POSSIBLE) == possible
    if possible:
        assert found.log_mass == pytest.approx(expected.log_mass, abs=1e-3)
        assert found.best == pytest.approx(expected.best, abs=1e-3)
        assert found.allowed == pytest.approx(expected.allowed, abs=2e-3)
        assert found.path.tolist() == expected.path.tolist()
        np.testing.assert_allclose(np.exp(found.posterior), np.exp(expected.posterior), atol=1e-4)


@each("seed", range(4))
@each("states, classes, count, length", [shape[:4] for shape in SHAPES])
def test_the_best_text_has_the_best_score_when_tokens_weigh_by_their_share(
    states: int, classes: int, count: int, length: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    pairs = draw.choice(states * classes, min(count, states * classes), replace=False)
    edges = np.stack([pairs // classes, draw.integers(0, states, len(pairs)), pairs % classes])
    start = int(edges[0, 0])
    final = np.zeros(states, np.float32)
    free = np.log(draw.dirichlet(np.full(classes, 0.3), length) + 1e-12).astype(np.float32)
    best = free - draw.random(free.shape).astype(np.float32)
    whole = np.arange(length)
    tables = part_tables(states, classes, *edges)
    found = block_scan(tables, start, final, free, free, best, whole, np.ones(length, np.bool_), local=1.0)
    if found.best <= POSSIBLE:
        return
    score, state = 0.0, start
    for at, kind in enumerate(found.path):
        ways = edges[0] == state
        score += best[at, kind] - np.logaddexp.reduce(free[at, edges[2, ways]])
        (state,) = edges[1, ways & (edges[2] == kind)]
    assert score == pytest.approx(found.best, abs=1e-2)
