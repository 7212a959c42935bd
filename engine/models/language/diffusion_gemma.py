"""The network of DiffusionGemma, whose encoder and decoder are one: they share all weights but a scalar by layer.

The encoder reads the text causally. The decoder reads a canvas of tokens, in which each position sees the whole canvas
and the text before it. The names of the parameters are those of the checkpoints' decoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from cinnabar.engine.models.language.experts import FeedForward

#: Keys and values [R, H, S, W] of one layer.
Held = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True, slots=True)
class GemmaTraits:
    """The sizes of a DiffusionGemma.

    sliding: by layer, whether it sees only the last `window` positions. head_width, key_heads: of sliding layers;
    full_head_width, full_key_heads: of the others. rotary_share: the share of the angles that turn in full layers.
    """

    vocabulary: int
    width: int
    heads: int
    key_heads: int
    full_key_heads: int
    head_width: int
    full_head_width: int
    inner: int
    experts: int
    chosen: int
    expert_inner: int
    window: int
    sliding: tuple[bool, ...]
    rope_theta: float = 10_000.0
    full_rope_theta: float = 1_000_000.0
    rotary_share: float = 0.25
    epsilon: float = 1e-6
    softcap: float = 30.0


def normed(x: torch.Tensor, epsilon: float, weight: torch.Tensor | None = None) -> torch.Tensor:
    """x: [..., D]; returns it divided by the root of its mean square, times the weight, all in float32."""
    made = x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + epsilon)
    return (made if weight is None else made * weight.float()).to(x.dtype)


class Norm(nn.Module):
    """The RMS norm with a scale."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., D]; returns the same shape."""
        return normed(x, self.epsilon, self.weight)


def gelu(x: torch.Tensor) -> torch.Tensor:
    """Returns GELU by its approximation with tanh, which the family was trained with."""
    return F.gelu(x, approximate="tanh")


class GemmaRouter(nn.Module):
    """Chooses experts by softmax, with a factor for each expert."""

    def __init__(self, traits: GemmaTraits) -> None:
        super().__init__()
        self.traits = traits
        self.proj = nn.Linear(traits.width, traits.experts, bias=False)
        self.scale = nn.Parameter(torch.ones(traits.width))
        self.per_expert_scale = nn.Parameter(torch.ones(traits.experts))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x: [N, D]; returns (experts [N, K] int64, their weights [N, K])."""
        scores = self.proj(normed(x, self.traits.epsilon) * self.scale * self.traits.width**-0.5)
        weights, chosen = scores.softmax(-1, dtype=torch.float32).topk(self.traits.chosen, -1)
        return chosen, weights / weights.sum(-1, keepdim=True) * self.per_expert_scale[chosen]


class GemmaExperts(nn.Module):
    """The experts, whose matrices are stacked."""

    def __init__(self, traits: GemmaTraits) -> None:
        super().__init__()
        count, width, inner = traits.experts, traits.width, traits.expert_inner
        self.gate_up_proj = nn.Parameter(torch.zeros(count, 2 * inner, width))
        self.down_proj = nn.Parameter(torch.zeros(count, width, inner))

    def forward(self, x: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """x: [N, D]; chosen, weights: [N, K]; returns [N, D]."""
        made = torch.zeros_like(x)
        for expert in sorted(set(chosen.flatten().tolist())):
            token, place = torch.where(chosen == expert)
            gate, up = F.linear(x[token], self.gate_up_proj[expert]).chunk(2, -1)
            out = F.linear(gelu(gate) * up, self.down_proj[expert])
            made.index_add_(0, token, (out * weights[token, place, None]).to(made.dtype))
        return made


class GemmaAttention(nn.Module):
    """Attention of one layer; in full layers the values are the keys before their norm."""

    def __init__(self, traits: GemmaTraits, sliding: bool) -> None:
        super().__init__()
        self.traits, self.sliding = traits, sliding
        self.head = traits.head_width if sliding else traits.full_head_width
        self.key_heads = traits.key_heads if sliding else traits.full_key_heads
        self.q_proj = nn.Linear(traits.width, traits.heads * self.head, bias=False)
        self.k_proj = nn.Linear(traits.width, self.key_heads * self.head, bias=False)
        self.v_proj = nn.Linear(traits.width, self.key_heads * self.head, bias=False) if sliding else None
        self.o_proj = nn.Linear(traits.heads * self.head, traits.width, bias=False)
        self.q_norm, self.k_norm = Norm(self.head, traits.epsilon), Norm(self.head, traits.epsilon)

    def turned(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """x: [R, T, H, W]; returns it turned by the angles of its positions [T]."""
        steps = torch.arange(0, self.head, 2, device=x.device, dtype=torch.float32) / self.head
        theta = self.traits.rope_theta if self.sliding else self.traits.full_rope_theta
        frequencies = 1.0 / theta**steps
        if not self.sliding:
            frequencies[int(self.traits.rotary_share * self.head // 2) :] = 0
        angles = (positions[:, None].float() * frequencies).repeat(1, 2)[:, None]
        first, second = x.chunk(2, -1)
        return x * angles.cos().to(x.dtype) + torch.cat([-second, first], -1) * angles.sin().to(x.dtype)

    def forward(
        self, x: torch.Tensor, positions: torch.Tensor, seen: torch.Tensor, held: Held | None
    ) -> tuple[torch.Tensor, Held]:
        """x: [R, T, D]; seen: [T, S] bool; returns (the same shape, keys and values of all S places)."""
        rows, length, _ = x.shape
        q = self.turned(self.q_norm(self.q_proj(x).view(rows, length, -1, self.head)), positions).transpose(1, 2)
        k = self.k_proj(x).view(rows, length, -1, self.head)
        v = k if self.v_proj is None else self.v_proj(x).view(rows, length, -1, self.head)
        v = normed(v, self.traits.epsilon).transpose(1, 2)
        k = self.turned(self.k_norm(k), positions).transpose(1, 2)
        if held is not None:
            k, v = torch.cat([held[0], k], 2), torch.cat([held[1], v], 2)
        shared = self.traits.heads // self.key_heads
        wide_k, wide_v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        out = F.scaled_dot_product_attention(q, wide_k, wide_v, attn_mask=seen, scale=1.0)
        return self.o_proj(out.transpose(1, 2).reshape(rows, length, -1)), (k, v)


class GemmaLayer(nn.Module):
    """Attention, then a feed-forward net beside experts, with norms before and behind each."""

    layer_scalar: torch.Tensor
    encoder_scalar: torch.Tensor

    def __init__(self, traits: GemmaTraits, sliding: bool) -> None:
        super().__init__()
        self.self_attn = GemmaAttention(traits, sliding)
        self.mlp = FeedForward(traits.width, traits.inner, gelu)
        self.router, self.experts = GemmaRouter(traits), GemmaExperts(traits)
        self.input_layernorm = Norm(traits.width, traits.epsilon)
        self.post_attention_layernorm = Norm(traits.width, traits.epsilon)
        self.pre_feedforward_layernorm = Norm(traits.width, traits.epsilon)
        self.post_feedforward_layernorm = Norm(traits.width, traits.epsilon)
        self.post_feedforward_layernorm_1 = Norm(traits.width, traits.epsilon)
        self.post_feedforward_layernorm_2 = Norm(traits.width, traits.epsilon)
        self.pre_feedforward_layernorm_2 = Norm(traits.width, traits.epsilon)
        self.register_buffer("layer_scalar", torch.ones(1))
        self.register_buffer("encoder_scalar", torch.ones(1))

    def forward(
        self, x: torch.Tensor, positions: torch.Tensor, opened: int, seen: torch.Tensor, held: Held | None
    ) -> tuple[torch.Tensor, Held]:
        """The arguments are those of `GemmaAttention`; opened: the first position of the canvas."""
        added, held = self.self_attn(self.input_layernorm(x), positions, seen, held)
        x = x + self.post_attention_layernorm(added)
        flat = x.flatten(0, -2)
        routed = self.experts(self.pre_feedforward_layernorm_2(flat), *self.router(flat)).view(x.shape)
        both = self.post_feedforward_layernorm_1(self.mlp(self.pre_feedforward_layernorm(x)))
        both = both + self.post_feedforward_layernorm_2(routed)
        x = x + self.post_feedforward_layernorm(both)
        return x * torch.where(positions >= opened, self.layer_scalar, self.encoder_scalar)[:, None], held


class SelfConditioning(FeedForward):
    """Adds to the canvas the embeddings that the last pass expected."""

    def __init__(self, traits: GemmaTraits) -> None:
        super().__init__(traits.width, traits.inner, gelu)
        self.pre_norm, self.epsilon = Norm(traits.width, traits.epsilon), traits.epsilon

    def forward(self, x: torch.Tensor, expected: torch.Tensor | None = None) -> torch.Tensor:
        """x, expected: [R, T, D]; returns the same shape."""
        return normed(x if expected is None else x + super().forward(self.pre_norm(expected)), self.epsilon)


class DiffusionGemma(nn.Module):
    """Tokens of a text, or of a text and its canvas, to logits."""

    def __init__(self, traits: GemmaTraits) -> None:
        super().__init__()
        self.traits = traits
        self.embed_tokens = nn.Embedding(traits.vocabulary, traits.width)
        self.layers = nn.ModuleList(GemmaLayer(traits, sliding) for sliding in traits.sliding)
        self.norm = Norm(traits.width, traits.epsilon)
        self.self_conditioning = SelfConditioning(traits)

    def forward(
        self,
        tokens: torch.Tensor,
        begin: int,
        opened: int,
        held: list[Held] | None = None,
        last: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, list[Held]]:
        """Returns (logits [R, T, V] float32, keys and values by layer).

        tokens: [R, T] at positions from `begin` on. opened: the first position of the canvas. held: keys and values of
        the positions before `begin`. last: [R, C, V], the logits of the canvas in the pass before.
        """
        at = torch.arange(begin, begin + tokens.shape[1], device=tokens.device)
        scale = torch.tensor(self.traits.width**0.5, dtype=self.embed_tokens.weight.dtype)
        x = self.embed_tokens(tokens) * scale
        text = max(opened - begin, 0)
        if text < tokens.shape[1]:
            expected = None
            if last is not None:
                expected = last.softmax(-1, dtype=torch.float32).to(x.dtype) @ self.embed_tokens.weight * scale
            x = torch.cat([x[:, :text], self.self_conditioning(x[:, text:], expected)], 1)
        made = []
        for number, layer in enumerate(self.layers):
            seen = self.seen(at, opened, self.traits.sliding[number])
            x, kept = layer(x, at, opened, seen, None if held is None else held[number])
            made.append(kept)
        logits = (self.norm(x) @ self.embed_tokens.weight.T).float()
        return (logits / self.traits.softcap).tanh() * self.traits.softcap, made

    def seen(self, at: torch.Tensor, opened: int, sliding: bool) -> torch.Tensor:
        """[T, S] bool, whether the positions `at` [T] see each position up to the last of them."""
        of = torch.arange(int(at[-1]) + 1, device=at.device)
        found = (of <= at[:, None]) | (at[:, None] >= opened)
        # A canvas sees the window of text before its first position, and all of itself.
        return found & (of > at.clamp_max(opened)[:, None] - self.traits.window) if sliding else found
