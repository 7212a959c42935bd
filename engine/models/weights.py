"""Weights on disk: large matrices in int8, the others in float16, in safetensors shards below 16 MB.

A folder holds `model.json` (sizes, origin and digests of the files), `vocab.txt` and the shards. The folder of a
fine-tuned model holds `model.json` and the difference from the base that it names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from cinnabar.engine.models.differences import add_difference
from cinnabar.engine.models.identity import about, base_name, base_of, model_folder, weights_fingerprint
from cinnabar.engine.models.value_kinds import TAGS
from cinnabar.schemas.errors import ModelError

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


def restore(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns the weights in float32 from the tensors of `quantise`."""
    # The product turns int8 into float32 by itself; a copy in float32 before it took half as long again.
    return {
        name: w * stored[f"{name}.scale"].float() if w.dtype == torch.int8 else w.float()
        for name, w in stored.items()
        if not name.endswith(".scale")
    }


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


def save_difference(folder: Path, changed: dict[str, Tensor], base: str | Path, stated: dict[str, Any]) -> None:
    """Writes the folder of a model that was fine-tuned from `base`, a name or a folder.

    changed: the result of `differences.difference`. An earlier model in the folder stays whole until the new one is
    complete: files are named by their content, `model.json` is replaced atomically, and old files are removed last.
    """
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "difference.part"
    save_file(changed, part)
    digest = hashlib.sha256(part.read_bytes()).hexdigest()
    path = part.replace(folder / f"difference-{digest[:12]}.safetensors")
    whole = {
        "base": {"name": base_name(base, folder), "fingerprint": weights_fingerprint(base)},
        "size": about(model_folder(base))["size"],
        "files": {path.name: digest},
    }
    part.write_text(json.dumps(stated | whole, indent=1, sort_keys=True) + "\n")
    part.replace(folder / "model.json")
    for old in folder.glob("*.safetensors"):
        if old != path:
            old.unlink()


def load_weights(folder: Path) -> dict[str, Tensor]:
    """Returns the weights of a model's folder in float32, with the difference added to the base's if it has a base.

    Raises ModelError if a file or the base does not have the expected digest.
    """
    base, stored = base_of(folder), _stored_tensors(folder)
    return _with_tags(restore(stored)) if base is None else add_difference(load_weights(base), stored)


def _with_tags(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns a reader's weights with tags of kinds, which say nothing where an earlier version learned none."""
    if "start_slot.weight" in weights:
        width = weights["start_slot.weight"].shape[1]
        for name in ("tag_window", "tag_slot"):
            weights.setdefault(f"{name}.weight", torch.zeros(TAGS, width))
            weights.setdefault(f"{name}.bias", torch.zeros(TAGS))
    return weights


def _stored_tensors(folder: Path) -> dict[str, Tensor]:
    """Returns the tensors of a model's folder after checking every file against its digest."""
    return checked_tensors(folder, about(folder)["files"])


def checked_tensors(folder: Path, files: Mapping[str, str]) -> dict[str, Tensor]:
    """Returns the tensors of these files as they are stored; `files` has the SHA-256 of each by its name.

    Raises ModelError if a file is missing or does not have the expected digest.
    """
    check_files(folder, files)
    stored: dict[str, Tensor] = {}
    for name in sorted(files):
        if name.endswith(".safetensors"):
            stored |= load_file(folder / name)
    return stored


def check_files(folder: Path, files: Mapping[str, str]) -> None:
    """Raises ModelError if a file is missing or does not have the expected digest."""
    for name, digest in sorted(files.items()):
        path, actual = folder / name, "no file"
        if path.is_file():
            with path.open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        if actual != digest:
            raise ModelError(
                f"{path}: expected SHA-256 {digest}, found {actual}; the model is incomplete or altered"
            )
