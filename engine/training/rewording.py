"""Rewords questions, so that the model reads names and descriptions and memorises neither."""

from __future__ import annotations

import random
import re
from dataclasses import replace

from cinnabar.engine.models.reader.inputs.questions import Question
from cinnabar.engine.models.reader.inputs.tensors import KINDS

#: The share of batches in which a described field gets the name of another field of its kind.
MISNAMED = 0.2
#: The share of questions that say which other field of the form they do not ask for.
APART = 0.04
#: A note that says what is not meant; without it the field may ask for something else.
_NEGATIVE = re.compile(r"\b(?:not|never|nicht|kein\w*|(?:other|rather) than)\b", re.I)
_CHOICE = KINDS.index("choice")


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
        self._before: dict[int, str] = {}
        self._known: dict[Question, Question] = {}

    def next_document(self) -> None:
        """Tells that the questions that follow are of another document."""
        self._before.clear()

    def of(self, question: Question, kind: int) -> Question:
        """Returns the question as this batch words it; kind: the kind of its slot."""
        if question not in self._known:
            self._known[question] = self._reword(question, kind)
        return self._known[question]

    def _reword(self, question: Question, kind: int) -> Question:
        if not self._misnamed or not question.note or _NEGATIVE.search(question.note):
            return self._apart(reword(question, self._rng), question, kind)
        other = self._names.get(kind, "")
        self._names[kind] = question.label
        return replace(question, label=other) if other else reword(question, self._rng)

    def _apart(self, worded: Question, question: Question, kind: int) -> Question:
        """Returns the question, at times told apart from another one of its document and kind ("not the …")."""
        other = self._before.get(kind, "")
        self._before[kind] = question.label
        if not other or other == question.label or kind == _CHOICE or self._rng.random() >= APART:
            return worded
        note = f"{worded.note.rstrip('. ')}; not the {other}" if worded.note else f"not the {other}"
        return replace(worded, note=note)


def reword(question: Question, rng: random.Random) -> Question:
    """Returns the question as it is, or by its name, its description or its first sentence alone, or as a question.

    The names of the objects around it stay: without them two parties' names would be one question. So does a note that
    says what is not meant.
    """
    draw = rng.random()
    if draw < 0.45 or _NEGATIVE.search(question.note):
        return question
    if draw < 0.62 and question.note:
        return Question(question.label, "", question.parents)
    if draw < 0.76 and question.note:
        return replace(question, label="")
    if draw < 0.82:
        return replace(question, label=question.label.lower())
    if draw < 0.9 and not question.note:
        asked = rng.choice(("What is the {}?", "Which {}?", "{}?", "the {}"))
        return Question(question.label, asked.format(question.label.lower()), question.parents)
    first = question.note.split(". ")[0]
    named = tuple(n for n in question.named if n.end <= len(first))
    return Question(question.label, first, question.parents, named)
