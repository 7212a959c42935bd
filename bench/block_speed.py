"""Measures the constraint of a language model's pass: scores of classes, and the scan of blocks.

On a CPU numpy stands beside the definitions, on a GPU Triton beside numpy with its copies to the host.
"""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch

from cinnabar.engine.diffusion.class_scores import ClassScores, DeviceScores
from cinnabar.engine.diffusion.lookahead import Constraint, Lookahead, ScanSpan
from cinnabar.engine.diffusion.record_graph import RecordGraph, graph_of
from cinnabar.engine.lifting import Vocabulary
from cinnabar.kernels.block_scan_reference import block_scan_reference
from cinnabar.kernels.class_scores import Reduced, class_scores_reference
from cinnabar.kernels.score_limits import FLOOR
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.form.record_language import record_language

#: Positions of a block, and the form whose graph is scanned.
POSITIONS, FORM = 32, "invoice"


@dataclass(frozen=True, slots=True)
class BlockSpeed:
    """Milliseconds of one batch with the kernels of the device, and in the plainer way that is named."""

    blocks: int
    tokens: int
    edges: int
    kernels: str
    plainer: str
    classes: tuple[float, float]
    scan: tuple[float, float]


def words(many: int) -> Vocabulary:
    """A vocabulary of this many tokens: all bytes, and random words with and without a space before them."""
    draw = random.Random(0)
    found = dict.fromkeys(bytes([byte]) for byte in range(256))
    while len(found) < many:
        word = "".join(draw.choices(string.ascii_letters + string.digits + ".,-", k=draw.randint(2, 9)))
        found[(draw.choice(("", " ")) + word).encode()] = None
    return Vocabulary([*found, None], len(found))


def graph(vocabulary: Vocabulary) -> RecordGraph:
    """The graph of the form."""
    return graph_of(record_language(compile_schema(load_schema(FORM).schema).form), vocabulary)


class _Said:
    """Says the logits that it is given as hidden states."""

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """The same."""
        return hidden


def block_speed(device: torch.device, blocks: int = 8, tokens: int = 150_000, repeat: int = 3) -> BlockSpeed:
    """The times for a batch of open blocks, each the best of some calls; on a GPU the logits are bfloat16."""
    vocabulary = words(tokens)
    record = graph(vocabulary)
    gpu = device.type == "cuda"
    constraint = Constraint(record, 1.0, device if gpu else None)
    classes, said = constraint.classes, cast(Any, _Said())
    rows = blocks * POSITIONS
    draw = torch.Generator().manual_seed(0)
    logits = torch.randn(rows, vocabulary.size, generator=draw).to(device, torch.bfloat16 if gpu else torch.float32)
    held = np.full(rows, -1, np.int64)
    empty = np.full(POSITIONS, -1, np.int64)
    span = ScanSpan(0, empty, np.arange(POSITIONS), 10_000)

    def numpy_classes() -> ClassScores:
        return classes.scores(said, logits, held)

    scored = numpy_classes()

    def numpy_scan() -> list[Lookahead]:
        own = [scored.at(slice(at, at + POSITIONS)) for at in range(0, rows, POSITIONS)]
        return [constraint.lookahead(span, one) for one in own]

    def reference_classes() -> object:
        kinds = torch.from_numpy(record.token_class).to(device)
        return class_scores_reference(logits, kinds, record.classes, torch.from_numpy(held).to(device))

    def reference_scan() -> object:
        edges, every = (record.source, record.target, record.label), np.ones(POSITIONS, np.bool_)
        final = np.where(record.distance >= 0, 0.0, FLOOR).astype(np.float32)
        for at in range(0, rows, POSITIONS):
            free, best = scored.total[at : at + POSITIONS], scored.best[at : at + POSITIONS]
            block_scan_reference(record.states, edges, 0, final, free, free, best, span.scored, every, 1.0)
        return None

    pairs: tuple[tuple[Callable[[], object], Callable[[], object]], ...]
    if gpu:
        from cinnabar.engine.diffusion.device_lookahead import lookaheads

        floats, numbers = torch.float32, torch.int32
        sizes = ((rows * record.classes, floats), (rows * record.classes, floats), (rows * record.classes, numbers))
        total, best, token = (torch.empty(size, dtype=dtype, device=device) for size, dtype in sizes)
        own, finite = torch.empty(rows, device=device), torch.empty(rows, dtype=torch.bool, device=device)
        out, placed = Reduced(total, best, token, own, finite), torch.from_numpy(held).to(device)
        at = np.arange(rows)
        found = DeviceScores(out, at * record.classes, at)
        asked = [(constraint, span, found.at(slice(begin, begin + POSITIONS))) for begin in range(0, rows, POSITIONS)]
        pairs = (
            (lambda: classes.reduce(said, logits, placed, (), out), numpy_classes),
            (lambda: lookaheads(asked, 1.0)(), numpy_scan),
        )
    else:
        pairs = ((numpy_classes, reference_classes), (numpy_scan, reference_scan))
    times = [(best_time(fast, repeat, device), best_time(slow, 1, device)) for fast, slow in pairs]
    names = ("triton", "numpy") if gpu else ("numpy", "the definition")
    return BlockSpeed(blocks, vocabulary.size, len(record.source), *names, times[0], times[1])


def best_time(call: Callable[[], object], repeat: int, device: torch.device) -> float:
    """Milliseconds of the fastest of some calls, after one call to warm up."""
    call()
    times = []
    for _ in range(repeat):
        begun = time.perf_counter()
        call()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return min(times) * 1000
