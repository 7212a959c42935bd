"""The safetensors files of a checkpoint: their headers and their place on disk; needs no torch.

A file begins with the length of its header (8 bytes, little endian), then the header, JSON with dtype, shape and place
of each tensor, then the bytes of the tensors.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open

from cinnabar.engine.models.identity import model_name_hint
from cinnabar.engine.models.language.configuration import read_settings
from cinnabar.errors import ModelError

#: The bytes of a value, by the dtypes that can be loaded.
SIZES = {"F32": 4, "BF16": 2, "F16": 2}
INDEX = "model.safetensors.index.json"
#: The file in the folder of a GGUF file with the places of its tensors.
GGUF_INDEX = "gguf.json"
#: The types of its tensors that can be turned back to floats.
GGUF_TYPES = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K")
#: Endings of files that hold pickles, which may run code when they are read.
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
#: No header is longer: it would tell of more than 100,000 tensors, and takes twenty times its size in memory.
_LONGEST = 16 << 20


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor on disk: its file, its name there, dtype, shape, and bytes [begin, end) within the file.

    heads: of a GGUF file, the heads whose halves are interleaved, 0 if none are; None in other files.
    """

    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int
    heads: int | None = None

    @property
    def in_gguf(self) -> bool:
        """Whether the file is a GGUF file."""
        return self.heads is not None

    @property
    def values(self) -> int:
        """The number of values."""
        return math.prod(self.shape)


def stored_tensors(folder: Path) -> dict[str, StoredTensor]:
    """Returns the tensors of a checkpoint's folder by name.

    Raises ModelError for a missing or damaged file, and for a folder with pickles only.
    """
    tensors: dict[str, StoredTensor] = {}
    if (folder / GGUF_INDEX).is_file():
        return _in_gguf(folder / GGUF_INDEX)
    for path in weight_files(folder):
        for name, tensor in _header(path).items():
            if name in tensors:
                raise ModelError(
                    f"{path}: the tensor {name} is in {tensors[name].path.name} too; fetch the model again"
                )
            tensors[name] = tensor
    return tensors


def _in_gguf(index: Path) -> dict[str, StoredTensor]:
    settings = read_settings(index)
    path = index.parent / str(settings.text("file"))
    size = path.stat().st_size if path.is_file() else 0
    tensors: dict[str, StoredTensor] = {}
    for name, place in settings.table("tensors").items():
        try:
            kind, shape, begin, end, heads = place
            numbers = (*shape, begin, end, heads)
        except (TypeError, ValueError) as error:
            raise ModelError(f"{index}: expected the place of {name!r:.80}, found {place!r:.80}") from error
        if not isinstance(kind, str) or any(type(one) is not int or one < 0 for one in numbers):
            raise ModelError(f"{index}: expected the place of {name!r:.80}, found {place!r:.80}")
        if not begin <= end <= size:
            raise ModelError(f"{path}: expected the GGUF file of {index.parent}, whole; found {size:,} bytes")
        tensors[name] = StoredTensor(path, name, kind, tuple(shape), begin, end, heads)
    return tensors


def weight_files(folder: Path) -> list[Path]:
    """Returns the safetensors files of a checkpoint. Raises ModelError if one is missing, or if there is none."""
    index = folder / INDEX
    if index.is_file():
        named = read_settings(index).table("weight_map")
        files = [folder / str(name) for name in sorted(set(map(str, named.values())))]
        missing = [path.name for path in files if not path.is_file()]
        if any(path.parent != folder for path in files):
            raise ModelError(f"{index}: expected names of files of this folder")
        if not files:
            raise ModelError(f"{index}: expected `weight_map` with the file of each tensor, found none; fetch it again")
        if missing:
            raise ModelError(
                f"{folder}: {len(missing)} of {len(files)} files of weights are missing, first {missing[0]};"
                " `cinnabar model fetch` goes on with what is unfinished"
            )
        return files
    files = sorted(folder.glob("*.safetensors"))
    if (folder / "model.safetensors") in files:
        return [folder / "model.safetensors"]
    if not files:
        pickles = sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLES)
        if pickles:
            raise ModelError(
                f"{folder}: the weights are pickles ({pickles[0]}), which can run code when they are read; take a"
                " release with *.safetensors, or convert them where you trust their source"
            )
        if wrong := model_name_hint(folder):
            raise ModelError(f"{folder}: {wrong}")
        raise ModelError(
            f"{folder}: expected model.safetensors, or {INDEX} with its files; found neither; `cinnabar model fetch`"
            " brings them"
        )
    if len(files) > 1:
        raise ModelError(f"{folder}: expected {INDEX} beside {len(files)} files of weights, found none; fetch it, too")
    return files


def _header(path: Path) -> dict[str, StoredTensor]:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length <= min(size - 8, _LONGEST):
                raise ValueError(f"a header of {length} bytes in a file of {size}")
            header = json.loads(file.read(length))
        tensors = {
            name: StoredTensor(
                path,
                name,
                str(one["dtype"]),
                tuple(int(n) for n in one["shape"]),
                8 + length + int(one["data_offsets"][0]),
                8 + length + int(one["data_offsets"][1]),
            )
            for name, one in header.items()
            if name != "__metadata__"
        }
        end = max((tensor.end for tensor in tensors.values()), default=8 + length)
        if not all(name.isprintable() for name in tensors):
            raise ValueError("a name of a tensor cannot be shown")
        if end == size:
            # Raises unless each tensor follows the one before it, and is as long as its shape says.
            with safe_open(path, "numpy"):
                pass
    except (OSError, SafetensorError, ArithmeticError, ValueError, LookupError, TypeError, AttributeError,
            RecursionError) as error:  # fmt: skip
        raise ModelError(
            f"{path}: expected a safetensors file, and its header cannot be read: {error!s:.300}; fetch the file again"
        ) from error
    if end != size:
        raise ModelError(
            f"{path}: expected {end} bytes by its header, found {size}; `cinnabar model fetch` goes on with an"
            " unfinished download"
        )
    return tensors
