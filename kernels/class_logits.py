"""Scores of token classes from scores of tokens: maximum and log-sum-exp over the members of each class."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from cinnabar.kernels.constrained_scan import Backend, segment_logsumexp, segment_max

#: The least log score that a token may have: far from `constrained_scan.FLOOR` even 64 times over.
LEAST = -1.0e5


@dataclass(frozen=True, slots=True)
class ClassTables:
    """The members of the token classes of G slots, a run of neighbours for each class.

    member: [T] int64, slot * vocabulary + token. segment: [T] int64, the class of each, ascending.
    offsets: [C + 1] int64, where the members of class c begin and end.
    """

    member: torch.Tensor
    segment: torch.Tensor
    offsets: torch.Tensor


def class_logits(
    scores: torch.Tensor, tables: ClassTables, backend: Backend = "reference"
) -> tuple[torch.Tensor, torch.Tensor]:
    """(log-sum-exp, maximum) over each class, both [L, C] float32.

    scores: [G, L, V] float32, log probabilities of tokens, at least LEAST. Tokens of no class are left out.
    """
    if scores.dim() != 3 or scores.dtype != torch.float32:
        raise ValueError(f"scores: expected float32 [G, L, V], got {scores.dtype} {tuple(scores.shape)}")
    if backend == "triton":
        from cinnabar.kernels.triton_classes import class_logits_triton

        return class_logits_triton(scores, tables)
    return class_logits_reference(scores, tables)


def class_logits_reference(scores: torch.Tensor, tables: ClassTables) -> tuple[torch.Tensor, torch.Tensor]:
    """The definition, in plain PyTorch; see `class_logits`."""
    vocabulary = scores.shape[2]
    # What no class has is not even copied.
    rows = scores.transpose(1, 2)[tables.member // vocabulary, tables.member % vocabulary]
    total = segment_logsumexp(rows, tables.segment, tables.offsets)
    best = segment_max(rows, tables.offsets)
    return total.t().contiguous(), best.t().contiguous()
