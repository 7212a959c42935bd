"""Proximity: the fields of one object stand near each other, so a candidate among its object's fields is likelier.

The network points at each slot by itself, so on a page with two addresses it may give the street of the one to the
other. A candidate among the likely places of its object's other fields is likelier to be right than one across the
page. It is less likely if another object has likely taken the same words. This is a pairwise model over the candidates,
solved by rounds of mean field (Koller and Friedman, "Probabilistic Graphical Models", 11.5). The probability that there
is a value at all stays unchanged.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.priors.config import ProximityConfig
from cinnabar.engine.models.reader.scoring.slot_shares import Floats, by_slot, shares


def rerank_by_proximity(
    objects: Sequence[Hashable],
    candidates: Sequence[Sequence[Candidate]],
    logits: Sequence[Sequence[float]],
    absent: Sequence[float],
    pieces: Pieces,
    config: ProximityConfig,
) -> list[list[float]]:
    """Returns the log probabilities of N slots' candidates, raised near the rest of their object.

    objects: the object of each slot; candidates, logits: N lists; absent: the log probabilities of there being no
    value. Candidates without a place in the text, and slots alone in their object, neither count nor change.
    """
    counts = [len(own) for own in candidates]
    if len(counts) < 2 or not 0 < sum(counts) <= config.most:
        return [list(own) for own in logits]
    slot = np.repeat(np.arange(len(counts)), counts)
    names = {name: i for i, name in enumerate(dict.fromkeys(objects))}
    object_of = np.asarray([names[name] for name in objects])[slot]
    near, same_words = _pairs([one for own in candidates for one in own], pieces, config)
    near *= (object_of[:, None] == object_of) & (slot[:, None] != slot)
    taken = same_words & (object_of[:, None] != object_of)

    first = np.asarray([x for own in logits for x in own], np.float64)
    none, changed = np.asarray(absent, np.float64), first
    before = shares(first, none, slot)
    present = np.maximum(np.bincount(slot, before, len(counts)), 1e-12)
    for _ in range(config.rounds):
        share = shares(changed, none, slot)
        held = np.bincount(slot, share, len(counts))
        others = np.bincount(object_of, share, len(names))[object_of] - held[slot]
        closeness = near @ share / np.maximum(others, 1.0) + config.elsewhere
        left = 1 - np.minimum(taken @ share, config.taken)
        factor = closeness**config.together * left**config.rivals
        # The mean factor is one, so the probability of a value stays unchanged.
        mean = np.bincount(slot, factor * before, len(counts)) / present
        changed = first + np.log(factor / np.maximum(mean[slot], 1e-12))
    return by_slot(changed, counts)


def _pairs(
    candidates: Sequence[Candidate], pieces: Pieces, config: ProximityConfig
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Returns the nearness of each pair of candidates, 0 if they share words, and whether they do: [M, M] each."""
    begin, end, line, left, right = np.full((5, len(candidates)), -1, np.int64)
    for i, candidate in enumerate(candidates):
        if candidate.spans:
            begin[i], end[i] = candidate.spans[0]
            first, last = pieces.at(int(begin[i])), pieces.at(int(max(begin[i], end[i] - 1)))
            line[i], left[i], right[i] = pieces.line[first], pieces.extents[first, 0], pieces.extents[last, 1]
    placed = begin >= 0
    both = placed[:, None] & placed
    shared = both & (begin[:, None] < end) & (begin < end[:, None])
    lines = np.abs(line[:, None] - line)
    gap = np.maximum(0, np.maximum(left[:, None] - right, left - right[:, None]))
    # A value below begins at the same place across as the line above; a value on the same line follows.
    across = np.where(lines == 0, gap, np.abs(left[:, None] - left))
    near = np.where(both & ~shared, np.exp(-lines / config.lines - across / config.across), 0.0)
    return near, shared
