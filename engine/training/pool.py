"""The pool of training: labelled passages by source, the draw of windows, and the places that say most of choices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from cinnabar.engine.models.reader.inputs.questions import question_tensors
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.network.support import covering_pieces
from cinnabar.engine.training.batches import Drawn
from cinnabar.engine.training.examples import LabelledPassage, draw_window


@dataclass(slots=True)
class TrainingSource:
    """One kind of document: its passages share a schema or have a schema each."""

    name: str
    weight: float
    train: list[LabelledPassage]
    shared_schema: bool = True


class Mix:
    """Draws windows from a few sources for each batch, so that several documents share one reading of a question."""

    def __init__(self, sources: Sequence[TrainingSource], rng: random.Random) -> None:
        self.sources = [s for s in sources if s.train and s.weight > 0]
        self.weights = [s.weight for s in self.sources]
        self.lengths = [_typical_length(s) for s in self.sources]
        self.rng = rng

    def draw(self, sources: int, each: int, budget: int) -> list[Drawn]:
        """Returns `each` windows from each of `sources` sources, together at most `budget` padded pieces.

        Sources with windows of similar length go together, because padding is wasted work.
        """
        places = self.rng.choices(range(len(self.sources)), self.weights, k=1 + 3 * (sources - 1))
        first, *others = places
        others.sort(key=lambda i: abs(self.lengths[i] - self.lengths[first]))
        drawn: list[Drawn] = []
        for i in [first, *others[: sources - 1]]:
            source = self.sources[i]
            # A question of one document only costs a reading for that document alone.
            count = each if source.shared_schema else max(1, each // 2)
            for passage in self.rng.choices(source.train, k=count):
                drawn.append((passage, draw_window(passage, self.rng)))
        self.rng.shuffle(drawn)
        longest = 0
        for i, (_, w) in enumerate(drawn):
            longest = max(longest, w.last - w.first + 2)
            if i and longest * (i + 1) > budget:
                return drawn[:i]
        return drawn


def _typical_length(source: TrainingSource) -> float:
    sizes = sorted(w.last - w.first for p in source.train[:50] for w in p.windows)
    return float(sizes[len(sizes) // 2])


def add_evidence(source: TrainingSource, words: Tensor, wordpieces: WordPieces) -> TrainingSource:
    """Returns the source with `SlotTarget.evident_at` filled in; words: [V, H], the vectors of the vocabulary."""
    return replace(source, train=[_with_evidence(p, words, wordpieces) for p in source.train])


def _with_evidence(passage: LabelledPassage, words: Tensor, wordpieces: WordPieces) -> LabelledPassage:
    chosen = [s for s in passage.scalars if s.chosen]
    if len(passage.windows) == 1 or not chosen:
        return passage
    asked = question_tensors([s.question for s in chosen], wordpieces)
    cores = [(w.core_first, w.core_last) for w in passage.windows]
    (pieces,) = covering_pieces(words, asked.label, asked.note, [(passage.pieces.ids, cores)])
    places = iter(pieces.tolist())
    scalars = tuple(replace(s, evident_at=next(places)) if s.chosen else s for s in passage.scalars)
    return replace(passage, scalars=scalars)
