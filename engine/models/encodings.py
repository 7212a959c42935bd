"""Keeps a model's encodings on disk, so that another schema or another run need not read a passage again.

The folder has one file for each passage, named by the passage's content and the model. It may be removed at any time,
and a broken file counts as missing: the model makes every encoding again.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import safetensors
import safetensors.torch
import torch

from cinnabar.engine.model import Calibrator, Canvas, Helped, Model, Row, Scores
from cinnabar.engine.request import Passage
from cinnabar.engine.version import values_version
from cinnabar.schemas.cache_files import CacheFiles, mark_used
from cinnabar.schemas.form.form import Form

_SUFFIX = ".safetensors"


@runtime_checkable
class Packing(Protocol):
    """A model whose memories can be stored."""

    def pack(self, memory: Any) -> dict[str, torch.Tensor] | None:
        """Returns the tensors of a memory that only another reading could give; None if it is not read as a whole."""
        ...

    def unpack(self, passage: Passage, packed: Mapping[str, torch.Tensor]) -> Any | None:
        """Returns the memory of a passage, equal to the bit; None if the tensors belong to another passage."""
        ...


class Encodings:
    """A folder of at most `limit` bytes. `found` and `made` count the passages that it had and that it lacked.

    On a disk that fails or is full it keeps nothing and raises nothing.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.found = self.made = 0
        self._files = CacheFiles(folder, f"*/*{_SUFFIX}", limit)

    def get(self, key: str) -> dict[str, torch.Tensor] | None:
        """Returns the tensors under this key; None if there are none or the file is broken."""
        path = self._path(key)
        try:
            with safetensors.safe_open(path, "pt") as file:
                packed = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                whole = (file.metadata() or {}).get("crc32") == _checksum(packed)
            if whole:
                mark_used(path)
                return packed
        except (OSError, safetensors.SafetensorError):
            pass
        return None

    def put(self, key: str, packed: Mapping[str, torch.Tensor]) -> None:
        """Stores these tensors, unless they are larger than the limit."""
        tensors = {name: tensor.contiguous() for name, tensor in packed.items()}
        data = safetensors.torch.save(tensors, {"crc32": _checksum(tensors)})
        # The checksum shows a file that a crash tore, and the model makes it again.
        self._files.write(self._path(key), [data], len(data))

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}{_SUFFIX}"


class CachingModel:
    """A model that looks up its earlier encodings; all else it leaves to the model itself."""

    def __init__(self, model: Model, packing: Packing, encodings: Encodings) -> None:
        self._model, self._packing, self.encodings = model, packing, encodings
        self.fingerprint = model.fingerprint
        self.context_tokens = model.context_tokens
        self.device = model.device

    @property
    def calibration(self) -> Calibrator | None:
        """The calibrator of the model behind it, None without one."""
        return self._model.calibration

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of this text."""
        return self._model.count_tokens(text)

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """Returns the characters [start, end) of each window."""
        return self._model.windows(passage)

    def prepare(self, form: Form) -> None:
        """Has the model encode the questions of a form, which no stored encoding spares."""
        self._model.prepare(form)

    def encode(self, passages: Sequence[Passage]) -> list[Any]:
        """Reads the passages without a stored encoding in one pass and returns the memories of all."""
        memories = [self._kept(passage) for passage in passages]
        missing = [at for at, memory in enumerate(memories) if memory is None]
        self.encodings.found += len(passages) - len(missing)
        for at, memory in zip(missing, self._model.encode([passages[at] for at in missing]), strict=True):
            packed = self._packing.pack(memory)
            if packed is not None:
                self.encodings.put(key_of(passages[at], self.fingerprint), packed)
            self.encodings.made += 1
            memories[at] = memory
        return memories

    def beside(self, load: Callable[[], Model | None]) -> Model:
        """Returns this model with another one beside it."""
        other = self._model.beside(load) if isinstance(self._model, Helped) else self._model
        return CachingModel(other, self._packing, self.encodings)

    def find_rows(self, forms: Sequence[Form], memories: Sequence[Any]) -> list[list[Row]]:
        """Returns the rows of each form's arrays."""
        return self._model.find_rows(forms, memories)

    def score(
        self, forms: Sequence[Form], memories: Sequence[Any], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        """Scores the canvas in one pass."""
        return self._model.score(forms, memories, rows, canvas)

    def _kept(self, passage: Passage) -> Any | None:
        packed = self.encodings.get(key_of(passage, self.fingerprint))
        return None if packed is None else self._packing.unpack(passage, packed)


def with_cached_encodings(model: Model, folder: Path, limit: int) -> Model:
    """Returns the model with its encodings kept in this folder; the model alone if it cannot store them.

    A GPU reads faster than the disk, so a model on a GPU keeps nothing.
    """
    if limit <= 0 or model.device.type != "cpu" or not isinstance(model, Packing):
        return model
    return CachingModel(model, model, Encodings(folder, limit))


def key_of(passage: Passage, model: str) -> str:
    """Returns the key of this model's encoding of this text and the places of its words.

    The passage's offset in its document does not count. The document's digest would not do: a newer parser may read
    other text from the same bytes.
    """
    digest = hashlib.sha256(f"{values_version('reader')}\n{model}\n{len(passage.text)}\n".encode())
    digest.update(passage.text.encode("utf-8", "surrogatepass"))
    for array in (passage.word_start, passage.word_end, passage.word_box):
        digest.update(f"{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def _checksum(tensors: Mapping[str, torch.Tensor]) -> str:
    found = 0
    for name in sorted(tensors):
        found = zlib.crc32(bytes(tensors[name].contiguous().view(torch.uint8).numpy()), found)
    return f"{found:08x}"
