"""Choices of codes and other options: EUR, USD or "other".

The reader points at the codes. A code of the same kind that is no option speaks for the other options, and the
probability that no code is printed is divided as the network judges the choice.
"""

from __future__ import annotations

import math

from cinnabar.engine.models.base import Candidate
from cinnabar.engine.models.reader.answers.scores import Answers
from cinnabar.engine.models.reader.answers.spans import UNLISTED, log_sum
from cinnabar.engine.models.reader.inputs.code_choices import MixedSlot


def settle_mixed(k: int, slot: MixedSlot, judged: Answers, out: Answers) -> None:
    """Joins the pointed answer of a slot with the answer that the network gives to the choice.

    judged: the answers to the same canvas with the options as options.
    """
    found: dict[bytes, tuple[float, Candidate]] = {}
    logs = {c.text: log for c, log in zip(judged.candidates[k], judged.logits[k], strict=True)}
    words = [word.encode() for word in slot.choice.words]
    for candidate, log in zip(out.candidates[k], out.logits[k], strict=True):
        if candidate.text == UNLISTED:
            _share(found, {word: logs[word] for word in words}, log, candidate.spans)
        else:
            _add(found, candidate, log)
    absent = out.absent[k]
    _share(found, logs, absent - _total([*logs.values(), judged.absent[k]]) + _total(list(logs.values())), ())
    out.absent[k] = absent + judged.absent[k] - _total([*logs.values(), judged.absent[k]])
    ranked = sorted(found.values(), key=lambda one: -one[0])
    out.candidates[k] = [candidate for _, candidate in ranked]
    out.logits[k] = [log for log, _ in ranked]


def _share(
    found: dict[bytes, tuple[float, Candidate]], logs: dict[bytes, float], mass: float, spans: tuple[tuple[int, int], ...]
) -> None:
    """Divides a probability among options as their own are."""
    total = _total(list(logs.values()))
    for text, log in logs.items():
        _add(found, Candidate(text, spans, "chosen"), mass + log - total)


def _add(found: dict[bytes, tuple[float, Candidate]], candidate: Candidate, log: float) -> None:
    before, other = found.get(candidate.text, (-math.inf, candidate))
    found[candidate.text] = (log_sum(before, log), other if before >= log else candidate)


def _total(logs: list[float]) -> float:
    top = max(logs)
    return top + math.log(sum(math.exp(log - top) for log in logs))
