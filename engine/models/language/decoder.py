"""One transformer decoder for all families but DiffusionGemma, which differ in their traits only.

Pre-norm layers with RMS norms (arXiv 1910.07467), grouped-query attention (2305.13245) with rotary positions
(2104.09864) and a gated feed-forward net (2002.05202) or experts. Block-causal attention follows block diffusion
(2503.09573): a position sees all positions up to the end of its own block. The names of the parameters are those of
Qwen3 in `transformers`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import nn

from cinnabar.engine.models.int8_matmul import project
from cinnabar.engine.models.language.attention import Attend
from cinnabar.engine.models.language.expert_routing import choose_experts, place_pairs, sum_weighted
from cinnabar.engine.models.language.traits import ExpertTraits, Traits


class RmsNorm(nn.Module):
    """Normalises by the root of the mean square, in float32."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., D]; returns the same shape and dtype."""
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.epsilon)).to(x.dtype)


class Attention(nn.Module):
    """Grouped-query attention with rotary positions."""

    def __init__(self, traits: Traits) -> None:
        super().__init__()
        self.heads, self.key_heads, self.head_width = traits.heads, traits.key_heads, traits.head_width
        width, bias = traits.width, traits.qkv_bias
        self.q_proj = nn.Linear(width, traits.heads * traits.head_width, bias=bias)
        self.k_proj = nn.Linear(width, traits.key_heads * traits.head_width, bias=bias)
        self.v_proj = nn.Linear(width, traits.key_heads * traits.head_width, bias=bias)
        self.o_proj = nn.Linear(traits.heads * traits.head_width, width, bias=traits.output_bias)
        if traits.qk_norm:
            self.q_norm = RmsNorm(traits.head_width, traits.epsilon)
            self.k_norm = RmsNorm(traits.head_width, traits.epsilon)
        self.normed = traits.qk_norm

    def forward(
        self,
        x: torch.Tensor,
        turn: Turn,
        attend: Attend,
        layer: int,
    ) -> torch.Tensor:
        """x: [R, T, D]; returns [R, T, D]."""
        rows, length, _ = x.shape
        q, k, v = project(x, self.q_proj, self.k_proj, self.v_proj)
        q = q.view(rows, length, self.heads, self.head_width)
        k = k.view(rows, length, self.key_heads, self.head_width)
        v = v.view(rows, length, self.key_heads, self.head_width).transpose(1, 2)
        if self.normed:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k = (rotate_halves(one.transpose(1, 2), turn.cosines, turn.sines) for one in (q, k))
        out = attend(q, k, v, layer)
        made: torch.Tensor = self.o_proj(out.transpose(1, 2).reshape(rows, length, -1))
        return made


class DecoderLayer(nn.Module):
    """Attention and feed-forward net, or experts, each behind a norm and beside a residual path."""

    def __init__(self, traits: Traits, layer: int) -> None:
        super().__init__()
        self.input_layernorm = RmsNorm(traits.width, traits.epsilon)
        self.self_attn = Attention(traits)
        self.post_attention_layernorm = RmsNorm(traits.width, traits.epsilon)
        self.mlp: nn.Module = FeedForward(traits.width, traits.inner)
        if traits.experts is not None and layer >= traits.experts.dense:
            self.mlp = Mixture(traits.width, traits.experts)

    def forward(
        self,
        x: torch.Tensor,
        turn: Turn,
        attend: Attend,
        layer: int,
    ) -> torch.Tensor:
        """The arguments are those of `Attention`."""
        x = x + self.self_attn(self.input_layernorm(x), turn, attend, layer)
        added: torch.Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return added


class Body(nn.Module):
    """Embedding, layers and the last norm."""

    def __init__(self, traits: Traits, layers: Iterable[nn.Module] | None = None, norm: RmsNorm | None = None) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(traits.vocabulary, traits.width)
        if layers is None:
            layers = (DecoderLayer(traits, layer) for layer in range(traits.layers))
        self.layers = nn.ModuleList(layers)
        self.norm = norm or RmsNorm(traits.width, traits.epsilon)


class Decoder(nn.Module):
    """A language model: tokens to hidden states, hidden states to logits."""

    def __init__(self, traits: Traits, body: Body | None = None) -> None:
        super().__init__()
        self.traits = traits
        self.model = body or Body(traits)
        self.lm_head = nn.Linear(traits.width, traits.vocabulary, bias=False)
        if traits.tied:
            self.lm_head.weight = self.model.embed_tokens.weight
        self.rotary = Rotary(traits)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.model.norm.weight.device

    def forward(self, tokens: torch.Tensor, positions: torch.Tensor, attend: Attend) -> torch.Tensor:
        """Returns the hidden states [R, T, D] of tokens at these positions, both [R, T] int64.

        A position of NOWHERE pads a row. `attend` decides which places each token sees.
        """
        x = self.model.embed_tokens(tokens)
        turn = self.rotary(positions.clamp_min(0), x.dtype)
        for layer, part in enumerate(self.model.layers):
            x = part(x, turn, attend, layer)
        last: torch.Tensor = self.model.norm(x)
        return last

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """hidden: [..., D]; returns [..., V] in the dtype of the weights."""
        scores: torch.Tensor = self.lm_head(hidden)
        return scores


class Turn(NamedTuple):
    """What queries and keys get of their positions: cosines and sines of angles, [R, 1, T, W], W the rotary width."""

    cosines: torch.Tensor
    sines: torch.Tensor


class Rotary(nn.Module):
    """Cosines and sines of the angles of positions, plain or scaled for longer texts.

    The kinds of scaling are those of `rope_scaling` in config.json: `linear` divides the angles (2306.15595), `llama3`
    divides those of long wavelengths, and `yarn` passes smoothly between both and makes attention sharper (2309.00071).
    `dynamic` changes nothing up to the model's window, and with `proportional` a share of the angles turns.
    """

    frequencies: torch.Tensor

    def __init__(self, traits: Traits) -> None:
        super().__init__()
        frequencies, self.scale = scaled_frequencies(traits)
        self.register_buffer("frequencies", frequencies, persistent=False)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        # In bfloat16 a frequency is wrong by up to a 256th: 80 turns at position 131,072. It follows the device alone.
        exact = self.frequencies
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.frequencies = exact.to(self.frequencies.device)
        return self

    def forward(self, positions: torch.Tensor, dtype: torch.dtype) -> Turn:
        """positions: [R, T] int64, at least 0."""
        angles = positions.unsqueeze(-1).float() * self.frequencies
        both = torch.cat([angles, angles], -1).unsqueeze(1)
        return Turn((both.cos() * self.scale).to(dtype), (both.sin() * self.scale).to(dtype))


def rotate_halves(x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Returns x with its halves turned against each other by angles; both broadcast to [..., W].

    With angles for fewer numbers than x has only the first numbers turn.
    """
    rotary = cosines.shape[-1]
    x, still = x[..., :rotary], x[..., rotary:]
    first, second = x.chunk(2, -1)
    made = x * cosines + torch.cat([-second, first], -1) * sines
    return torch.cat([made, still], -1) if still.shape[-1] else made


def scaled_frequencies(traits: Traits) -> tuple[torch.Tensor, float]:
    """Returns (angle of one position [W / 2] float32, factor of cosines and sines)."""
    width = traits.rotary_width or traits.head_width
    steps = torch.arange(0, width, 2, dtype=torch.float32, device="cpu")
    plain = 1.0 / (traits.rope_theta ** (steps / width))
    if not traits.rope or traits.rope["rope_type"] == "dynamic":
        return plain, 1.0
    if traits.rope["rope_type"] == "proportional":
        # The angles are those of the whole head, and only a share of them turns.
        plain[int(traits.rope["partial_rotary_factor"] * width // 2) :] = 0
        return plain, 1.0
    kind, factor = traits.rope["rope_type"], float(traits.rope["factor"])
    if kind == "linear":
        return plain / factor, 1.0
    if kind == "llama3":
        return _llama3(plain, factor, traits.rope), 1.0
    return _yarn(plain, factor, traits.rope, width, traits.rope_theta)


def _llama3(plain: torch.Tensor, factor: float, scaling: Mapping[str, Any]) -> torch.Tensor:
    low, high = float(scaling["low_freq_factor"]), float(scaling["high_freq_factor"])
    # How often the wave of each frequency turns within the window of the first training.
    turns = scaling["original_max_position_embeddings"] * plain / (2 * math.pi)
    return _between(plain, factor, ((turns - low) / (high - low)).clamp(0, 1))


def _yarn(
    plain: torch.Tensor, factor: float, scaling: Mapping[str, Any], width: int, theta: float
) -> tuple[torch.Tensor, float]:
    window = scaling["original_max_position_embeddings"]

    def place(turns: float) -> float:
        """The place among the frequencies at which a wave turns so often within the window."""
        return width * math.log(window / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = place(scaling.get("beta_fast") or 32.0), place(scaling.get("beta_slow") or 1.0)
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    ramp = (torch.arange(width // 2, dtype=torch.float32, device="cpu") - low) / max(high - low, 0.001)
    scale = scaling.get("attention_factor")
    if scale is None:
        one, other = scaling.get("mscale"), scaling.get("mscale_all_dim")
        scale = _sharper(factor, one) / _sharper(factor, other) if one and other else _sharper(factor, 1.0)
    return _between(plain, factor, 1 - ramp.clamp(0, 1)), float(scale)


def _between(plain: torch.Tensor, factor: float, kept: torch.Tensor) -> torch.Tensor:
    """Returns the frequencies with a share `kept` as they are, the rest divided by the factor."""
    mixed: torch.Tensor = plain / factor * (1 - kept) + plain * kept
    return mixed


def _sharper(factor: float, weight: float) -> float:
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0


class FeedForward(nn.Module):
    """The gated feed-forward net, by default with SiLU (SwiGLU)."""

    def __init__(
        self, width: int, inner: int, activation: Callable[[torch.Tensor], torch.Tensor] = F.silu
    ) -> None:
        super().__init__()
        self.activation = activation
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., D]; returns the same shape."""
        gate, up = project(x, self.gate_proj, self.up_proj)
        made: torch.Tensor = self.down_proj(self.activation(gate) * up)
        return made


class ExpertRouter(nn.Module):
    """Chooses experts for each token, in float32.

    As DeepSeek-V3 does (arXiv 2412.19437): sigmoid scores, a bias that decides the choice and not the weight, and a
    choice among the best groups of experts only; or by shares of a softmax, without a bias.
    """

    expert_bias: torch.Tensor | None

    def __init__(self, width: int, traits: ExpertTraits) -> None:
        super().__init__()
        self.traits = traits
        self.weight = nn.Parameter(torch.empty(traits.count, width).normal_(0.0, width**-0.5))
        self.register_buffer("expert_bias", None if traits.softmax else torch.zeros(traits.count))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x: [N, D]; returns (experts [N, K] int64, their weights [N, K] float32)."""
        bias = None if self.expert_bias is None else self.expert_bias.float()
        return choose_experts(F.linear(x.float(), self.weight.float()), bias, self.traits)


class ExpertMatrices(nn.Module):
    """A matrix for each expert: [E, O, I]."""

    def __init__(self, count: int, width: int, made: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(count, made, width).normal_(0.0, width**-0.5))

    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        """Returns [N, O], the product of rows `ends[e - 1]` to `ends[e]` of `x` [N, I] with the matrix of expert e."""
        made: torch.Tensor = F.grouped_mm(x, self.weight.transpose(1, 2), offs=ends)
        return made


class Experts(nn.Module):
    """Gated feed-forward nets; gates and inner values are one matrix."""

    def __init__(
        self,
        width: int,
        count: int,
        inner: int,
        activation: Callable[[torch.Tensor], torch.Tensor] = F.silu,
    ) -> None:
        super().__init__()
        self.count, self.activation = count, activation
        self.gate_up_proj = ExpertMatrices(count, width, 2 * inner)
        self.down_proj = ExpertMatrices(count, inner, width)

    def forward(self, x: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """x: [N, D]; chosen, weights: [N, K]; returns [N, D], the weighted sum of what the chosen experts compute."""
        # Counted on the device: tokens per expert as numbers on the host would stop it in every layer.
        placed = place_pairs(chosen, self.count)
        gate, up = self.gate_up_proj(x[placed.token], placed.ends).chunk(2, -1)
        return sum_weighted(self.down_proj(self.activation(gate) * up, placed.ends), placed, weights)


class Mixture(nn.Module):
    """Chosen experts, and those that compute every token."""

    def __init__(self, width: int, traits: ExpertTraits) -> None:
        super().__init__()
        self.gate = ExpertRouter(width, traits)
        self.experts = Experts(width, traits.count, traits.inner)
        self.shared_experts = FeedForward(width, traits.shared) if traits.shared else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., D]; returns the same shape."""
        flat = x.flatten(0, -2)
        made: torch.Tensor = self.experts(flat, *self.gate(flat))
        if self.shared_experts is not None:
            made = made + self.shared_experts(flat)
        return made.view(x.shape)
