"""Encodings kept on disk: what a model read once it need not read again, for another schema or another run.

A file for each passage, named by the passage's content and the model. The folder may be removed at any time,
and a file that is broken counts as none: all of it can be made again. What was used longest ago goes first
where the folder is larger than its limit. Several processes may share it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import safetensors
import safetensors.torch
import torch

from cinnabar.engine.canvas import Canvas
from cinnabar.engine.models.base import Calibrator, Model, Row, Scores
from cinnabar.engine.request import Passage
from cinnabar.engine.version import VALUES_VERSION
from cinnabar.schemas.form.form import Form

#: Where a folder is full, this share of it is freed at once, so that not each new file has to look.
_FREED = 0.1
#: How often it is looked at what others put into the folder: each time that this share of it was written.
_LOOKED = 0.01
_SUFFIX = ".safetensors"
_TEMPORARY = ".part-"


@runtime_checkable
class Packing(Protocol):
    """A model whose memories can be kept."""

    def pack(self, memory: Any) -> dict[str, torch.Tensor]:
        """What a memory cannot be made again from without reading."""
        ...

    def unpack(self, passage: Passage, packed: Mapping[str, torch.Tensor]) -> Any | None:
        """The memory of a passage, the same to the bit; None where this is another passage's."""
        ...


class Encodings:
    """A folder of at most `limit` bytes. `found` and `made` count passages that were there and that were not.

    A disk that fails or is full keeps nothing, and harms nobody.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder, self.limit = folder, limit
        self.found = self.made = 0
        self._size = sum(size for _, size, _ in self._files())
        self._written = 0

    def get(self, key: str) -> dict[str, torch.Tensor] | None:
        """What is kept under this key."""
        path = self._path(key)
        try:
            with safetensors.safe_open(path, "pt") as file:
                packed = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                whole = (file.metadata() or {}).get("crc32") == _checksum(packed)
            if whole:
                # Used now: the last to go. A folder that may only be read from is of use as well.
                with contextlib.suppress(OSError):
                    os.utime(path)
                return packed
        except (OSError, safetensors.SafetensorError):
            pass
        return None

    def put(self, key: str, packed: Mapping[str, torch.Tensor]) -> None:
        """Keep this; nothing where it is larger than the limit."""
        tensors = {name: tensor.contiguous() for name, tensor in packed.items()}
        data = safetensors.torch.save(tensors, {"crc32": _checksum(tensors)})
        if len(data) > self.limit:
            return
        if self._size + len(data) > self.limit or self._written > self.limit * _LOOKED:
            self._free(len(data))
        path = self._path(key)
        temporary = path.with_name(f"{_TEMPORARY}{os.getpid()}-{path.name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Not synced: what a crash tears is known by its checksum, and made again.
            temporary.write_bytes(data)
            temporary.replace(path)
            self._size += len(data)
            self._written += len(data)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}{_SUFFIX}"

    def _files(self) -> list[tuple[float, int, Path]]:
        """When each file was used last, its size, and its path."""
        found = []
        for path in self.folder.glob(f"*/*{_SUFFIX}"):
            with contextlib.suppress(OSError):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        return found

    def _free(self, wanted: int) -> None:
        """Make room for so many bytes and some more, where there is none: what was used longest ago goes."""
        # Others may write to the folder as well, so its size is looked up anew.
        files = sorted(self._files())
        self._size, self._written = sum(size for _, size, _ in files), 0
        if self._size + wanted <= self.limit:
            return
        least = max(0, int(self.limit * (1 - _FREED)) - wanted)
        for _, size, path in files:
            if self._size <= least:
                break
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
                self._size -= size


class Remembering:
    """A model that looks up what it read before; in all else the model itself."""

    def __init__(self, model: Model, packing: Packing, encodings: Encodings) -> None:
        self._model, self._packing, self.encodings = model, packing, encodings
        self.fingerprint = model.fingerprint
        self.context_tokens = model.context_tokens
        self.device = model.device

    @property
    def calibration(self) -> Calibrator | None:
        """What its probabilities are worth."""
        return self._model.calibration

    def count_tokens(self, text: str) -> int:
        """Tokens of this text."""
        return self._model.count_tokens(text)

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """The characters of each window."""
        return self._model.windows(passage)

    def encode(self, passages: Sequence[Passage]) -> list[Any]:
        """Read the passages that were not read before, all of them in one pass."""
        memories = [self._kept(passage) for passage in passages]
        missing = [at for at, memory in enumerate(memories) if memory is None]
        self.encodings.found += len(passages) - len(missing)
        for at, memory in zip(missing, self._model.encode([passages[at] for at in missing]), strict=True):
            self.encodings.put(key_of(passages[at], self.fingerprint), self._packing.pack(memory))
            self.encodings.made += 1
            memories[at] = memory
        return memories

    def find_rows(self, forms: Sequence[Form], memories: Sequence[Any]) -> list[list[Row]]:
        """The items of each form's arrays."""
        return self._model.find_rows(forms, memories)

    def score(
        self, forms: Sequence[Form], memories: Sequence[Any], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        """One pass over the canvas."""
        return self._model.score(forms, memories, rows, canvas)

    def _kept(self, passage: Passage) -> Any | None:
        packed = self.encodings.get(key_of(passage, self.fingerprint))
        return None if packed is None else self._packing.unpack(passage, packed)


def remembering(model: Model, folder: Path, limit: int) -> Model:
    """The model with its encodings kept in this folder; the model alone where it has none to keep.

    On a GPU reading is faster than the disk, so nothing is kept there.
    """
    if limit <= 0 or model.device.type != "cpu" or not isinstance(model, Packing):
        return model
    return Remembering(model, model, Encodings(folder, limit))


def key_of(passage: Passage, model: str) -> str:
    """Names what this model makes of this text with its words where they stand.

    Where the passage begins in its document does not matter. Not by the document's digest alone: a newer
    parser may read other text from the same bytes.
    """
    digest = hashlib.sha256(f"{VALUES_VERSION}\n{model}\n{len(passage.text)}\n".encode())
    digest.update(passage.text.encode("utf-8", "surrogatepass"))
    for array in (passage.word_start, passage.word_end, passage.word_box):
        digest.update(f"{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def _checksum(tensors: Mapping[str, torch.Tensor]) -> str:
    found = 0
    for name in sorted(tensors):
        found = zlib.crc32(bytes(tensors[name].contiguous().view(torch.uint8).numpy()), found)
    return f"{found:08x}"
