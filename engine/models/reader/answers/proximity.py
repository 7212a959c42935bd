"""Fields of one object stand together: where its other fields are, a doubtful one is likelier, too.

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
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces

#: Lines and distance across the page (units of `Pieces.left`) over which nearness falls to a third.
LINES, ACROSS = 3.0, 120.0
#: What standing far from everything else counts beside standing on the same spot.
ELSEWHERE = 0.03
#: Powers of how much stands near a candidate, and of how likely its words are no other object's.
TOGETHER, RIVALS = 2.0, 2.0
ROUNDS = 2
#: Records of more candidates than this within objects are left as they are: every pair of them is looked at.
MOST = 3_000
#: No words are another object's for certain.
TAKEN = 0.95

Floats = npt.NDArray[np.float64]


def gathered(
    objects: Sequence[Hashable],
    candidates: Sequence[Sequence[Candidate]],
    logits: Sequence[Sequence[float]],
    absent: Sequence[float],
    pieces: Pieces,
) -> list[list[float]]:
    """The log probabilities of N slots' candidates, raised where the rest of their object is near.

    objects: what each slot is a field of; candidates, logits: N lists; absent: the log probabilities of there
    being no value. Candidates without a place in the text, and slots alone in their object, say and hear
    nothing of nearness.
    """
    counts = [len(own) for own in candidates]
    if len(counts) < 2 or not 0 < sum(counts) <= MOST:
        return [list(own) for own in logits]
    slot = np.repeat(np.arange(len(counts)), counts)
    names = {name: i for i, name in enumerate(dict.fromkeys(objects))}
    thing = np.asarray([names[name] for name in objects])[slot]
    near, same_words = _pairs([one for own in candidates for one in own], pieces)
    near *= (thing[:, None] == thing) & (slot[:, None] != slot)
    taken = same_words & (thing[:, None] != thing)

    first = np.asarray([x for own in logits for x in own], np.float64)
    none, changed = np.asarray(absent, np.float64), first
    said = shares(first, none, slot)
    present = np.maximum(np.bincount(slot, said, len(counts)), 1e-12)
    for _ in range(ROUNDS):
        share = shares(changed, none, slot)
        held = np.bincount(slot, share, len(counts))
        others = np.bincount(thing, share, len(names))[thing] - held[slot]
        closeness = near @ share / np.maximum(others, 1.0) + ELSEWHERE
        left = 1 - np.minimum(taken @ share, TAKEN)
        factor = closeness**TOGETHER * left**RIVALS
        # In the mean nothing becomes likelier: that there is a value is as likely as before.
        mean = np.bincount(slot, factor * said, len(counts)) / present
        changed = first + np.log(factor / np.maximum(mean[slot], 1e-12))
    return by_slot(changed, counts)


def shares(logs: Floats, absent: Floats, slot: npt.NDArray[np.int64]) -> Floats:
    """The probability of each candidate among those of its slot and absence."""
    top = absent.copy()
    np.maximum.at(top, slot, logs)
    weight = np.exp(logs - top[slot])
    return weight / (np.bincount(slot, weight, len(absent)) + np.exp(absent - top))[slot]


def by_slot(values: Floats, counts: Sequence[int]) -> list[list[float]]:
    """The values of all candidates, [M], as a list for each slot."""
    ends = np.cumsum(counts).tolist()
    return [values[end - count : end].tolist() for end, count in zip(ends, counts, strict=True)]


def _pairs(candidates: Sequence[Candidate], pieces: Pieces) -> tuple[Floats, npt.NDArray[np.bool_]]:
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
    near = np.where(both & ~shared, np.exp(-lines / LINES - across / ACROSS), 0.0)
    return near, shared
