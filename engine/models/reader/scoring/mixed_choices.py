"""Choices of codes and other options: EUR, USD or "other".

The reader points at the codes. A code of the same kind that is no option speaks for the other options, and the
probability that no code is printed is divided as the network judges the choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.code_choices import MixedSlot
from cinnabar.engine.models.reader.scoring.scores import Answers
from cinnabar.engine.models.reader.scoring.spans import UNLISTED, Merged, add_candidate


def settle_mixed(k: int, slot: MixedSlot, judged: Answers, out: Answers) -> None:
    """Joins the pointed answer of a slot with the answer of the network to the choice.

    judged: the answers to the same canvas where the slot has its options.
    """
    choice, merged = slot.choice, Merged()
    if k in judged.classes:
        out.classes.add(k)
    logs = {c.text: log for c, log in zip(judged.candidates[k], judged.logits[k], strict=True)}
    for candidate, log in zip(out.candidates[k], out.logits[k], strict=True):
        if candidate.text == UNLISTED:
            _divide(merged, log, {word.encode(): logs[word.encode()] for word in choice.words}, candidate.spans)
        else:
            add_candidate(merged, candidate, log)
    if choice.judged:
        left = {option.encode(): logs[option.encode()] for option in choice.judged}
        none = judged.absent[k] - _total((*left.values(), judged.absent[k]))
        _divide(merged, out.absent[k] + math.log(-math.expm1(min(none, -1e-9))), left, ())
        out.absent[k] += none
    ranked = sorted(merged.values(), key=lambda one: -one[0])
    out.candidates[k] = [candidate for _, candidate in ranked]
    out.logits[k] = [log for log, _ in ranked]


def _divide(found: Merged, log: float, among: dict[bytes, float], spans: tuple[tuple[int, int], ...]) -> None:
    """Divides a probability among options in proportion to their own; all are logarithms."""
    total = _total(among.values())
    for text, own in among.items():
        add_candidate(found, Candidate(text, spans, "chosen"), log + own - total)


def _total(logs: Iterable[float]) -> float:
    """Returns the logarithm of the sum of probabilities, from their logarithms."""
    own = list(logs)
    top = max(own)
    return top + math.log(sum(math.exp(log - top) for log in own))
