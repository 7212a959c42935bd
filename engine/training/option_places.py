"""Finds the place of a long passage that says most about each choice; training decides the choice there."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from cinnabar.engine.models.reader.inputs.questions import question_tensors
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.network.support import covering_pieces
from cinnabar.engine.training.examples import LabelledPassage
from cinnabar.engine.training.pool import TrainingSource


def with_evidence(source: TrainingSource, words: Tensor, wordpieces: WordPieces) -> TrainingSource:
    """Returns the source with `SlotTarget.evident_at` filled in; words: [V, H], the vectors of the vocabulary."""
    return replace(
        source,
        train=[_with_evidence(p, words, wordpieces) for p in source.train],
        held_back=[_with_evidence(p, words, wordpieces) for p in source.held_back],
    )


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
