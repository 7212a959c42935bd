"""Inputs and outputs of the kernels: the tables of a batch of automata, the result of a scan, and the least scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

#: Which implementation runs: `plain` is numpy, or the definition in plain PyTorch; `triton` the Triton kernels.
Backend = Literal["plain", "triton"]

#: Replaces minus infinity; it is finite, so differences of impossible scores are numbers.
FLOOR = -1.0e9
#: Scores above this are possible. Token scores are cut off at -1e5 (LEAST), so 64 positions of the least likely tokens
#: stay far above it.
POSSIBLE = FLOOR / 2
#: The least log score of a token; 64 of them stay far above FLOOR.
LEAST = -1.0e5


@dataclass(frozen=True, slots=True)
class Edges:
    """The edges of all slots in one order, cut into segments of neighbours.

    source, target, label: [E] int64, states and classes numbered over the whole batch. segment: [E] int64, the segment
    of each edge, ascending. offsets: [K + 1] int64; segment k is offsets[k]:offsets[k + 1].
    """

    source: torch.Tensor
    target: torch.Tensor
    label: torch.Tensor
    segment: torch.Tensor
    offsets: torch.Tensor


@dataclass(frozen=True, slots=True)
class ScanTables:
    """The automata of G slots, longest slot first, as one graph of N states, E edges and C classes.

    by_target, by_source: segments are states; by_label: segments are classes.
    start: [G] int64 states. final: [N] float32, 0 for a state in which a text may end, else FLOOR.
    state_offsets, class_offsets: [G + 1] int64; class_slot: [C], state_slot: [N] int64.
    length: [G] int64, descending. active: for each position (slots, states, classes, edges) of the slots that reach it;
        those slots are a prefix.
    """

    by_target: Edges
    by_source: Edges
    by_label: Edges
    start: torch.Tensor
    final: torch.Tensor
    state_offsets: torch.Tensor
    state_slot: torch.Tensor
    class_offsets: torch.Tensor
    class_slot: torch.Tensor
    length: torch.Tensor
    active: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of the pass.

    log_mass: [G] float32, logarithm of the sum over all allowed texts; at most POSSIBLE if there is none.
    posterior: [L, C] float32, log share of each class at each position given the fixed tokens at all *other*
        positions; FLOOR beyond a slot's end.
    path: [L, G] int64, the class of the best text at each position, -1 beyond a slot's end.
    best: [G] float32, the score of that text; at most POSSIBLE if there is none (then `path` is meaningless).
    """

    log_mass: torch.Tensor
    posterior: torch.Tensor
    path: torch.Tensor
    best: torch.Tensor


@dataclass(frozen=True, slots=True)
class ClassTables:
    """The members of the token classes of G slots, a run of neighbours for each class.

    member: [T] int64, slot * vocabulary + token. segment: [T] int64, the class of each, ascending.
    offsets: [C + 1] int64; the members of class c are offsets[c]:offsets[c + 1].
    """

    member: torch.Tensor
    segment: torch.Tensor
    offsets: torch.Tensor
