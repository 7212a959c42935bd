"""The rules by which the answers to several slots of a request change each other's probabilities, by name."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from cinnabar.engine.canvas import Canvas
from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.priors.config import PriorConfig
from cinnabar.engine.models.reader.scoring.proximity import rerank_by_proximity
from cinnabar.engine.models.reader.scoring.scores import Answers
from cinnabar.engine.models.reader.scoring.shared_words import rerank_by_shared_words


@dataclass(frozen=True, slots=True)
class RequestSlots:
    """The slots of one request, as places on the canvas: `own` are all of them, `asked` those not frozen."""

    own: Sequence[int]
    asked: Collection[int]
    canvas: Canvas
    pieces: Pieces


class Reranker(Protocol):
    """One rule; it changes the log probabilities of candidates in place."""

    def __call__(self, slots: RequestSlots, out: Answers, config: PriorConfig) -> None:
        """Changes the answers to these slots."""
        ...


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
