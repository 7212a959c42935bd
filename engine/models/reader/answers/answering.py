"""The answer to a slot from its window scores: candidates with their probabilities, and absence."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from cinnabar.engine.canvas import Canvas
from cinnabar.engine.models.base import Candidate
from cinnabar.engine.models.reader.answers.scores import Answers, WindowScores
from cinnabar.engine.models.reader.answers.spans import candidates_of, spans_in_window
from cinnabar.engine.models.reader.inputs.questions import TYPED, kind_of
from cinnabar.engine.models.reader.inputs.tensors import KINDS
from cinnabar.engine.models.reader.memory import Memory
from cinnabar.engine.models.reader.network.network import BOOLEANS


def answer(k: int, d: WindowScores, memory: Memory, canvas: Canvas, out: Answers) -> None:
    """Writes one answer from all windows' scores: a window counts the more, the surer it is of holding the value."""
    slot = canvas.instances[k].slot
    present = torch.tensor([-z for z in d.absent])
    weight = present.log_softmax(0)
    best = int(present.argmax())
    out.absent[k] = float(F.logsigmoid(-present[best]))
    here = float(F.logsigmoid(present[best]))
    if slot.options:
        mixed = torch.logsumexp(torch.tensor(d.options) + weight[:, None], 0)
        texts = BOOLEANS if kind_of(slot) == KINDS.index("boolean") else slot.options
        if d.passages:
            out.classes.add(k)
        told: list[tuple[tuple[int, int], ...]] = [(passage,) for passage in d.passages] or [()] * len(texts)
        out.candidates[k] = [
            Candidate(text.encode(), spans, "chosen") for text, spans in zip(texts, told, strict=True)
        ]
        out.logits[k] = (mixed + here).tolist()
        return
    typed = kind_of(slot) in TYPED
    pointed = []
    for w in present.argsort(descending=True)[:4].tolist():
        window = memory.windows[d.windows[w]]
        starts, ends = d.places[w]
        logs = [[x + float(weight[w]) for x in row] for row in d.pointed[w]]
        pointed += spans_in_window(starts, ends, logs, memory.columns, window)
    candidates, logs_of = candidates_of(slot, typed, pointed, memory.reader)
    out.candidates[k] = candidates
    out.logits[k] = [x + here for x in logs_of]
    kept = math.exp(min(0.0, d.mass[best]))
    # Without any candidate all of the probability that there is a value is refused.
    out.refused[k] = math.log(max(1.0 - kept, 1e-9)) if candidates else here
