"""Weights on disk: large matrices in int8, the others in float16, in safetensors shards below 16 MB.

A folder holds `model.json` (sizes, origin and digests of the files), `vocab.txt` and the shards. The folder of a
fine-tuned model holds `model.json` and the difference from the base that it names: a few megabytes.

In a difference each weight of a matrix moves by -1.5, -0.5, 0.5 or 1.5 times its row's step, two bits a weight; small
tensors keep theirs in float16. Differences are small beside the weights, so coarse ones suffice (after BitDelta, Liu et
al. 2024, arXiv 2402.10193, which stores one bit): of F1 0.866 on 40 mails two bits keep 0.861 in 4.9 MB, one bit 0.849
in 2.5 MB, matrices of rank 16 0.851 in 2.7 MB.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from cinnabar.engine.models.identity import about, base_name, base_of, model_folder, weights_fingerprint
from cinnabar.errors import ModelError


def restore(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns stored weights in float32; of int8 the key `name.scale` has a scale for each row."""
    # The product turns int8 into float32 by itself; a copy in float32 before it took half as long again.
    return {
        name: w * stored[f"{name}.scale"].float() if w.dtype == torch.int8 else w.float()
        for name, w in stored.items()
        if not name.endswith(".scale")
    }


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
    base, stored = base_of(folder), checked_tensors(folder, about(folder)["files"])
    return _with_tags(restore(stored)) if base is None else add_difference(load_weights(base), stored)


def _with_tags(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns a reader's weights with tags of kinds, which say nothing where an earlier version learned none."""
    if "start_slot.weight" in weights:
        width = weights["start_slot.weight"].shape[1]
        for name in ("tag_window", "tag_slot"):
            weights.setdefault(f"{name}.weight", torch.zeros(TAGS, width))
            weights.setdefault(f"{name}.bias", torch.zeros(TAGS))
    return weights


def checked_tensors(folder: Path, files: Mapping[str, str]) -> dict[str, Tensor]:
    """Returns the tensors of these files as they are stored; `files` has the SHA-256 of each by its name.

    Raises ModelError if a file is missing or does not have the expected digest.
    """
    check_files(folder, files)
    stored: dict[str, Tensor] = {}
    for name in sorted(files):
        if name.endswith(".safetensors"):
            try:
                stored |= load_file(folder / name)
            except SafetensorError as error:
                raise ModelError(f"{folder / name}: cannot be read as safetensors: {error}") from error
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


#: Matrices with at least this many values are stored in two bits a value.
PACKED_FROM = 4_096
#: The distance between four even levels, in standard deviations, that has the least error for normally distributed
#: values (Max 1960, Quantizing for minimum distortion).
STEP = 0.9957
_SHIFTS = torch.tensor([0, 2, 4, 6], dtype=torch.uint8)


def difference(base: dict[str, Tensor], tuned: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns the stored difference of `tuned` from `base`, without tensors that are equal.

    A matrix becomes `name.moves`, uint8 with four values a byte, and `name.step`, [rows, 1] float16; any other tensor
    `name.plus`, float16. Raises ValueError if names or shapes differ.
    """
    shapes = {name: w.shape for name, w in base.items()}
    if shapes != {name: w.shape for name, w in tuned.items()}:
        raise ValueError("expected weights of the same names and shapes as those of the base")
    stored: dict[str, Tensor] = {}
    for name, w in tuned.items():
        delta = w.detach().float().cpu() - base[name].float().cpu()
        if not delta.any():
            continue
        if delta.dim() == 2 and delta.numel() >= PACKED_FROM:
            step = (STEP * delta.pow(2).mean(1, keepdim=True).sqrt()).half()
            level = (delta / step.float().clamp(min=1e-12)).floor().clamp(-2, 1) + 2
            stored[f"{name}.moves"], stored[f"{name}.step"] = _pack(level.to(torch.uint8)), step
        else:
            stored[f"{name}.plus"] = delta.half().contiguous()
    return stored


def add_difference(base: dict[str, Tensor], stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns the weights in float32 from this base and a stored difference. Raises KeyError for an unknown name."""
    weights = dict(base)
    for key, value in stored.items():
        name, _, part = key.rpartition(".")
        if part == "plus":
            weights[name] = base[name] + value.float().view_as(base[name])
        elif part == "moves":
            level = _unpack(value, base[name].numel()).view_as(base[name]).float() - 1.5
            weights[name] = base[name] + level * stored[f"{name}.step"].float()
    return weights


def _pack(levels: Tensor) -> Tensor:
    flat = torch.nn.functional.pad(levels.flatten(), (0, -levels.numel() % 4)).view(-1, 4)
    # The shifted values share no bits, so their sum is their union.
    return (flat << _SHIFTS).sum(1).to(torch.uint8)


def _unpack(packed: Tensor, count: int) -> Tensor:
    return ((packed[:, None] >> _SHIFTS) & 3).flatten()[:count]


#: The kinds of value; the tags of a piece are these and, as the last, no value at all.
VALUE_KINDS = (
    "person", "organisation", "place", "job", "date", "time", "duration", "money", "measure", "count", "identifier",
    "work", "thing", "term", "people",
)  # fmt: skip
TAGS = len(VALUE_KINDS) + 1
NO_VALUE = TAGS - 1
