"""The network of a family, made by its traits."""

from __future__ import annotations

from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.diffusion_gemma import DiffusionGemma
from cinnabar.engine.models.language.traits import Traits


def network_of(traits: Traits) -> Decoder:
    """Returns a network of these traits with fresh weights."""
    return DiffusionGemma(traits) if traits.noise == "uniform" else Decoder(traits)
