"""Words are the value of one field: where two of an object point to the same, the less sure one doubts it.

Each slot is pointed at by itself, and a field that is not in the document takes the words of the one most
like it: the day on which something ends that of its beginning, the number of a claim that of the policy. A
candidate is less likely the likelier it is that its words are another field's that is surer of them. What is
lost is not given to the slot's other candidates: that there is no value becomes likelier.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cinnabar.engine.models.base import Candidate
from cinnabar.engine.models.reader.answers.slot_shares import by_slot, shares
from cinnabar.engine.models.reader.priors.config import SharedWordsConfig


def rerank_by_shared_words(
    candidates: Sequence[Sequence[Candidate]],
    logits: Sequence[Sequence[float]],
    absent: Sequence[float],
    config: SharedWordsConfig,
) -> list[list[float]]:
    """The log probabilities of N slots' candidates, lowered where a surer slot's lie on the same words.

    candidates, logits: N lists, of the fields of one object; absent: the log probabilities of there being no
    value. Candidates without a place in the text neither change nor count.
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
