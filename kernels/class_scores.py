"""Scores of token classes at many positions: log-sum-exp, maximum and best token over the tokens of each class."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from cinnabar.kernels.score_limits import FLOOR, LEAST


@dataclass(frozen=True, slots=True)
class Reduced:
    """The scores of C classes at P positions.

    total, best: [P, C] float32, log-sum-exp and maximum over the tokens of each class, normalised over all tokens and
    at least LEAST. token: [P, C] int32, the best token of each class, the first of equals. own: [P] float32, of the
    token that each position holds, FLOOR where it holds none. finite: [P] bool, whether all scores are numbers; where
    not, total and best are LEAST and the token is any.
    """

    total: torch.Tensor
    best: torch.Tensor
    token: torch.Tensor
    own: torch.Tensor
    finite: torch.Tensor


def class_scores_reference(
    logits: torch.Tensor, token_class: torch.Tensor, classes: int, held: torch.Tensor
) -> Reduced:
    """Returns the scores, by the definition.

    logits: [P, V], any float. token_class: [V] int64, -1 for a token of no class; each class has a token. held: [P]
    int64, the token of each position, -1 for none.
    """
    scores = logits.float()
    top = [scores[:, token_class == kind].amax(1) for kind in range(-1, classes) if (token_class == kind).any()]
    finite = torch.stack(top).isfinite().all(0) & ~scores.isnan().any(1)
    shares = torch.where(finite[:, None], scores, 0.0).double().log_softmax(1)
    total, best = shares.new_empty(len(scores), classes), shares.new_empty(len(scores), classes)
    token = torch.empty(len(scores), classes, dtype=torch.int32, device=logits.device)
    for kind in range(classes):
        members = (token_class == kind).nonzero().squeeze(1)
        part = shares[:, members]
        total[:, kind], best[:, kind] = part.logsumexp(1), part.amax(1)
        token[:, kind] = members[part.argmax(1)]
    own = shares.gather(1, held.clamp_min(0)[:, None]).squeeze(1).clamp_min(LEAST)
    return Reduced(
        torch.where(finite[:, None], total.clamp_min(LEAST), LEAST).float(),
        torch.where(finite[:, None], best.clamp_min(LEAST), LEAST).float(),
        token,
        torch.where(held < 0, FLOOR, own).float(),
        finite,
    )
