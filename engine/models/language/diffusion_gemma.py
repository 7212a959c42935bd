"""The network of DiffusionGemma, whose encoder and decoder are one: they share all weights but a scalar by layer.

The encoder reads the text causally. The decoder reads a canvas of tokens, in which each position sees the whole canvas
and the text before it. Tokens of several texts go through all matrices as one list, and each text attends by itself: so
no row is padded, and no text depends on another. The names of the parameters are those of the checkpoints' decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import torch
import torch.nn.functional as F
from torch import nn

from cinnabar.engine.models.language.decoder import (
    Body,
    Decoder,
    Experts,
    FeedForward,
    RmsNorm,
    Rotary,
    Turn,
    rotate_halves,
)
from cinnabar.engine.models.language.memory import LOGITS
from cinnabar.engine.models.language.rounded import RoundedEmbedding
from cinnabar.engine.models.language.traits import ExpertTraits, LocalTraits, Traits

#: Keys and values [H, S, W] of the last S positions that one layer has read.
Held = tuple[torch.Tensor, torch.Tensor]
#: Attention of queries, keys and values [H, N, W] of all texts of a pass; returns [H, N, W].
_Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True)
class PassText:
    """The part of a text that a pass reads: tokens [T] int64 from position `begin` on.

    opened: the first position of the canvas, the end of the part if it has none. held: keys and values by layer of the
    positions before `begin`, at least those that the part sees. expected: [C, D], see
    `DiffusionGemma.expected_embeddings`; None in the first pass of a canvas.
    """

    tokens: torch.Tensor
    begin: int
    opened: int
    held: Sequence[Held] = ()
    expected: torch.Tensor | None = None

    @property
    def positions(self) -> torch.Tensor:
        """The positions of the tokens in their text: [T] int64."""
        return torch.arange(self.begin, self.begin + len(self.tokens), device=self.tokens.device)

    def seen(self, first: int, window: int | None) -> torch.Tensor | None:
        """[T, S] bool, whether each position sees each one from `first` to the end; None if all see all."""
        if window is None and self.begin >= self.opened:
            return None
        at = self.positions[:, None]
        of = torch.arange(first, self.begin + len(self.tokens), device=at.device)
        seen = (of <= at) | (at >= self.opened)
        # A canvas sees the window of text before its first position, and all of itself.
        return seen if window is None else seen & (of > at.clamp_max(self.opened) - window)


def rms_norm(x: torch.Tensor, epsilon: float, weight: torch.Tensor | None = None) -> torch.Tensor:
    """x: [..., D]; returns it divided by the root of its mean square, times the weight, all in float32."""
    made = x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + epsilon)
    return (made if weight is None else made * weight.float()).to(x.dtype)


class Norm(RmsNorm):
    """The RMS norm whose scale is applied in float32."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., D]; returns the same shape and dtype."""
        return rms_norm(x, self.epsilon, self.weight)


def gelu(x: torch.Tensor) -> torch.Tensor:
    """Returns GELU by its approximation with tanh, which the family was trained with."""
    return F.gelu(x, approximate="tanh")


class GemmaRouter(nn.Module):
    """Chooses experts by softmax, with a factor for each expert."""

    def __init__(self, traits: Traits, experts: ExpertTraits) -> None:
        super().__init__()
        self.width, self.epsilon, self.chosen = traits.width, traits.epsilon, experts.chosen
        self.proj = nn.Linear(traits.width, experts.count, bias=False)
        self.scale = nn.Parameter(torch.ones(traits.width))
        self.per_expert_scale = nn.Parameter(torch.ones(experts.count))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x: [N, D]; returns (experts [N, K] int64, their weights [N, K])."""
        scores = self.proj(rms_norm(x, self.epsilon) * self.scale * self.width**-0.5)
        weights, chosen = scores.softmax(-1, dtype=torch.float32).topk(self.chosen, -1)
        return chosen, weights / weights.sum(-1, keepdim=True) * self.per_expert_scale[chosen]


class GemmaAttention(nn.Module):
    """Attention of one layer; in layers without a window the values are the keys before their norm."""

    def __init__(self, traits: Traits, local: LocalTraits | None) -> None:
        super().__init__()
        sizes = local or traits
        self.heads, self.key_heads, self.head = traits.heads, sizes.key_heads, sizes.head_width
        self.epsilon = traits.epsilon
        self.q_proj = nn.Linear(traits.width, self.heads * self.head, bias=False)
        self.k_proj = nn.Linear(traits.width, self.key_heads * self.head, bias=False)
        self.v_proj = None if local is None else nn.Linear(traits.width, self.key_heads * self.head, bias=False)
        self.o_proj = nn.Linear(self.heads * self.head, traits.width, bias=False)
        self.q_norm, self.k_norm = Norm(self.head, traits.epsilon), Norm(self.head, traits.epsilon)

    def forward(self, x: torch.Tensor, turn: Turn, attend: _Attend) -> torch.Tensor:
        """x: [N, D]; returns the same shape."""
        q = self.q_norm(self.q_proj(x).view(len(x), -1, self.head))
        k = self.k_proj(x).view(len(x), -1, self.head)
        v = k if self.v_proj is None else self.v_proj(x).view(len(x), -1, self.head)
        v = rms_norm(v, self.epsilon).transpose(0, 1)
        q, k = (
            rotate_halves(one.transpose(0, 1)[None], turn.cosines, turn.sines)[0] for one in (q, self.k_norm(k))
        )
        made: torch.Tensor = self.o_proj(attend(q, k, v).transpose(0, 1).reshape(len(x), -1))
        return made


class GemmaLayer(nn.Module):
    """Attention, then a feed-forward net beside experts, with norms before and behind each."""

    layer_scalar: torch.Tensor
    encoder_scalar: torch.Tensor

    def __init__(self, traits: Traits, local: LocalTraits | None) -> None:
        super().__init__()
        assert traits.experts is not None
        experts = traits.experts
        self.local = local
        self.self_attn = GemmaAttention(traits, local)
        self.mlp = FeedForward(traits.width, traits.inner, gelu)
        self.router = GemmaRouter(traits, experts)
        self.experts = Experts(traits.width, experts.count, experts.inner, gelu)
        self.input_layernorm = Norm(traits.width, traits.epsilon)
        self.post_attention_layernorm = Norm(traits.width, traits.epsilon)
        self.pre_feedforward_layernorm = Norm(traits.width, traits.epsilon)
        self.post_feedforward_layernorm = Norm(traits.width, traits.epsilon)
        self.post_feedforward_layernorm_1 = Norm(traits.width, traits.epsilon)
        self.post_feedforward_layernorm_2 = Norm(traits.width, traits.epsilon)
        self.pre_feedforward_layernorm_2 = Norm(traits.width, traits.epsilon)
        self.register_buffer("layer_scalar", torch.ones(1))
        self.register_buffer("encoder_scalar", torch.ones(1))

    def forward(self, x: torch.Tensor, turn: Turn, attend: _Attend, canvas: torch.Tensor) -> torch.Tensor:
        """x: [N, D]; canvas: [N] bool, the tokens that lie in a canvas; returns the shape of x."""
        x = x + self.post_attention_layernorm(self.self_attn(self.input_layernorm(x), turn, attend))
        routed = self.experts(self.pre_feedforward_layernorm_2(x), *self.router(x))
        both = self.post_feedforward_layernorm_1(self.mlp(self.pre_feedforward_layernorm(x)))
        both = both + self.post_feedforward_layernorm_2(routed)
        x = x + self.post_feedforward_layernorm(both)
        return x * torch.where(canvas, self.layer_scalar, self.encoder_scalar)[:, None]


class SelfConditioning(FeedForward):
    """Adds to the canvas the embeddings that the last pass expected."""

    def __init__(self, traits: Traits) -> None:
        super().__init__(traits.width, traits.inner, gelu)
        self.pre_norm, self.epsilon = Norm(traits.width, traits.epsilon), traits.epsilon

    def forward(self, x: torch.Tensor, expected: torch.Tensor | None = None) -> torch.Tensor:
        """x, expected: [C, D]; returns the same shape."""
        return rms_norm(x if expected is None else x + super().forward(self.pre_norm(expected)), self.epsilon)


class GemmaBody(Body):
    """Embedding, layers, the last norm, and what conditions a canvas on the pass before."""

    def __init__(self, traits: Traits) -> None:
        local = traits.local
        assert local is not None
        layers = (GemmaLayer(traits, local if sliding else None) for sliding in local.sliding)
        super().__init__(traits, layers, Norm(traits.width, traits.epsilon))
        self.self_conditioning = SelfConditioning(traits)


class DiffusionGemma(Decoder):
    """Tokens of texts and their canvases to hidden states, hidden states to logits."""

    model: GemmaBody

    def __init__(self, traits: Traits) -> None:
        super().__init__(traits, GemmaBody(traits))
        local = traits.local
        assert local is not None and traits.softcap is not None
        self.softcap = traits.softcap
        self.local_rotary = Rotary(
            replace(traits, head_width=local.head_width, rope_theta=local.rope_theta, rope={}, rotary_width=None)
        )

    def read(self, readings: Sequence[PassText]) -> tuple[list[torch.Tensor], list[list[Held]]]:
        """Returns (hidden states [T, D] of each part, its keys and values [H, T, W] by layer).

        On a CPU one part is read after the other: products of other shapes round otherwise, and what a canvas expects
        hands that on from pass to pass (in a random model other records came of it). A canvas of 256 tokens keeps a
        CPU busy by itself.
        """
        if self.device.type == "cpu" and len(readings) > 1:
            each = [self.read([reading]) for reading in readings]
            return [states for (states,), _ in each], [made for _, (made,) in each]
        sizes = [len(reading.tokens) for reading in readings]
        at = torch.cat([reading.positions for reading in readings])
        canvas = torch.cat([reading.positions >= reading.opened for reading in readings])
        x = torch.cat([self._embed(reading) for reading in readings])
        turns = [rotary(at[None], x.dtype) for rotary in (self.rotary, self.local_rotary)]
        masks: dict[tuple[int, int, bool], torch.Tensor | None] = {}
        made: list[list[Held]] = [[] for _ in readings]
        for number, layer in enumerate(self.model.layers):
            assert isinstance(layer, GemmaLayer)
            window = None if layer.local is None else layer.local.window
            attend = _attention(readings, sizes, number, window, masks, made)
            x = layer(x, turns[0 if window is None else 1], attend, canvas)
        return list(torch.split(self.model.norm(x), sizes)), made

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """hidden: [..., D]; returns [..., V] float32."""
        return (super().logits(hidden).float() / self.softcap).tanh() * self.softcap

    def expected_embeddings(self, hidden: torch.Tensor, temperature: float) -> torch.Tensor:
        """Returns the mean embeddings [C, D] of the tokens that these hidden states [C, D] of a canvas expect.

        The logits of a whole canvas would take 268 MB (256 positions of 262,144 tokens), so they are made in slices.
        """
        means = []
        for part in torch.split(hidden, max(LOGITS // self.traits.vocabulary, 1)):
            shares = (self.logits(part) / temperature).softmax(-1)
            means.append(self._mix(shares))
        made: torch.Tensor = torch.cat(means) * self._scale
        return made

    @property
    def _scale(self) -> torch.Tensor:
        # Rounded as the weights are: in bfloat16 the root of 2,816 is 53.
        return torch.tensor(self.traits.width**0.5, dtype=self.model.norm.weight.dtype, device=self.device)

    def _mix(self, shares: torch.Tensor) -> torch.Tensor:
        embedding = self.model.embed_tokens
        if isinstance(embedding, RoundedEmbedding):
            return embedding.mix(shares)
        return shares.to(embedding.weight.dtype) @ embedding.weight

    def _embed(self, reading: PassText) -> torch.Tensor:
        x: torch.Tensor = self.model.embed_tokens(reading.tokens) * self._scale
        text = max(reading.opened - reading.begin, 0)
        if text == len(x):
            return x
        return torch.cat([x[:text], self.model.self_conditioning(x[text:], reading.expected)])


def _attention(
    readings: Sequence[PassText],
    sizes: Sequence[int],
    layer: int,
    window: int | None,
    masks: dict[tuple[int, int, bool], torch.Tensor | None],
    made: list[list[Held]],
) -> _Attend:
    """Returns the attention of a layer, each text by itself; it adds the keys and values of each to `made`."""

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        parts = []
        for number, (reading, size, end) in enumerate(zip(readings, sizes, accumulate(sizes), strict=True)):
            part = slice(end - size, end)
            keys, values = k[:, part], v[:, part]
            made[number].append((keys, values))
            if reading.held:
                keys = torch.cat([reading.held[layer][0], keys], 1)
                values = torch.cat([reading.held[layer][1], values], 1)
            first = reading.begin + size - keys.shape[1]
            place = number, first, window is None
            if place not in masks:
                masks[place] = reading.seen(first, window)
            shared = len(q) // len(keys)
            keys, values = keys.repeat_interleave(shared, 0), values.repeat_interleave(shared, 0)
            mask = masks[place]
            # As many dimensions as the fast kernels take.
            out = F.scaled_dot_product_attention(q[None, :, part], keys[None], values[None], attn_mask=mask, scale=1.0)
            parts.append(out[0])
        return torch.cat(parts, 1)

    return attend
