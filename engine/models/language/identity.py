"""The fingerprint of a checkpoint's folder, known without loading it: this file needs no torch."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path

from cinnabar.engine.models.identity import CALIBRATION
from cinnabar.engine.models.language.configuration import MERGES, VOCABULARY
from cinnabar.engine.models.language.families import fingerprint_extras
from cinnabar.engine.models.language.gguf_folder import checkpoint_folder
from cinnabar.engine.models.language.weights_file import stored_tensors
from cinnabar.engine.settings import Precision, in_precision

#: The files besides the weights that a record may depend on.
FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
)
#: Those in place of tokenizer.json.
OTHER_FILES = (VOCABULARY, MERGES, "added_tokens.json")
#: Tensors of fewer bytes are read whole, of others so many bytes at each of `_PLACES` places.
_WHOLE, _SAMPLE, _PLACES = 65_536, 4_096, 4
# Of the text that a fingerprint is the hash of.
_FORMAT = 1


def checkpoint_fingerprint(folder: str | Path) -> str:
    """Names a checkpoint without its calibration: what it says of itself, and samples of every tensor.

    Training changes the values of a tensor everywhere, so samples of it change. A checkpoint of 16 GB takes below a
    second; it is read again only if a file of the folder has another time or size.
    """
    path = checkpoint_folder(folder)
    state = [
        (file.name, file.stat().st_size, file.stat().st_mtime_ns)
        for file in sorted(path.iterdir())
        if file.name in FILES + OTHER_FILES or file.name.endswith((".safetensors", ".safetensors.index.json"))
    ]
    return _fingerprint(path.resolve(), tuple(state), fingerprint_extras(path))


def model_fingerprint(folder: str | Path) -> str:
    """Returns a record's name of the checkpoint: with its calibration, if it has one."""
    weights = checkpoint_fingerprint(folder)
    path = Path(folder) / CALIBRATION
    return hashlib.sha256(weights.encode() + path.read_bytes()).hexdigest()[:16] if path.is_file() else weights


def precise_fingerprint(folder: str | Path, precision: Precision) -> str:
    """Returns a record's name of the checkpoint in this precision."""
    return in_precision(model_fingerprint(folder), precision, same="float32")


@lru_cache(maxsize=8)
def _fingerprint(folder: Path, _: tuple[tuple[str, int, int], ...], told: str) -> str:
    digest = hashlib.sha256(f"{_FORMAT}{told}".encode())
    for name in FILES:
        path = folder / name
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"\n{name} {len(content)}\n".encode() + content)
    for name in OTHER_FILES:
        if (folder / name).is_file():
            digest.update(f"\n{name}\n".encode() + (folder / name).read_bytes())
    for name, tensor in sorted(stored_tensors(folder).items()):
        digest.update(json.dumps([name, tensor.dtype, tensor.shape]).encode())
        size = tensor.end - tensor.begin
        with tensor.path.open("rb") as file:
            if size <= _WHOLE:
                file.seek(tensor.begin)
                digest.update(file.read(size))
                continue
            for place in range(_PLACES):
                file.seek(tensor.begin + (size - _SAMPLE) * place // (_PLACES - 1))
                digest.update(file.read(_SAMPLE))
    return digest.hexdigest()[:16]
