"""Shared words: words are the value of one field, so of two fields on the same words the less sure one is lowered.

The network points at each slot by itself, so a field that is absent from the document takes the words of the most
similar field: an end date takes the start date, the number of a claim that of the policy. A candidate becomes less
likely if a surer field likely has its words. The slot's other candidates do not gain this probability: absence does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.priors.config import SharedWordsConfig
from cinnabar.engine.models.reader.scoring.slot_shares import by_slot, shares


def rerank_by_shared_words(
    candidates: Sequence[Sequence[Candidate]],
    logits: Sequence[Sequence[float]],
    absent: Sequence[float],
    config: SharedWordsConfig,
) -> list[list[float]]:
    """Returns the log probabilities of N slots' candidates, lowered if a surer slot's candidates lie on the same words.

    candidates, logits: N lists, of the fields of one object; absent: the log probabilities of there being no value.
    Candidates without a place in the text neither count nor change.
    """
    counts = [len(own) for own in candidates]
    if len(counts) < 2 or not 0 < sum(counts) <= config.most:
        return [list(own) for own in logits]
    slot = np.repeat(np.arange(len(counts)), counts)
    spans = [one.spans or ((-1, -1),) for own in candidates for one in own]
    begin, end = np.asarray([(own[0][0], own[-1][1]) for own in spans]).T
    first = np.asarray([x for own in logits for x in own], np.float64)
    share = shares(first, np.asarray(absent, np.float64), slot)
    placed = begin >= 0
    rivals = placed[:, None] & placed & (begin[:, None] < end) & (begin < end[:, None])
    rivals &= (slot[:, None] != slot) & (share > share[:, None])
    changed = first + config.rivals * np.log1p(-np.minimum(rivals @ share, config.taken))
    return by_slot(changed, counts)
