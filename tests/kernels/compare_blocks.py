"""Compares the scan of blocks in Triton with its definition and with numpy.

Run it as `python -m tests.kernels.compare_blocks EXAMPLES`, with TRITON_INTERPRET=1 on a CPU, or without that on a CUDA
device.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kernels.test_block_scan import Drawn, drawn, expected

from cinnabar.kernels.block_scan import part_tables
from cinnabar.kernels.block_scan_triton import ScoredBlock, block_scan_triton
from cinnabar.kernels.device_tables import device_part
from cinnabar.kernels.score_limits import POSSIBLE

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
OWN = -1.5
# Each row: states, classes, edges, positions, and the reason.
SHAPES = [
    (1, 1, 1, 1, "the least there is"),
    (2, 3, 4, 1, "one position"),
    (5, 4, 12, 4, "small"),
    (33, 5, 12, 3, "one past a tile of states, most of which lead nowhere"),
    (3, 70, 150, 3, "more edges of a state than a tile has"),
    (7, 33, 60, 2, "one past a tile of classes"),
]


def check_blocks(blocks: list[Drawn], local: float) -> None:
    """A batch of blocks, each of which must have the result that it has by the definition."""
    scored, base, row = list[ScoredBlock](), 0, 0
    for block in blocks:
        length, classes = block.total.shape
        tables = part_tables(len(block.distance), classes, *block.edges)
        part = device_part(tables, np.arange(classes), np.arange(1, classes + 1), block.distance, DEVICE)
        places = np.full(length, -1)
        places[block.scored] = base + block.scored * classes
        scored.append(ScoredBlock(part, block.start, block.left, places, block.kind, row + np.arange(length)))
        base, row = base + length * classes, row + length
    total, best = (
        torch.from_numpy(np.concatenate([getattr(block, name).ravel() for block in blocks])).to(DEVICE)
        for name in ("total", "best")
    )
    token = torch.arange(len(total), dtype=torch.int32, device=DEVICE)
    own, finite = torch.full((row,), OWN, device=DEVICE), torch.arange(row, device=DEVICE) % 3 != 1
    found = block_scan_triton(scored, total, best, token, own, finite, local)
    base = row = 0
    for number, block in enumerate(blocks):
        wanted, (length, classes) = expected(block, local), block.total.shape
        assert found.complete[number] == (wanted.best > POSSIBLE)
        at = block.scored
        places, opened = row + at, block.kind[at] == -1
        assert np.array_equal(found.finite[places], places % 3 != 1)
        if wanted.best > POSSIBLE and len(at):
            kind, rows = wanted.path[at], np.arange(len(at))
            assert np.array_equal(found.witness[places][opened], (base + at * classes + kind)[opened])
            within = np.where(opened, block.best[at, kind], OWN) - block.total[at, kind]
            posterior = np.minimum(np.exp(wanted.posterior[rows, kind] + within), 1.0)
            np.testing.assert_allclose(found.posterior[places], posterior, atol=2e-4)
            other = np.exp((wanted.posterior + block.best[at] - block.total[at]).max(1))
            np.testing.assert_allclose(found.runner_up[places], np.minimum(other, 1.0), atol=2e-4)
            sizes = np.where(wanted.posterior > POSSIBLE, np.arange(1, classes + 1), 0)
            assert np.array_equal(found.choices[places], sizes.sum(1))
            np.testing.assert_allclose(found.mass[places][opened].sum(), wanted.allowed, atol=2e-3)
        base, row = base + length * classes, row + length


def main(count: int) -> None:
    for at, local in enumerate((0.0, 1.0, 0.5)):
        check_blocks([drawn(shape[:4], at) for shape in SHAPES], local)

    one = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 20), st.integers(1, 4))

    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(one, st.integers(0, 10**6)), min_size=1, max_size=2), st.sampled_from((0.0, 0.5, 1.0)))
    def compare(blocks: list[tuple[tuple[int, int, int, int], int]], local: float) -> None:
        check_blocks([drawn(shape, seed) for shape, seed in blocks], local)

    compare()
    print("the blocks agree")


if __name__ == "__main__":
    main(int(sys.argv[1]))
