"""The lookaheads of many blocks at once, by the Triton kernels, from scores that stay on the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cinnabar.engine.language.class_scores import DeviceScores
from cinnabar.engine.language.lookahead import LOCAL, Constraint, Lookahead, ScanSpan
from cinnabar.kernels.block_scan_triton import BlockResults, ScoredBlock, block_scan_triton

#: States by positions that are scanned at a time; each takes 16 bytes.
CELLS = 16_000_000


def lookaheads(asked: Sequence[tuple[Constraint, ScanSpan, DeviceScores]]) -> list[Lookahead]:
    """Returns the lookahead of each span; the scores are all of one pass."""
    ahead = list[Lookahead]()
    for part in _batches([_block(*one) for one in asked]):
        scores, begin = asked[len(ahead)][2].scores, 0
        results = block_scan_triton(part, scores.total, scores.best, scores.token, scores.own, scores.finite, LOCAL)
        for number in range(len(part)):
            span = asked[len(ahead)][1]
            ahead.append(_lookahead(span, results, number, begin))
            begin += len(span.tokens)
    return ahead


def _batches(blocks: Sequence[ScoredBlock]) -> Iterator[list[ScoredBlock]]:
    batch, cells = list[ScoredBlock](), 0
    for block in blocks:
        size = block.part.states * (len(block.base) + 1)
        if batch and cells + size > CELLS:
            yield batch
            batch, cells = [], 0
        batch.append(block)
        cells += size
    if batch:
        yield batch


def _block(constraint: Constraint, span: ScanSpan, scores: DeviceScores) -> ScoredBlock:
    tokens, part = span.tokens, constraint.part(span)
    assert part.on_device is not None
    base, row = np.full(len(tokens), -1, np.int64), np.zeros(len(tokens), np.int64)
    base[span.scored], row[span.scored] = scores.base, scores.row
    kind = np.where(tokens < 0, 0, constraint.graph.token_class[tokens])
    kind = np.where(tokens < 0, -1, np.where(kind < 0, -2, kind))
    return ScoredBlock(part.on_device, int(part.state[span.state]), span.left, base, kind, row)


def _lookahead(span: ScanSpan, results: BlockResults, number: int, begin: int) -> Lookahead:
    tokens, at = span.tokens, span.scored
    placed, opened = begin + at, tokens[at] < 0
    witness, posterior = tokens.copy(), np.ones(len(tokens), np.float32)
    runner_up, choices = np.zeros(len(tokens), np.float32), np.ones(len(tokens), np.int64)
    witness[at[opened]] = results.witness[placed[opened]]
    posterior[at], runner_up[at] = results.posterior[placed], results.runner_up[placed]
    choices[at] = results.choices[placed]
    mass = float(results.mass[placed[opened]].sum())
    complete, finite = bool(results.complete[number]), bool(results.finite[placed].all())
    return Lookahead(mass, complete, finite, witness, posterior, runner_up, choices)
