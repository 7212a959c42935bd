"""From what the windows say of a slot to its answer: candidates with their probabilities, and absence."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import torch
import torch.nn.functional as F

from cinnabar.engine.canvas import Canvas
from cinnabar.engine.models.base import Candidate
from cinnabar.engine.models.reader.answers.column_alignment import aligned
from cinnabar.engine.models.reader.answers.proximity import gathered
from cinnabar.engine.models.reader.answers.scores import Answers, Decided
from cinnabar.engine.models.reader.answers.shared_words import unshared
from cinnabar.engine.models.reader.answers.spans import candidates_of, spans_in_window
from cinnabar.engine.models.reader.inputs.questions import TYPED, kind_of
from cinnabar.engine.models.reader.inputs.tensors import KINDS
from cinnabar.engine.models.reader.memory import Memory
from cinnabar.engine.models.reader.network.network import BOOLEANS

#: A slot is spelled out as well where the model gives that at least this probability.
SPELL_FROM = 0.1


def answer(k: int, d: Decided, memory: Memory, canvas: Canvas, out: Answers) -> None:
    """One answer from what the windows say: the surer one is of holding the value, the more it counts."""
    slot = canvas.instances[k].slot
    present = torch.tensor([-z for z in d.absent])
    weight = present.log_softmax(0)
    best = int(present.argmax())
    out.absent[k] = float(F.logsigmoid(-present[best]))
    here = float(F.logsigmoid(present[best]))
    if slot.options:
        mixed = torch.logsumexp(torch.tensor(d.options) + weight[:, None], 0)
        texts = BOOLEANS if kind_of(slot) == KINDS.index("boolean") else slot.options
        out.candidates[k] = [Candidate(t.encode(), (), "chosen") for t in texts]
        out.logits[k] = (mixed + here).tolist()
        return
    typed = kind_of(slot) in TYPED
    gate = d.spell[best]
    copied = -math.log1p(math.exp(min(gate, 60.0)))
    pointed = []
    for w in present.argsort(descending=True)[:4].tolist():
        window = memory.windows[d.windows[w]]
        starts, ends = d.places[w]
        logs = [[x + float(weight[w]) for x in row] for row in d.pointed[w]]
        pointed += spans_in_window(starts, ends, logs, memory.columns, window)
    candidates, logs_of = candidates_of(slot, typed, pointed, memory.reader)
    out.candidates[k] = candidates
    out.logits[k] = [x + here + copied for x in logs_of]
    kept = math.exp(min(0.0, d.mass[best]))
    out.refused[k] = math.log(max(1.0 - kept, 1e-9))
    if 1 / (1 + math.exp(-max(-60.0, min(gate, 60.0)))) >= SPELL_FROM or not candidates:
        out.generate[k] = here - math.log1p(math.exp(min(-gate, 60.0)))


def align(asked: Sequence[int], memory: Memory, canvas: Canvas, out: Answers) -> None:
    """Let the rows of each list tell one another in which columns their values stand."""
    fields: dict[int, list[int]] = {}
    for k in asked:
        if not canvas.instances[k].slot.options:
            fields.setdefault(canvas.instances[k].slot.index, []).append(k)
    for same in fields.values():
        found = [out.candidates[k] for k in same], [out.logits[k] for k in same]
        changed = aligned(*found, [out.absent[k] for k in same], memory.pieces)
        for k, logits in zip(same, changed, strict=True):
            out.logits[k] = logits


def gather(own: Sequence[int], asked: Collection[int], memory: Memory, canvas: Canvas, out: Answers) -> None:
    """Let the fields of each object within a record or a row tell one another where on the page it is.

    What is frozen is where it was found.
    """
    rows: dict[int, list[tuple[str, int]]] = {}
    for k in own:
        instance = canvas.instances[k]
        parent = instance.slot.path.rpartition("/")[0]
        if parent.rpartition("*")[2] and not instance.slot.options:
            rows.setdefault(instance.row, []).append((parent, k))
    for fields in rows.values():
        objects, slots = zip(*fields, strict=True)
        told = _told(slots, asked, canvas, out)
        _tell(slots, asked, gathered(objects, *told, memory.pieces), out)


def unshare(own: Sequence[int], asked: Collection[int], canvas: Canvas, out: Answers) -> None:
    """Let the fields of each object tell one another whose words are whose. What is frozen is sure of its."""
    objects: dict[tuple[int, str], list[int]] = {}
    for k in own:
        instance = canvas.instances[k]
        if not instance.slot.options:
            objects.setdefault((instance.row, instance.slot.path.rpartition("/")[0]), []).append(k)
    for slots in objects.values():
        _tell(slots, asked, unshared(*_told(slots, asked, canvas, out)), out)


def _told(
    slots: Sequence[int], asked: Collection[int], canvas: Canvas, out: Answers
) -> tuple[list[list[Candidate]], list[list[float]], list[float]]:
    """The candidates of these slots, their log probabilities, those of absence; what is frozen is certain."""
    frozen = {k: Candidate(b"", canvas.spans[k]) for k in slots if k not in asked and canvas.spans[k]}
    return (
        [[frozen[k]] if k in frozen else out.candidates[k] for k in slots],
        [[0.0] if k in frozen else out.logits[k] for k in slots],
        [-math.inf if k in frozen else out.absent[k] for k in slots],
    )


def _tell(slots: Sequence[int], asked: Collection[int], changed: Sequence[list[float]], out: Answers) -> None:
    for k, logits in zip(slots, changed, strict=True):
        if k in asked:
            out.logits[k] = logits
