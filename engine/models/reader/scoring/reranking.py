"""The rules by which the answers to several slots of a request change each other's probabilities, by name.

The network points at each slot by itself. So on a page with two addresses it may give the street of the one to the
other, and a field that is absent from the document takes the words of the most similar field: an end date takes the
start date, the number of a claim that of the policy.

Proximity: the fields of one object stand near each other. A candidate among the likely places of its object's other
fields is likelier than one across the page, and less likely if another object has likely taken the same words. This is
a pairwise model over the candidates, solved by rounds of mean field (Koller and Friedman, "Probabilistic Graphical
Models", 11.5). The probability that there is a value at all stays unchanged.

Shared words: words are the value of one field, so a candidate becomes less likely if a surer field likely has its
words. The slot's other candidates do not gain this probability: absence does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cinnabar.engine.model import Candidate, Canvas
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.priors.config import PriorConfig, ProximityConfig, SharedWordsConfig
from cinnabar.engine.models.reader.scoring.spans import Answers


@dataclass(frozen=True, slots=True)
class RequestSlots:
    """The slots of one request, as places on the canvas: `own` are all of them, `asked` those not frozen."""

    own: Sequence[int]
    asked: Collection[int]
    canvas: Canvas
    pieces: Pieces


#: One rule; it changes the log probabilities of candidates of these slots, the answers, in place.
Reranker = Callable[[RequestSlots, Answers, PriorConfig], None]


def gather_objects(slots: RequestSlots, out: Answers, config: PriorConfig) -> None:
    """Reranks the fields of each object within a record or a row by their distances from each other.

    A frozen value has the place at which it was found.
    """
    rows: dict[int, list[tuple[str, int]]] = {}
    for k in slots.own:
        instance = slots.canvas.instances[k]
        parent = instance.slot.path.rpartition("/")[0]
        if parent.rpartition("*")[2] and not instance.slot.options:
            rows.setdefault(instance.row, []).append((parent, k))
    for fields in rows.values():
        objects, same_row = zip(*fields, strict=True)
        answers = _answers_of(same_row, slots, out)
        changed = rerank_by_proximity(objects, *answers, slots.pieces, config.proximity)
        _write(same_row, slots.asked, changed, out)


def divide_words(slots: RequestSlots, out: Answers, config: PriorConfig) -> None:
    """Reranks the fields of each object so that one field alone takes the same words. Frozen values are certain."""
    objects: dict[tuple[int, str], list[int]] = {}
    for k in slots.own:
        instance = slots.canvas.instances[k]
        if not instance.slot.options:
            objects.setdefault((instance.row, instance.slot.path.rpartition("/")[0]), []).append(k)
    for same_object in objects.values():
        answers = _answers_of(same_object, slots, out)
        changed = rerank_by_shared_words(*answers, config.shared_words)
        _write(same_object, slots.asked, changed, out)


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


Floats = npt.NDArray[np.float64]


def shares(logs: Floats, absent: Floats, slot: npt.NDArray[np.int64]) -> Floats:
    """Returns the probability of each candidate among those of its slot and absence."""
    top = absent.copy()
    np.maximum.at(top, slot, logs)
    weight = np.exp(logs - top[slot])
    return weight / (np.bincount(slot, weight, len(absent)) + np.exp(absent - top))[slot]


def by_slot(values: Floats, counts: Sequence[int]) -> list[list[float]]:
    """Returns the values of all candidates, [M], as a list for each slot."""
    ends = np.cumsum(counts).tolist()
    return [values[end - count : end].tolist() for end, count in zip(ends, counts, strict=True)]


#: The rules, in the order in which they are applied.
RERANKERS: dict[str, Reranker] = {
    "proximity": gather_objects,
    "shared_words": divide_words,
}


def rerank(slots: RequestSlots, out: Answers, config: PriorConfig) -> None:
    """Applies the rules that are switched on."""
    for name, rule in RERANKERS.items():
        if config.applies(name):
            rule(slots, out, config)


def _answers_of(
    chosen: Sequence[int], slots: RequestSlots, out: Answers
) -> tuple[list[list[Candidate]], list[list[float]], list[float]]:
    """Returns these slots' candidates, their log probabilities and those of absence; frozen values are certain."""
    spans, asked = slots.canvas.spans, slots.asked
    frozen = {k: Candidate(b"", spans[k]) for k in chosen if k not in asked and spans[k]}
    return (
        [[frozen[k]] if k in frozen else out.candidates[k] for k in chosen],
        [[0.0] if k in frozen else out.logits[k] for k in chosen],
        [-math.inf if k in frozen else out.absent[k] for k in chosen],
    )


def _write(
    chosen: Sequence[int], asked: Collection[int], changed: Sequence[list[float]], out: Answers
) -> None:
    """Writes the changed log probabilities of the asked ones among these slots."""
    for k, logits in zip(chosen, changed, strict=True):
        if k in asked:
            out.logits[k] = logits
