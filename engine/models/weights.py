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
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from cinnabar.engine.models.identity import about, base_name, base_of, model_folder, weights_fingerprint
from cinnabar.engine.models.weight_difference import add_difference
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


#: The kinds of value; the tags of a piece are these and, as the last, no value at all.
VALUE_KINDS = (
    "person", "organisation", "place", "job", "date", "time", "duration", "money", "measure", "count", "identifier",
    "work", "thing", "term", "people",
)  # fmt: skip
TAGS = len(VALUE_KINDS) + 1
NO_VALUE = TAGS - 1
