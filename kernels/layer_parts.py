"""What lies between the products of matrices in a decoder's layer: definitions, for kernels that take one launch each.

The plain modules need 57 launches a layer, each of which a GPU waits microseconds for; with these kernels and joined
matrices (engine/models/language/fused_layers.py) there are eleven.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from cinnabar.kernels.expert_routing import ExpertRouting


@dataclass(frozen=True, slots=True)
class HeadShape:
    """Heads, key heads, the width W of a head, and how many of its first numbers turn with the position."""

    heads: int
    key_heads: int
    width: int
    rotary: int


@dataclass(frozen=True, slots=True)
class Positioned:
    """What N tokens get of their positions: cosines and sines [N, rotary]; a factor of the queries [N], if any."""

    cosines: torch.Tensor
    sines: torch.Tensor
    scale: torch.Tensor | None


@dataclass(frozen=True, slots=True)
class HeadNorms:
    """The weights [W] of the norms of queries and keys, and their epsilon."""

    queries: torch.Tensor
    keys: torch.Tensor
    epsilon: float


@dataclass(frozen=True, slots=True)
class CacheWrites:
    """Where keys and values go: both [P, key heads, W], at the places [N] int64."""

    keys: torch.Tensor
    values: torch.Tensor
    places: torch.Tensor


class LayerParts:
    """The definitions; `TritonLayerParts` has the kernels. `routing` is what experts take beside."""

    routing = ExpertRouting()

    def add_norm(
        self, x: torch.Tensor, added: torch.Tensor | None, weight: torch.Tensor, epsilon: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns (x + added, its RMS norm times `weight`), both [N, D] in the dtype of x (arXiv 1910.07467)."""
        total = x if added is None else x + added
        return total, rms_norm(total, weight, epsilon)

    def queries(
        self, joined: torch.Tensor, shape: HeadShape, at: Positioned, norms: HeadNorms | None, written: CacheWrites
    ) -> torch.Tensor:
        """Returns the queries [N, heads, W] of `joined`, [N, (heads + 2 key heads) W]; writes keys and values.

        Queries and keys are normed, if there are norms, and turned (2104.09864).
        """
        parts = joined.view(len(joined), -1, shape.width)
        q, k, v = torch.split(parts, [shape.heads, shape.key_heads, shape.key_heads], 1)
        if norms is not None:
            q, k = rms_norm(q, norms.queries, norms.epsilon), rms_norm(k, norms.keys, norms.epsilon)
        q, k = (rotate_halves(one, at.cosines[:, None], at.sines[:, None]) for one in (q, k))
        if at.scale is not None:
            q = q * at.scale[:, None, None]
        written.keys.index_copy_(0, written.places, k)
        written.values.index_copy_(0, written.places, v)
        return q

    def silu_gate(self, both: torch.Tensor) -> torch.Tensor:
        """Returns silu(gate) * up, [N, I], of gate and up side by side (2002.05202)."""
        gate, up = both.chunk(2, -1)
        return F.silu(gate) * up


def rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Returns x by the root of its mean square, in float32, times the weight; x: [..., D], weight: [D]."""
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)).to(x.dtype)


def rotate_halves(x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Returns x with its halves turned against each other by angles; both broadcast to [..., W].

    With angles for fewer numbers than x has only the first numbers turn.
    """
    rotary = cosines.shape[-1]
    x, still = x[..., :rotary], x[..., rotary:]
    first, second = x.chunk(2, -1)
    made = x * cosines + torch.cat([-second, first], -1) * sines
    return torch.cat([made, still], -1) if still.shape[-1] else made
