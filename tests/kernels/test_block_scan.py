"""The scan of one block gives what its definition gives, and the best text has the score that it claims."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from tests.support.cases import each

from cinnabar.engine.models.language.arrays import Floats, Ints
from cinnabar.kernels.block_scan import BlockScan, block_scan, part_tables
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


@dataclass(frozen=True)
class Drawn:
    """A block: its graph, the scores of its positions, and the classes of committed tokens, -1 where open."""

    edges: tuple[Ints, Ints, Ints]
    start: int
    distance: Ints
    left: int
    total: Floats
    best: Floats
    kind: Ints
    scored: Ints


def drawn(shape: tuple[int, int, int, int], seed: int) -> Drawn:
    """A random block, partly committed along a path through the graph."""
    states, classes, count, length = shape
    draw = np.random.default_rng(seed)
    pairs = draw.choice(states * classes, min(count, states * classes), replace=False)
    edges = (pairs // classes, draw.integers(0, states, len(pairs)), pairs % classes)
    start = state = int(edges[0][0])
    total = np.log(draw.dirichlet(np.full(classes, 0.3), length) + 1e-12).astype(np.float32)
    kind, scored = np.full(length, -1), np.ones(length, np.bool_)
    for at in range(length):
        ways = np.flatnonzero(edges[0] == state)
        if not len(ways):
            break
        way = draw.choice(ways)
        if draw.random() < 0.4:
            kind[at], scored[at] = edges[2][way], draw.random() < 0.5
        state = int(edges[1][way])
    if draw.random() < 0.1:
        kind[-1] = -2
    distance, left = draw.integers(-1, 4, states), int(draw.integers(0, 4))
    best = total - draw.random(total.shape).astype(np.float32)
    return Drawn(edges, start, distance, left, total, best, kind, np.flatnonzero(scored))


def expected(block: Drawn, local: float) -> BlockScan:
    """The result by the definition, which numpy's must equal."""
    length, classes = block.total.shape
    fixed, sharp = (np.full((length, classes), FLOOR, np.float32) for _ in range(2))
    at = block.scored
    fixed[at], sharp[at] = block.total[at], block.best[at]
    held = np.flatnonzero(block.kind != -1)
    fixed[held] = sharp[held] = FLOOR
    held = np.flatnonzero(block.kind >= 0)
    fixed[held, block.kind[held]] = sharp[held, block.kind[held]] = 0.0
    final = np.where((block.distance >= 0) & (block.distance <= block.left), 0.0, FLOOR).astype(np.float32)
    states, opened = len(block.distance), block.kind[at] == -1
    given_ = (block.start, final, fixed, block.total[at], sharp, at, opened, local)
    wanted = block_scan_reference(states, block.edges, *given_)
    found = block_scan(part_tables(states, classes, *block.edges), *given_)
    assert (found.best > POSSIBLE) == (wanted.best > POSSIBLE)
    if wanted.best > POSSIBLE:
        assert np.array_equal(found.path, wanted.path)
        np.testing.assert_allclose(np.exp(found.posterior), np.exp(wanted.posterior), atol=2e-4)
        np.testing.assert_allclose(found.allowed, wanted.allowed, atol=2e-3)
        np.testing.assert_allclose([found.log_mass, found.best], [wanted.log_mass, wanted.best], atol=1e-3)
    return wanted


@each("local", [0.0, 0.5, 1.0])
@each("seed", range(4))
@each("shape", [shape[:4] for shape in SHAPES])
def test_the_scan_of_a_block_equals_its_definition(
    shape: tuple[int, int, int, int], seed: int, local: float
) -> None:
    expected(drawn(shape, seed), local)


@each("seed", range(4))
@each("shape", [shape[:4] for shape in SHAPES])
def test_the_best_text_has_the_best_score_when_tokens_weigh_by_their_share(
    shape: tuple[int, int, int, int], seed: int
) -> None:
    block = drawn(shape, seed)
    tables, length = part_tables(*shape[:2], *block.edges), shape[3]
    final, free, best = np.zeros(shape[0], np.float32), block.total, block.best
    whole, opened = np.arange(length), np.ones(length, np.bool_)
    found = block_scan(tables, block.start, final, free, free, best, whole, opened, local=1.0)
    if found.best <= POSSIBLE:
        return
    score, state = 0.0, block.start
    for at, kind in enumerate(found.path):
        ways = block.edges[0] == state
        score += best[at, kind] - np.logaddexp.reduce(free[at, block.edges[2][ways]])
        (state,) = block.edges[1][ways & (block.edges[2] == kind)]
    assert score == pytest.approx(found.best, abs=1e-2)
