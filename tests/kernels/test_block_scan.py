"""The scan of one block gives what the definition of the constrained scan gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch

from cinnabar.kernels.block_scan import block_scan, part_tables
from cinnabar.kernels.constrained_scan import constrained_scan_reference
from cinnabar.kernels.tables import FLOOR, POSSIBLE, Edges, ScanTables

#: States, classes, edges, positions, and why.
SHAPES = [
    (1, 1, 1, 1, "one of each"),
    (2, 3, 4, 1, "one position, as for an autoregressive model"),
    (5, 4, 12, 6, "small"),
    (40, 17, 200, 16, "a block"),
    (40, 17, 30, 16, "so few edges that many states lead nowhere"),
    (300, 90, 4000, 33, "one past a power of two"),
]


def reference_tables(
    states: int,
    classes: int,
    edges: npt.NDArray[np.int64],
    start: int,
    final: npt.NDArray[np.float32],
    length: int,
) -> ScanTables:
    """The tables of the definition for one slot."""

    def ordered(by: int, segments: int) -> Edges:
        order = np.argsort(edges[by], kind="stable")
        source, target, label = (torch.from_numpy(part[order]) for part in edges)
        segment = torch.from_numpy(edges[by][order])
        offsets = torch.from_numpy(np.searchsorted(edges[by][order], np.arange(segments + 1)))
        return Edges(source, target, label, segment, offsets)

    return ScanTables(
        by_target=ordered(1, states),
        by_source=ordered(0, states),
        by_label=ordered(2, classes),
        start=torch.tensor([start]),
        final=torch.from_numpy(final),
        state_offsets=torch.tensor([0, states]),
        state_slot=torch.zeros(states, dtype=torch.long),
        class_offsets=torch.tensor([0, classes]),
        class_slot=torch.zeros(classes, dtype=torch.long),
        length=torch.tensor([length]),
        active=((1, states, classes, edges.shape[1]),) * length,
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("states", "classes", "count", "length"), [shape[:4] for shape in SHAPES])
def test_the_scan_of_a_block_equals_its_definition(
    states: int, classes: int, count: int, length: int, seed: int
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
    expected = constrained_scan_reference(
        reference_tables(states, classes, edges, start, final, length),
        *(torch.from_numpy(part) for part in (fixed, free, sharp)),
    )
    judged = np.flatnonzero(draw.random(length) < 0.7)
    tables = part_tables(states, classes, *edges)
    opened = fixed[judged].min(1) > FLOOR
    found = block_scan(tables, start, final, fixed, free[judged], sharp, judged, opened)
    possible = float(expected.best[0]) > POSSIBLE
    assert (found.best > POSSIBLE) == possible
    if possible:
        assert found.log_mass == pytest.approx(float(expected.log_mass[0]), abs=1e-3)
        assert found.best == pytest.approx(float(expected.best[0]), abs=1e-3)
        assert found.path.tolist() == expected.path[:, 0].tolist()
        shares = np.exp(expected.posterior.numpy()[judged])
        np.testing.assert_allclose(np.exp(found.posterior), shares, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("states", "classes", "count", "length"), [shape[:4] for shape in SHAPES])
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
