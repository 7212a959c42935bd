"""The states of a form's questions on disk, so that a later process need not encode them again.

The folder lies in the user's cache folder, beside the automata, and has a file for each set of questions. A file is
named by the digest of all that decides its content: the questions, the weights, the precision, the code of the
network, and the library with the processor or GPU that computed it. It holds tensors and a checksum, no code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from cinnabar.engine.models import int8_matmul
from cinnabar.engine.models.encodings import Encodings
from cinnabar.engine.models.reader.inputs.tensors import Questions
from cinnabar.engine.models.reader.network.states import QuestionStates
from cinnabar.engine.models.reader.network.support import Statements
from cinnabar.schemas.kept_files import cache_folder

#: The folder within the cache folder, and its most bytes; thirty questions take 2 MB.
FOLDER, LIMIT = "questions", 128 << 20
_OWN = ("vectors", "named", "is_named")


class KeptQuestions:
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
