"""Fields of one object stand near each other: a candidate among the other fields of its object is likelier.

Each slot is pointed at by itself, and of a page with two addresses the street of the one may be given to the
other. Where the fields of an object are likely to be near to each other, a candidate that stands among them
is likelier to be right than one across the page, and less likely where another object is likely to have
taken the same words: a pairwise model over the candidates, solved by rounds of mean field (Koller and
Friedman, "Probabilistic Graphical Models", 11.5). How likely it is that there is a value at all stays as it
was.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.base import Candidate
from cinnabar.engine.models.reader.answers.slot_shares import Floats, by_slot, shares
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.priors.config import ProximityConfig


def rerank_by_proximity(
    objects: Sequence[Hashable],
    candidates: Sequence[Sequence[Candidate]],
    logits: Sequence[Sequence[float]],
    absent: Sequence[float],
    pieces: Pieces,
    config: ProximityConfig,
) -> list[list[float]]:
    """The log probabilities of N slots' candidates, raised where the rest of their object is near.

    objects: what each slot is a field of; candidates, logits: N lists; absent: the log probabilities of there
    being no value. Nearness neither counts for nor changes candidates without a place in the text, and slots
    alone in their object.
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
        # In the mean nothing becomes likelier: that there is a value is as likely as before.
        mean = np.bincount(slot, factor * before, len(counts)) / present
        changed = first + np.log(factor / np.maximum(mean[slot], 1e-12))
    return by_slot(changed, counts)


def _pairs(
    candidates: Sequence[Candidate], pieces: Pieces, config: ProximityConfig
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """How near each candidate is to each, 0 where they share words, and whether they do: [M, M] each."""
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
    # What stands below begins where the line above does; what stands beside follows it.
    across = np.where(lines == 0, gap, np.abs(left[:, None] - left))
    near = np.where(both & ~shared, np.exp(-lines / config.lines - across / config.across), 0.0)
    return near, shared
