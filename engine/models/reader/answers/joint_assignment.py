"""Joint assignment: alike fields of different objects or names rarely have the same words, so they divide them.

The network points at each slot by itself, so a seller and a buyer may both take the name in the letterhead. `proximity`
and `shared_words` make the less sure field doubt, and then it is often left empty. Here both fields of a pair lose some
of the probability of the words that the other one likely has, and give it to their other candidates: the probability
that there is a value stays unchanged. Pairs are found by the form alone: texts of one kind and pattern whose pointers
differ in one step, such as `/seller/name` and `/buyer/name`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.base import Candidate
from cinnabar.engine.models.reader.answers.slot_shares import by_slot, shares
from cinnabar.engine.models.reader.inputs.questions import kind_of
from cinnabar.engine.models.reader.inputs.tensors import KINDS
from cinnabar.engine.models.reader.priors.config import JointAssignmentConfig
from cinnabar.schemas.form.form import Slot

#: The kinds of slots that make pairs: texts, with or without a pattern.
_TEXTS = (KINDS.index("text"), KINDS.index("pattern"))


def is_single_text(slot: Slot) -> bool:
    """Returns whether a slot is a text outside of lists that a model reads."""
    return kind_of(slot) in _TEXTS and "/*" not in slot.path and slot.binding is None


def paired_slots(slots: Sequence[Slot]) -> npt.NDArray[np.bool_]:
    """Returns which of N texts are pairs, of one kind and pattern and with pointers that differ in one step: [N, N]."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for i, slot in enumerate(slots):
        steps = slot.path.split("/")
        for at in range(1, len(steps)):
            others = (*steps[:at], None, *steps[at + 1 :])
            alike.setdefault((kind_of(slot), slot.pattern, slot.format, others), []).append(i)
    paired = np.zeros((len(slots), len(slots)), bool)
    for own in alike.values():
        paired[np.ix_(own, own)] = True
    # The branches of a choice have one pointer, and only one of them has a value.
    path = np.unique([slot.path for slot in slots], return_inverse=True)[1]
    return paired & (path[:, None] != path)


def rerank_jointly(
    slots: Sequence[Slot],
    candidates: Sequence[Sequence[Candidate]],
    logits: Sequence[Sequence[float]],
    absent: Sequence[float],
    config: JointAssignmentConfig,
) -> list[list[float]]:
    """Returns the log probabilities of N slots' candidates, lowered on words that a paired slot likely has.

    slots: texts outside of lists; candidates, logits: N lists; absent: the log probabilities of there being no value.
    Candidates without a place in the text are no other field's.
    """
    counts = [len(own) for own in candidates]
    if len(counts) < 2 or not 0 < sum(counts) <= config.most:
        return [list(own) for own in logits]
    slot = np.repeat(np.arange(len(counts)), counts)
    spans = [one.spans or ((-1, -1),) for own in candidates for one in own]
    begin, end = np.asarray([(own[0][0], own[-1][1]) for own in spans]).T
    common = np.minimum(end[:, None], end) - np.maximum(begin[:, None], begin)
    whole = np.maximum(end[:, None], end) - np.minimum(begin[:, None], begin)
    placed = begin >= 0
    rivals = placed[:, None] & placed & (common > 0) & paired_slots(slots)[slot][:, slot]
    overlap = np.where(rivals, common / np.maximum(whole, 1), 0.0)

    first, none = np.asarray([x for own in logits for x in own], np.float64), np.asarray(absent, np.float64)
    share = shares(first, none, slot)
    factor = (1 - np.minimum(overlap @ share, config.taken)) ** config.rivals
    # The mean factor is one, so the probability of a value stays unchanged.
    present = np.maximum(np.bincount(slot, share, len(counts)), 1e-12)
    mean = np.bincount(slot, factor * share, len(counts)) / present
    return by_slot(first + np.log(factor / np.maximum(mean[slot], 1e-12)), counts)
