"""Scores of token classes from scores of tokens: maximum and log-sum-exp over the members of each class."""

from __future__ import annotations

import torch

from cinnabar.kernels.constrained_scan import segment_logsumexp, segment_max
from cinnabar.kernels.tables import Backend, ClassTables


def class_logits(
    scores: torch.Tensor, tables: ClassTables, backend: Backend = "plain"
) -> tuple[torch.Tensor, torch.Tensor]:
    """(log-sum-exp, maximum) over each class, both [L, C] float32.

    scores: [G, L, V] float32, log probabilities of tokens, at least LEAST. Tokens of no class are left out.
    """
    if scores.dim() != 3 or scores.dtype != torch.float32:
        raise ValueError(f"scores: expected float32 [G, L, V], got {scores.dtype} {tuple(scores.shape)}")
    if backend == "triton":
        from cinnabar.kernels.class_logits_triton import class_logits_triton

        return class_logits_triton(scores, tables)
    return class_logits_reference(scores, tables)


def class_logits_reference(scores: torch.Tensor, tables: ClassTables) -> tuple[torch.Tensor, torch.Tensor]:
    """The definition, in plain PyTorch; see `class_logits`."""
    vocabulary = scores.shape[2]
    # The scores of tokens without a class are not even copied.
    rows = scores.transpose(1, 2)[tables.member // vocabulary, tables.member % vocabulary]
    total = segment_logsumexp(rows, tables.segment, tables.offsets)
    best = segment_max(rows, tables.offsets)
    return total.t().contiguous(), best.t().contiguous()
