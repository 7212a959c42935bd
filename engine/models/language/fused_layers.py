"""The layers of a decoder in eleven launches each, or some twenty with experts, for packed passes on a GPU.

Matrices of one input are one matrix: queries, keys and values, and gate and up. The modules keep views of it, so that
it takes no memory of its own. What lies between the products is one kernel each (kernels/layer_parts.py), and so are
the steps that bring tokens to their experts and back (kernels/expert_routing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise

import torch
import torch.nn.functional as F
from torch import nn

from cinnabar.engine.models.language.attention import PackedTokens, PagedKernel
from cinnabar.engine.models.language.cache import PagedCache
from cinnabar.engine.models.language.decoder import Attention, Decoder, DecoderLayer, FeedForward, Mixture, routing_of
from cinnabar.engine.models.language.quantised import Float8Linear, float8_product
from cinnabar.kernels.layer_parts import CacheWrites, HeadNorms, HeadShape, LayerParts, Positioned


class FusedLayers:
    """Computes the hidden states of packed tokens; see `fits` for which decoders."""

    def __init__(self, decoder: Decoder, cache: PagedCache, parts: LayerParts) -> None:
        traits = decoder.traits
        self._decoder, self._cache, self._parts = decoder, cache, parts
        rotary = traits.rotary_width or traits.head_width
        self._shape = HeadShape(traits.heads, traits.key_heads, traits.head_width, rotary)
        self._layers = [_Layer(layer) for layer in decoder.model.layers if isinstance(layer, DecoderLayer)]

    @staticmethod
    def fits(decoder: Decoder) -> bool:
        """Returns whether the layers are of one decoder for all families, and their matrices no whole numbers."""
        layers = list(decoder.model.layers)
        if not all(isinstance(layer, DecoderLayer) for layer in layers):
            return False
        kinds = {type(one) for layer in layers for one in _joinable(layer)}
        return kinds in ({nn.Linear}, {Float8Linear})

    def __call__(self, packed: PackedTokens, attend: PagedKernel) -> torch.Tensor:
        """Returns the hidden states [N, D] of packed tokens in tiles; writes their keys and values."""
        decoder, parts, cache = self._decoder, self._parts, self._cache
        traits, rows = decoder.traits, packed.rows
        assert rows is not None
        x = decoder.model.embed_tokens(packed.tokens)
        turn = decoder.rotary(packed.positions[None].clamp_min(0), x.dtype)
        scale = None if turn.scale is None else turn.scale.flatten()
        at = Positioned(turn.cosines[0, 0].contiguous(), turn.sines[0, 0].contiguous(), scale)
        added: torch.Tensor | None = None
        for number, layer in enumerate(self._layers):
            x, normed = parts.add_norm(x, added, layer.before.weight, layer.before.epsilon)
            keys, values = cache.layer(number)
            written = CacheWrites(keys, values, packed.places)
            q = parts.queries(layer.projected(normed), self._shape, at, layer.norms, written)
            seen = attend(q, keys, values, rows, cache.size, traits.visibility, traits.block)
            x, normed = parts.add_norm(x, layer.out(seen.flatten(1)), layer.behind.weight, layer.behind.epsilon)
            added = layer.inner(normed, parts)
        last = decoder.model.norm
        return parts.add_norm(x, added, last.weight, last.epsilon)[1]


class _Layer:
    """A layer with joined matrices."""

    def __init__(self, layer: DecoderLayer) -> None:
        own = layer.self_attn
        self.before, self.behind = layer.input_layernorm, layer.post_attention_layernorm
        self.out = own.o_proj
        self.projected = _fuse([own.q_proj, own.k_proj, own.v_proj])
        self.norms: HeadNorms | None = None
        if own.normed:
            self.norms = HeadNorms(own.q_norm.weight, own.k_norm.weight, own.q_norm.epsilon)
        self.inner = _Mixed(layer.mlp) if isinstance(layer.mlp, Mixture) else _Gated(layer.mlp)


class _Gated:
    """A feed-forward net with joined matrices."""

    def __init__(self, net: nn.Module) -> None:
        assert isinstance(net, FeedForward)
        self._gate_up, self._down = _fuse([net.gate_proj, net.up_proj]), net.down_proj

    def __call__(self, x: torch.Tensor, parts: LayerParts) -> torch.Tensor:
        made: torch.Tensor = self._down(parts.silu_gate(self._gate_up(x)))
        return made


class _Mixed:
    """A mixture of experts, each of which meets its tokens in one product."""

    def __init__(self, mixture: Mixture) -> None:
        gate = mixture.gate
        self._router, self._bias = gate.weight.float(), None if gate.expert_bias is None else gate.expert_bias.float()
        self._routing = routing_of(gate.traits)
        self._experts = mixture.experts
        self._shared = None if mixture.shared_experts is None else _Gated(mixture.shared_experts)

    def __call__(self, x: torch.Tensor, parts: LayerParts) -> torch.Tensor:
        routing = parts.routing
        chosen, weights = routing.chosen(F.linear(x.float(), self._router), self._bias, self._routing)
        placed = routing.place(chosen, self._routing.count)
        both = self._experts.gate_up_proj(x.index_select(0, placed.token), placed.ends)
        made = self._experts.down_proj(parts.silu_gate(both), placed.ends)
        summed = routing.sum_weighted(made, placed, weights)
        return summed if self._shared is None else summed + self._shared(x, parts)


def _joinable(layer: nn.Module) -> list[nn.Module]:
    assert isinstance(layer, DecoderLayer)
    own: Attention = layer.self_attn
    found: list[nn.Module] = [own.q_proj, own.k_proj, own.v_proj, own.o_proj]
    net = layer.mlp.shared_experts if isinstance(layer.mlp, Mixture) else layer.mlp
    if isinstance(net, FeedForward):
        found += [net.gate_proj, net.up_proj, net.down_proj]
    return found


#: The product of [N, I] with a matrix.
Product = Callable[[torch.Tensor], torch.Tensor]


@torch.no_grad()
def _fuse(layers: Sequence[nn.Linear | Float8Linear]) -> Product:
    """Returns the product with layers of one input as one matrix, of which the layers keep views."""
    biases = [layer.bias for layer in layers if layer.bias is not None]
    bias = _one(biases) if biases else None
    exact = [layer for layer in layers if isinstance(layer, nn.Linear)]
    if exact:
        return partial(F.linear, weight=_one([layer.weight for layer in exact]), bias=bias)
    short = [layer for layer in layers if isinstance(layer, Float8Linear)]
    values, scales = _one([layer.values for layer in short]), _one([layer.scales for layer in short])
    return partial(float8_product, values=values, scales=scales, bias=bias)


def _one(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Returns tensors one behind the other as one; they become views of it, and may be already."""
    ends = [0, *accumulate(len(part) for part in parts)]
    first, shape = parts[0], (ends[-1], *parts[0].shape[1:])
    begin, row = first.storage_offset(), first.stride(0)
    if len({part.untyped_storage().data_ptr() for part in parts}) == 1 and all(
        part.storage_offset() == begin + row * at for part, at in zip(parts, ends, strict=False)
    ):
        return first.as_strided(shape, first.stride())
    whole = torch.cat(tuple(parts))
    for part, (start, end) in zip(parts, pairwise(ends), strict=True):
        part.data = whole[start:end]
    return whole
