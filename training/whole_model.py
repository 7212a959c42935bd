"""Writes a whole model: large matrices in int8, all else in float16, in shards of which those that rarely change stand
apart."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from cinnabar.engine.models.reader.network.network import Network

SHARD_BYTES = 15_000_000
#: Matrices with at least this many values are kept in int8, with one float16 scale a row.
QUANTISED_FROM = 100_000
#: Tensors that rarely change between versions: the name of their shard and the beginning of their names.
APART = (("words", "encoder.words."), ("letters", "letters."))
#: The least float16 above zero: the scale of a row of zeros.
LEAST_SCALE = 2.0**-24


def quantise(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns large matrices in int8 with a scale for each row (`name.scale`), everything else in float16."""
    out: dict[str, Tensor] = {}
    for name, w in weights.items():
        if w.dim() == 2 and w.numel() >= QUANTISED_FROM:
            # Divides by the rounded scale that is stored, so that the two roundings do not add up.
            scale = (w.float().abs().amax(1, keepdim=True) / 127).half().clamp(min=LEAST_SCALE)
            out[name] = (w.float() / scale.float()).round().clamp(-127, 127).to(torch.int8)
            out[f"{name}.scale"] = scale
        else:
            out[name] = w.half().contiguous()
    return out


def save_weights(folder: Path, weights: dict[str, Tensor], vocabulary: Path, about: dict[str, Any]) -> None:
    """Writes a model's folder; the tensors of APART get shards of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.safetensors"):
        old.unlink()
    files = {}
    for name, shard in _shards(quantise(weights)).items():
        path = folder / f"{name}.safetensors"
        save_file(shard, path)
        files[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    words_file = folder / "vocab.txt"
    if vocabulary.resolve() != words_file.resolve():
        words_file.write_bytes(vocabulary.read_bytes())
    files[words_file.name] = hashlib.sha256(words_file.read_bytes()).hexdigest()
    (folder / "model.json").write_text(json.dumps(about | {"files": files}, indent=1, sort_keys=True) + "\n")


def _shards(stored: dict[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """Returns the tensors by the names of their files: those of APART, then the body in parts of SHARD_BYTES."""
    shards: dict[str, dict[str, Tensor]] = {}
    part, size = 0, 0
    for name, tensor in stored.items():
        own = next((shard for shard, prefix in APART if name.startswith(prefix)), "")
        if not own:
            if size and size + tensor.nbytes > SHARD_BYTES:
                part, size = part + 1, 0
            size += tensor.nbytes
        shards.setdefault(own or f"body-{part}", {})[name] = tensor
    return shards


def save_network(folder: Path, network: Network, vocabulary: Path, about: dict[str, Any]) -> None:
    """Write a network as a model's folder."""
    save_weights(folder, network.state_dict(), vocabulary, about | {"size": asdict(network.size)})
