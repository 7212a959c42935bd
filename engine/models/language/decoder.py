"""One transformer decoder for all families but DiffusionGemma, which differ in their traits only.

Pre-norm layers with RMS norms (arXiv 1910.07467), grouped-query attention (2305.13245) with rotary positions
(2104.09864) and a gated feed-forward net (2002.05202) or experts. Block-causal attention follows block diffusion
(2503.09573): a position sees all positions up to the end of its own block. The names of the parameters are those of
Qwen3 in `transformers`.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from cinnabar.engine.models.int8_matmul import project
from cinnabar.engine.models.language.attention import Attend, self_attention
from cinnabar.engine.models.language.experts import FeedForward, Mixture
from cinnabar.engine.models.language.rotary import Rotary, Turn
from cinnabar.engine.models.language.traits import Traits
from cinnabar.kernels.layer_parts import rms_norm, rotate_halves


class RmsNorm(nn.Module):
    """Normalises by the root of the mean square, in float32."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., D]; returns the same shape and dtype."""
        return rms_norm(x, self.weight, self.epsilon)


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
        if turn.scale is not None:
            q = q * turn.scale
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

    def forward(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        attend: Attend | None = None,
        opened: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Returns the hidden states [R, T, D] of tokens at these positions, both [R, T] int64.

        A position of NOWHERE pads a row: no other position sees it. `attend` decides which places each token sees;
        without it they are those of its row. opened: see `visible`.
        """
        return self.hidden(tokens, positions, attend or self_attention(self.traits, positions, opened))

    def hidden(self, tokens: torch.Tensor, positions: torch.Tensor, attend: Attend) -> torch.Tensor:
        """Returns the hidden states [R, T, D]; `attend` decides which places each token sees."""
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

