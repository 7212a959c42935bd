"""A checkpoint in few bits, to ship it: matrices of the layers in 4 bits, embeddings in 8, in files below 16 MB.

A packed folder holds `packed.json` (the tensors of each file, with digests of the files), the files, and the other
files of the checkpoint as they are. `unpack` makes a folder in Hugging Face form of it, in bfloat16.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from cinnabar.engine.models.language.quantised import Bits, dequantise, is_quantised, quantise
from cinnabar.engine.models.language.weights_file import weight_files
from cinnabar.schemas.errors import ModelError

MANIFEST = "packed.json"
#: The most bytes of a file.
LARGEST = 15_500_000
#: Tensors with fewer values stay in bfloat16.
_SMALL = 100_000


def pack(folder: Path, out: Path) -> int:
    """Writes a checkpoint's weights in few bits; returns the bytes of all files. `out` is made anew."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix not in (".safetensors", ".part") and not path.name.startswith("model.safe"):
            shutil.copy(path, out / path.name)
    files: list[dict[str, Any]] = []
    own: dict[str, torch.Tensor] = {}

    def write() -> None:
        name = f"weights-{len(files) + 1:02}.safetensors"
        save_file(own, out / name)
        files.append({"name": name, "sha256": _digest(out / name)})
        own.clear()

    for name, tensor in _pieces(folder):
        if own and sum(one.nbytes for one in own.values()) + tensor.nbytes > LARGEST:
            write()
        own[name] = tensor
    write()
    (out / MANIFEST).write_text(json.dumps({"files": files}, indent=1) + "\n", encoding="utf-8")
    return sum(path.stat().st_size for path in out.iterdir())


def unpack(packed: Path, out: Path) -> None:
    """Writes a packed checkpoint as a folder in Hugging Face form; does nothing if it is there already.

    Raises ModelError for a file that is missing or damaged.
    """
    manifest = packed / MANIFEST
    if not manifest.is_file():
        raise ModelError(f"{packed}: expected {MANIFEST}, as a packed model has it; found none")
    beside = [path for path in packed.iterdir() if path.is_file() and path.suffix != ".safetensors"]
    same = all((out / one.name).is_file() and _digest(out / one.name) == _digest(one) for one in beside)
    if same and (out / "model.safetensors").is_file():
        return
    stored: dict[str, torch.Tensor] = {}
    for one in json.loads(manifest.read_text(encoding="utf-8"))["files"]:
        path = packed / one["name"]
        if not path.is_file() or _digest(path) != one["sha256"]:
            raise ModelError(f"{path}: missing or damaged; get the file again")
        stored |= load_file(path)
    part = out.with_name(f"{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    save_file(dict(_whole(stored)), part / "model.safetensors", metadata={"format": "pt"})
    for path in beside:
        shutil.copy(path, part / path.name)
    shutil.rmtree(out, ignore_errors=True)
    part.replace(out)


def _bits(name: str, shape: tuple[int, ...]) -> Bits | None:
    """Returns the bits of a tensor's values, None if it stays in bfloat16."""
    # Families have names of their own around those of the layers.
    _, layers, rest = name.partition("layers.")
    if layers and is_quantised(f"model.layers.{rest}", shape):
        return 4
    return 8 if len(shape) == 2 and shape[0] * shape[1] >= _SMALL else None


def _pieces(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields the tensors to store: `name` in bfloat16, or `name:bits:part:values` and its scales, in parts of rows."""
    for path in weight_files(folder):
        for name, tensor in sorted(load_file(path).items()):
            bits = _bits(name, tuple(tensor.shape))
            if bits is None:
                yield name, tensor.bfloat16().contiguous()
                continue
            count = -(-tensor.numel() * bits // 8 // (LARGEST // 2))
            for part, rows in enumerate(tensor.chunk(count)):
                values, scales = quantise(rows, bits)
                yield f"{name}:{part}:values", values.contiguous()
                yield f"{name}:{part}:scales", scales.contiguous()


def _whole(stored: dict[str, torch.Tensor]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields the tensors of a checkpoint in bfloat16."""
    parts: dict[str, dict[int, torch.Tensor]] = {}
    for name, tensor in stored.items():
        base, _, rest = name.partition(":")
        if not rest:
            yield base, tensor
        elif rest.endswith(":values"):
            number = rest.removesuffix(":values")
            scales = stored[f"{base}:{number}:scales"]
            parts.setdefault(base, {})[int(number)] = dequantise(tensor, scales, torch.bfloat16)
    for base, own in parts.items():
        yield base, torch.cat([own[number] for number in sorted(own)]).contiguous()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

