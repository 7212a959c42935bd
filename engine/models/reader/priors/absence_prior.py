"""The scores of the likeliest place for a value say how likely it is that there is one."""

from __future__ import annotations

import torch
from torch import Tensor

from cinnabar.engine.models.reader.priors.config import PriorConfig


def absence_prior(scores: Tensor, region: Tensor, allowed: Tensor, config: PriorConfig) -> Tensor:
    """How much likelier it is that a slot has no value in a window, by the priors of its pieces: [N, S].

    scores: [N, S, T] from `Priors.starts`; region: where pieces stand, seen from the slot's row
    (network/regions.py), 0 for slots outside of rows; allowed: where the slot's values may start, bool.
    """
    weights, table = config.absence_prior, config.table_prior
    outside = region[..., 0] == 0
    own = allowed & (outside[..., None] | (region >= 2) & (region <= 4))
    most = torch.where(own, scores, -torch.inf).amax(-1).clamp(max=table.own)
    present = torch.where(outside, weights.labelled, weights.present / table.own) * most.clamp(min=0)
    empty = torch.where(outside, 0.0, weights.empty / table.others) * most.clamp(max=0)
    return torch.where(own.any(-1), -present - empty, 0.0)
