"""Absence prior: the prior scores of the likeliest place for a value tell how likely it is that there is one."""

from __future__ import annotations

import torch
from torch import Tensor

from cinnabar.engine.models.reader.priors.config import PriorConfig


def absence_prior(scores: Tensor, region: Tensor, allowed: Tensor, config: PriorConfig) -> Tensor:
    """Returns how much likelier the priors make a slot's absence from a window: [N, S] log odds.

    scores: [N, S, T] from `Priors.starts`; region: the regions of pieces relative to the slot's row
    (network/regions.py), 0 for slots outside of rows; allowed: the pieces at which the slot's values may start, bool.
    """
    weights, table = config.absence_prior, config.table_prior
    outside = region[..., 0] == 0
    own = allowed & (outside[..., None] | (region >= 2) & (region <= 4))
    most = torch.where(own, scores, -torch.inf).amax(-1).clamp(max=table.own)
    present = torch.where(outside, weights.labelled, weights.present / table.own) * most.clamp(min=0)
    empty = torch.where(outside, 0.0, weights.empty / table.others) * most.clamp(max=0)
    return torch.where(own.any(-1), -present - empty, 0.0)
