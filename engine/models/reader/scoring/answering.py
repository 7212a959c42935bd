"""The answer to a slot from its window scores: candidates with their probabilities, and absence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from cinnabar.engine.canvas import Canvas
from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.mail_headers import WEIGHT, asks_for_headers
from cinnabar.engine.models.reader.inputs.questions import TYPED, kind_of
from cinnabar.engine.models.reader.inputs.tensors import KINDS
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.network.network import BOOLEANS
from cinnabar.engine.models.reader.scoring.scores import Answers, WindowScores
from cinnabar.engine.models.reader.scoring.spans import Pointed, candidates_of, spans_in_window

#: The most windows whose spans are read, those that most likely hold the value.
_WINDOWS = 4


def answer(k: int, d: WindowScores, memory: Memory, canvas: Canvas, out: Answers) -> None:
    """Writes one answer from all windows' scores: a window counts the more, the surer it is of holding the value."""
    slot = canvas.instances[k].slot
    present = [-logit for logit in d.absent]
    whole = _log_sum(present)
    weight = [logit - whole for logit in present]
    best = present.index(max(present))
    out.absent[k], here = _log_sigmoid(-present[best]), _log_sigmoid(present[best])
    if slot.options:
        mixed = [
            _log_sum([log + w for log, w in zip(logs, weight, strict=True)]) for logs in zip(*d.options, strict=True)
        ]
        texts = BOOLEANS if kind_of(slot) == KINDS.index("boolean") else slot.options
        if d.passages:
            out.classes.add(k)
        evidence: list[tuple[tuple[int, int], ...]] = [(passage,) for passage in d.passages] or [()] * len(texts)
        out.candidates[k] = [
            Candidate(text.encode(), spans, "chosen") for text, spans in zip(texts, evidence, strict=True)
        ]
        out.logits[k] = [log + here for log in mixed]
        return
    typed = kind_of(slot) in TYPED
    pointed = []
    for w in sorted(range(len(present)), key=lambda at: -present[at])[:_WINDOWS]:
        window = memory.windows[d.windows[w]]
        starts, ends = d.places[w]
        logs = [[x + weight[w] for x in row] for row in d.pointed[w]]
        pointed += spans_in_window(starts, ends, logs, memory.columns, window)
    if memory.passage.headers and not asks_for_headers(slot):
        pointed = [replace(p, log_probability=p.log_probability - WEIGHT * _in_headers(p, memory)) for p in pointed]
    if slot.format == "date-time" and (alone := [p for p in pointed if not memory.reader.mentions_at(slot, p.start)]):
        # What points at a date without a time says that there is no date-time.
        out.absent[k] = _log_sum([out.absent[k], *(p.log_probability + here for p in alone)])
    candidates, logs_of = candidates_of(slot, typed, pointed, memory.reader)
    out.candidates[k] = candidates
    out.logits[k] = [x + here for x in logs_of]
    kept = math.exp(min(0.0, d.mass[best]))
    # Without any candidate all of the probability that there is a value is refused.
    out.refused[k] = math.log(max(1.0 - kept, 1e-9)) if candidates else here


def _in_headers(pointed: Pointed, memory: Memory) -> bool:
    return any(first <= pointed.start < last for first, last in memory.passage.headers)


def _log_sum(logs: Sequence[float]) -> float:
    """Returns the logarithm of the sum of numbers, from their logarithms."""
    most = max(logs)
    return most + math.log(sum(math.exp(log - most) for log in logs)) if math.isfinite(most) else most


def _log_sigmoid(logit: float) -> float:
    """Returns the logarithm of the probability with these log odds."""
    return -math.log1p(math.exp(-logit)) if logit >= 0 else logit - math.log1p(math.exp(logit))
