"""Questions in other words: names and descriptions are both read, and neither is learned by heart."""

from __future__ import annotations

import random
from dataclasses import replace

from cinnabar.engine.models.reader.inputs.questions import Question

#: The share of batches in which a described field goes by the name of another one of its kind.
MISNAMED = 0.2


class Rewording:
    """One wording for each question of a batch: documents of one source then share their questions.

    In some batches descriptions stand under the names of other fields, as in schemas that were copied and
    changed: there the description says what is meant. Without them a description on another field's name took
    F1 from .77 to .44, where going by it alone would give .27 (docs/model/log.md).
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._misnamed = rng.random() < MISNAMED
        self._names: dict[int, str] = {}
        self._known: dict[Question, Question] = {}

    def of(self, question: Question, kind: int) -> Question:
        """The question as this batch asks it; kind: that of its slot."""
        if question not in self._known:
            self._known[question] = self._worded(question, kind)
        return self._known[question]

    def _worded(self, question: Question, kind: int) -> Question:
        if not self._misnamed or not question.note:
            return reworded(question, self._rng)
        other = self._names.get(kind, "")
        self._names[kind] = question.label
        return replace(question, label=other) if other else reworded(question, self._rng)


def reworded(question: Question, rng: random.Random) -> Question:
    """The question in other words: without its description, or its name, or with its first sentence alone.

    The names of the objects around it stay: without them two parties' names are one question.
    """
    draw = rng.random()
    if draw < 0.55:
        return question
    if draw < 0.65 and question.note:
        return Question(question.label, "", question.parents)
    if draw < 0.78 and question.note:
        return replace(question, label="")
    if draw < 0.88:
        return replace(question, label=question.label.lower())
    first = question.note.split(". ")[0]
    named = tuple(n for n in question.named if n.end <= len(first))
    return Question(question.label, first, question.parents, named)
