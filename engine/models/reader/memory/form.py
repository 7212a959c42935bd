"""The encoded questions of a form, shared by all documents, and what of them is asked of one passage, on a canvas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from cinnabar.engine.model import Canvas
from cinnabar.engine.models.language.memory import give_back_memory
from cinnabar.engine.models.reader.inputs.questions import Question, form_questions, question_tensors
from cinnabar.engine.models.reader.inputs.tensors import Questions, to_device
from cinnabar.engine.models.reader.inputs.views import RowExtent
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.network.encoder import QuestionStates
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.work_time import check_time
from cinnabar.schemas.form.form import Form, Slot

#: The number of questions that go through the encoder together.
_QUESTIONS_AT_ONCE = 64


@dataclass(slots=True)
class FormMemory:
    """A form as the model keeps it: its questions (slots, then arrays, then options) with their states.

    `fingerprint` is the form's. `slots`, `arrays` and `options` (for each slot) are places among the questions.
    """

    fingerprint: str
    asked: list[Question]
    questions: Questions
    read: QuestionStates
    slots: list[int]
    arrays: list[int]
    options: list[list[int]]

    @property
    def nbytes(self) -> int:
        """The bytes of the tensors."""
        read, stated, asked = self.read, self.read.statements, self.questions
        of_states = (read.vectors, read.named, read.is_named, stated.label, stated.note, stated.states, stated.mask)
        of_words = (asked.ids, asked.mask, asked.label, asked.note, asked.named, asked.spelt)
        return sum(tensor.nbytes for tensor in (*of_states, *of_words))


def read_form(form: Form, network: Network, wordpieces: WordPieces, device: torch.device) -> FormMemory:
    """Returns the questions of a form, encoded by the network."""
    asked = form_questions(form)
    texts = [*asked.slots, *asked.arrays]
    options: list[list[int]] = []
    for own in asked.options:
        options.append(list(range(len(texts), len(texts) + len(own))))
        texts += own
    questions = to_device(question_tensors(texts, wordpieces), device)
    states = list[QuestionStates]()
    for i in range(0, max(1, len(texts)), _QUESTIONS_AT_ONCE):
        # Ten thousand choices take minutes.
        check_time()
        states.append(network.encode_questions(questions.part(i, i + _QUESTIONS_AT_ONCE)))
    read = QuestionStates.cat(states)
    if len(states) > 1:
        # A server kept up to .4 GB of what it had freed after ten forms of 1,000 fields.
        del states
        give_back_memory()
    slots = len(asked.slots)
    arrays = range(slots, slots + len(asked.arrays))
    return FormMemory(form.fingerprint, texts, questions, read, list(range(slots)), list(arrays), options)


@dataclass(frozen=True, slots=True)
class FormRequest:
    """The slots of one request: `own` are their places on the canvas, `places` those of the rows that they lie in."""

    form: Form
    questions: FormMemory
    memory: Memory
    canvas: Canvas
    own: Sequence[int]
    places: Mapping[int, RowExtent]

    def slot(self, k: int) -> Slot:
        """Returns the form's slot at this place on the canvas."""
        return self.canvas.instances[k].slot

    def is_frozen(self, k: int) -> bool:
        """Returns whether the slot's value was known from the start, so that it is not asked for."""
        return bool(self.canvas.known) and self.canvas.known[k]
