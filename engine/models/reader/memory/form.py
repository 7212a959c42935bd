"""The encoded questions of a form, shared by all documents.

What is asked of one passage: the slots of a form, on a canvas.

The states of a form's questions on disk, so that a later process need not encode them again.

The folder lies in the user's cache folder, beside the automata, and has a file for each set of questions. A file is
named by the digest of all that decides its content: the questions, the weights, the precision, the code of the
network, and the library with the processor or GPU that computed it. It holds tensors and a checksum, no code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from cinnabar.engine.model import Canvas
from cinnabar.engine.models import int8_matmul
from cinnabar.engine.models.encodings import Encodings
from cinnabar.engine.models.reader.inputs.questions import Question, form_questions, question_tensors
from cinnabar.engine.models.reader.inputs.tensors import Questions, to_device
from cinnabar.engine.models.reader.inputs.views import RowExtent
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.network.encoder import QuestionStates
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.reader.network.support import Statements
from cinnabar.engine.work_time import check_time
from cinnabar.schemas.cache_files import cache_folder
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


def read_form(
    form: Form, network: Network, wordpieces: WordPieces, device: torch.device, kept: QuestionCache | None = None
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


#: The folder within the cache folder, and its most bytes; thirty questions take 2 MB.
FOLDER, LIMIT = "questions", 128 << 20
_OWN = ("vectors", "named", "is_named")


class QuestionCache:
    """Keeps the states of questions of the model with this fingerprint on disk, if there is a cache folder."""

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        folder = cache_folder()
        self._kept = None if folder is None else Encodings(folder / FOLDER, LIMIT)

    def states(
        self, questions: Questions, device: torch.device, encode: Callable[[], QuestionStates]
    ) -> QuestionStates:
        """Returns the states of these questions on this device, from disk or from `encode`."""
        if self._kept is None:
            return encode()
        key = self._key(questions, device)
        states = _unpack(self._kept.get(key) or {}, len(questions.ids), device)
        if states is None:
            states = encode()
            self._kept.put(key, _pack(states))
        return states

    def _key(self, questions: Questions, device: torch.device) -> str:
        machine = (
            torch.cuda.get_device_name(device) if device.type == "cuda" else torch.backends.cpu.get_cpu_capability()
        )
        parts = (self._fingerprint, _code(), torch.__version__, device.type, machine, torch.get_num_threads())
        digest = hashlib.sha256(repr(parts).encode())
        for field in fields(Questions):
            tensor: Tensor = getattr(questions, field.name).cpu().contiguous()
            digest.update(f"{field.name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
            digest.update(tensor.numpy().tobytes())
        return digest.hexdigest()


@cache
def _code() -> str:
    """A digest of the code that encodes questions."""
    files = sorted((Path(__file__).parents[1] / "network").glob("*.py"))
    files += [Path(int8_matmul.__file__), Path(__file__)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _pack(states: QuestionStates) -> dict[str, Tensor]:
    own = {name: getattr(states, name).cpu() for name in _OWN}
    return own | {f.name: getattr(states.statements, f.name).cpu() for f in fields(Statements)}


def _unpack(packed: dict[str, Tensor], count: int, device: torch.device) -> QuestionStates | None:
    """Returns the states of `count` questions, or None if the tensors are not those of so many."""
    names = {*_OWN, *(f.name for f in fields(Statements))}
    if packed.keys() != names or any(len(tensor) != count for tensor in packed.values()):
        return None
    held = {name: tensor.to(device) for name, tensor in packed.items()}
    statements = Statements(**{f.name: held.pop(f.name) for f in fields(Statements)})
    return QuestionStates(statements=statements, **held)
