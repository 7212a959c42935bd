"""Documents with their true records, as passages that train a reader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.request import Passage
from cinnabar.engine.training.examples import LabelledPassage, labelled_passage
from cinnabar.engine.training.labels import label_by_search
from cinnabar.schemas.form.form import Form


@dataclass(frozen=True, slots=True)
class Labelled:
    """A document of a set as a passage for the engine, and its true record."""

    file: str
    passage: Passage
    truth: Any


def labelled_passages(
    documents: Iterable[Labelled], form: Form, wordpieces: WordPieces
) -> list[LabelledPassage]:
    """Returns the documents with the targets of the form's slots; it leaves out documents without words."""
    labelled = []
    for document in documents:
        passage = document.passage
        pieces = wordpieces.pieces(passage.text, passage.word_start, passage.word_box)
        if len(pieces):
            labels = label_by_search(passage.text, form, document.truth)
            labelled.append(labelled_passage(passage.text, form, labels, pieces, wordpieces))
    return labelled
