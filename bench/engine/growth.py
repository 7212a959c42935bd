"""The same model at the size of a larger body: it computes the same logits, and takes as long as a model of that size.

More width, heads and inner cells are zeros, further layers add nothing, and further tokens are never likelier than any
other. So decisions are those of the trained model, and times are those of the larger one.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

import torch

from cinnabar.engine.models.language.decoder import Attention, Decoder
from cinnabar.engine.models.language.traits import Traits


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a body, by their names in `Traits`."""

    width: int
    layers: int
    heads: int
    key_heads: int
    inner: int
    vocabulary: int

    def of(self, traits: Traits) -> Traits:
        """Returns these traits with these sizes."""
        return replace(traits, **asdict(self))


#: The shape of a body of half a billion parameters (Qwen2.5-0.5B, with as many key heads as heads).
HALF_BILLION = Shape(width=896, layers=24, heads=14, key_heads=14, inner=4864, vocabulary=151_936)


def grown(decoder: Decoder, shape: Shape, dtype: torch.dtype = torch.float32, seed: int = 0) -> Decoder:
    """Returns the decoder in a larger shape; the new tokens have the logit 0."""
    old = decoder.traits
    traits = replace(shape.of(old), epsilon=old.epsilon * old.width / shape.width)
    _check(old, traits)
    with torch.device("meta"):
        made = Decoder(traits)
    generator = torch.Generator().manual_seed(seed)
    known = dict(decoder.named_parameters())
    state: dict[str, torch.Tensor] = {}
    for name, like in made.named_parameters():
        own = known.get(name)
        if own is None and not name.endswith(("o_proj.weight", "down_proj.weight")):
            # Numbers of usual size, so that no product is faster than that of a trained layer.
            state[name] = (torch.randn(like.shape, generator=generator) * 0.02).to(dtype)
            continue
        state[name] = torch.zeros(like.shape, dtype=dtype)
        if own is not None:
            # A norm over more numbers, the new ones zero, divides by less.
            scale = math.sqrt(old.width / traits.width) if own.shape == (old.width,) else 1.0
            state[name][tuple(slice(size) for size in own.shape)] = (own.detach() * scale).to(dtype)
    if traits.tied:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    made.load_state_dict(state, assign=True)
    if traits.tied:
        made.lm_head.weight = made.model.embed_tokens.weight
    if traits.qk_norm:
        for part in made.modules():
            # The norms of queries and keys are over a head, which has the same width.
            if isinstance(part, Attention):
                part.q_norm.epsilon = part.k_norm.epsilon = old.epsilon
    return made.eval().requires_grad_(False)


def _check(old: Traits, new: Traits) -> None:
    if new.head_width != old.head_width or new.heads // new.key_heads != old.heads // old.key_heads:
        raise ValueError("expected heads of the same width, and as many of them for each key head")
    if old.qkv_bias or old.output_bias:
        raise ValueError("expected a model without biases")
    for name in ("width", "layers", "heads", "key_heads", "inner", "vocabulary"):
        if getattr(new, name) < getattr(old, name):
            raise ValueError(f"expected {name} of {getattr(old, name)} or more, got {getattr(new, name)}")
