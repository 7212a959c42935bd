"""Models by name or folder."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path

from cinnabar.engine.models import weights
from cinnabar.engine.models.backend import device_of
from cinnabar.engine.models.identity import (
    SHIPPED,
    about,
    base_of,
    fingerprint_of,
    model_folder,
    weights_fingerprint,
)
from cinnabar.engine.models.int8_matmul import supports_int8
from cinnabar.engine.models.mapped_weights import WithoutDrawing, mapped_module
from cinnabar.engine.models.reader.calibration import load_calibration
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.models.reader.network.network import Network, Size
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS, PriorConfig
from cinnabar.engine.models.sentences.encoder import load_sentence_encoder
from cinnabar.engine.settings import Precision, reading_precision
from cinnabar.errors import ModelError


def load_model(
    name: str | Path = "default",
    device: str = "auto",
    config: PriorConfig = DEFAULT_PRIORS,
    precision: Precision | None = None,
) -> ExtractiveReader:
    """Returns the model of this name or folder, on this device, with the rules and weights of `config`.

    Without a `precision` it has the one for reading (engine/settings.py).
    """
    return _load(name, device, config, precision or reading_precision())


@lru_cache(maxsize=2)
def _load(name: str | Path, device: str, config: PriorConfig, precision: Precision) -> ExtractiveReader:
    folder = model_folder(name)
    calibration = load_calibration(folder, weights_fingerprint(folder))
    sentences = partial(load_sentence_encoder, precision)
    fingerprint, place = fingerprint_of(name), device_of(device)
    # In integers or, on a machine without fast ones, in float32: the states differ in their last digits.
    integers = precision == "int8" and supports_int8(place)
    # A GPU has a copy of its own. Weights that were learned from a user's documents stay in their folder.
    shared = place.type == "cpu" and folder == SHIPPED
    network, wordpieces = _mapped_network(folder, integers) if shared else load_network(folder)
    return ExtractiveReader(network, wordpieces, fingerprint, place, calibration, config, precision, sentences)


def _mapped_network(folder: Path, integers: bool) -> tuple[Network, WordPieces]:
    """The network of a whole model with weights that processes share, and its word pieces."""
    stated = about(folder)
    weights.check_files(folder, stated["files"])
    network = mapped_module(
        (weights_fingerprint(folder), stated["size"]),
        integers,
        lambda: Network(Size(**stated["size"])),
        lambda: load_network(folder)[0],
    )
    return network, WordPieces(folder / "vocab.txt")


def load_network(folder: Path) -> tuple[Network, WordPieces]:
    """The network and the word pieces of a model's folder."""
    try:
        with WithoutDrawing():
            network = Network(Size(**about(folder)["size"]))
        network.load_state_dict(weights.load_weights(folder), assign=True)
    except (TypeError, RuntimeError, KeyError) as error:
        raise ModelError(f"{folder}: the weights do not fit this version: {error}") from error
    return network, WordPieces(_whole(folder) / "vocab.txt")


def _whole(folder: Path) -> Path:
    """The whole model at the bottom of a model's bases."""
    base = base_of(folder)
    return folder if base is None else _whole(base)
