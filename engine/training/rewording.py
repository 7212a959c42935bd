"""Rewords questions, so that the model reads names and descriptions and memorises neither."""

from __future__ import annotations

import random
from dataclasses import replace

from cinnabar.engine.models.reader.inputs.questions import Question

#: The share of batches in which a described field gets the name of another field of its kind.
MISNAMED = 0.2


class Rewording:
    """One wording for each question of a batch, so that documents of one source share their questions.

    In some batches descriptions stand under the names of other fields, as in schemas that were copied and changed;
    there the description is right. Without such batches a description under another field's name took F1 from .77 to
    .44; going by the name alone would give .27 (docs/model/log.md).
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._misnamed = rng.random() < MISNAMED
        self._names: dict[int, str] = {}
        self._known: dict[Question, Question] = {}

    def of(self, question: Question, kind: int) -> Question:
        """Returns the question as this batch words it; kind: the kind of its slot."""
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
    """Returns the question without its description, or without its name, or with the first sentence alone.

    The names of the objects around it stay: without them two parties' names would be one question.
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
