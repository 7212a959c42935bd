"""The definition of `block_scan`, edge by edge, in the order of the formulas and in float64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cinnabar.kernels.block_scan import BlockScan, Bools, Floats, Ints
from cinnabar.kernels.score_limits import FLOOR

Doubles = npt.NDArray[np.float64]


def block_scan_reference(
    states: int,
    edges: tuple[Ints, Ints, Ints],
    start: int,
    final: Floats,
    fixed: Floats,
    free: Floats,
    best: Floats,
    judged: Ints,
    opened: Bools,
    local: float = 0.0,
) -> BlockScan:
    """Returns what `block_scan` returns; edges: source, target and label, each [E]."""
    source, target, label = edges
    positions, classes = fixed.shape
    sums = [_sums(row[label].astype(np.float64), source, states) for row in free]
    allowed = np.array(sums).reshape(len(free), states)
    allowed[:, np.setdiff1d(np.arange(states), source)] = 0.0
    norm = np.zeros((positions, states))
    norm[judged[opened]] = local * allowed[opened]
    forward, highest, backward = (np.full((positions + 1, states), float(FLOOR)) for _ in range(3))
    forward[0, start] = highest[0, start] = 0.0
    backward[positions] = final
    for at in range(positions):
        reach = (forward[at] - norm[at])[source] + fixed[at][label]
        forward[at + 1] = np.maximum(_sums(reach, target, states), FLOOR)
        reach = (highest[at] - norm[at])[source] + best[at][label]
        np.maximum.at(highest[at + 1], target, reach)
        row = positions - 1 - at
        rest = backward[row + 1][target] + fixed[row][label]
        backward[row] = np.maximum(_sums(rest, source, states) - norm[row], FLOOR)
    ends = highest[positions] + final
    state = int(ends.argmax())
    score, path = float(ends[state]), np.zeros(positions, np.int64)
    for at in reversed(range(positions)):
        into = np.flatnonzero(target == state)
        if len(into):
            reach = (highest[at] - norm[at])[source[into]] + best[at][label[into]]
            path[at], state = label[into[reach.argmax()]], int(source[into[reach.argmax()]])
    posterior = np.empty((len(judged), classes))
    for number, at in enumerate(judged.tolist()):
        joint = (forward[at] - local * allowed[number])[source] + backward[at + 1][target] + free[number][label]
        share = np.maximum(_sums(joint, label, classes), FLOOR)
        posterior[number] = np.clip(share - np.logaddexp.reduce(share), FLOOR, 0.0)
    total = float(backward[0, start])
    free_at = judged[opened]
    weight = np.exp(np.minimum(forward[free_at] + backward[free_at] - total, 0.0))
    return BlockScan(total, float((weight * allowed[opened]).sum()), score, path, posterior.astype(np.float32))


def _sums(terms: Doubles, key: Ints, many: int) -> Doubles:
    """[many], the log-sum-exp of the terms of each key, -infinity for a key without terms."""
    found = np.full(many, -np.inf)
    np.logaddexp.at(found, key, terms)
    return found
