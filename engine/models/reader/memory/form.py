"""The encoded questions of a form, shared by all documents."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from cinnabar.engine.models.reader.inputs.questions import Question, form_questions, question_tensors
from cinnabar.engine.models.reader.inputs.tensors import Questions, to_device
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.memory.kept_questions import KeptQuestions
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.reader.network.states import QuestionStates
from cinnabar.engine.time_limit import check_time
from cinnabar.schemas.form.form import Form

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


def read_form(
    form: Form, network: Network, wordpieces: WordPieces, device: torch.device, kept: KeptQuestions | None = None
) -> FormMemory:
    """Returns the questions of a form, encoded by the network, or as an earlier process kept them."""
    asked = form_questions(form)
    texts = [*asked.slots, *asked.arrays]
    options: list[list[int]] = []
    for own in asked.options:
        options.append(list(range(len(texts), len(texts) + len(own))))
        texts += own
    questions = to_device(question_tensors(texts, wordpieces), device)

    def encode() -> QuestionStates:
        states = list[QuestionStates]()
        for i in range(0, max(1, len(texts)), _QUESTIONS_AT_ONCE):
            # Ten thousand choices take minutes.
            check_time()
            states.append(network.encode_questions(questions.part(i, i + _QUESTIONS_AT_ONCE)))
        return QuestionStates.cat(states)

    read = encode() if kept is None else kept.states(questions, device, encode)
    slots = len(asked.slots)
    arrays = range(slots, slots + len(asked.arrays))
    return FormMemory(form.fingerprint, texts, questions, read, list(range(slots)), list(arrays), options)
