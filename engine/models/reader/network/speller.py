"""Spells a value out, byte by byte and all bytes at once, where it can be neither copied nor chosen.

A small masked-diffusion transformer over the positions of one slot. Beside the slot's state it reads the
bytes that the pointer would have copied: most of what has to be spelled is a span in another form.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cinnabar.engine.canvas import MASK, VOCABULARY

#: Bytes of the pointed span that the speller sees.
HINT_BYTES = 48
#: Positions that it can fill: the longest canvas of a slot.
POSITIONS = 64


class Block(nn.Module):
    """A transformer layer that normalises first, over the slot's positions with its memory before them."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        """x: [G, M, W]; hidden: [G, 1, 1, M] added to the attention scores."""
        g, m, w = x.shape
        q, k, v = self.mix(self.first_norm(x)).view(g, m, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = torch.matmul(q, k.transpose(-1, -2)) / (w // self.heads) ** 0.5 + hidden
        x = x + self.output(torch.matmul(scores.softmax(-1), v).transpose(1, 2).reshape(g, m, w))
        out: Tensor = x + self.outer(F.gelu(self.inner(self.second_norm(x))))
        return out


class Speller(nn.Module):
    """Token logits of slots' positions: bytes, PAD and MORE."""

    def __init__(self, hidden: int, width: int = 192, layers: int = 2, heads: int = 6) -> None:
        super().__init__()
        self.bytes = nn.Embedding(VOCABULARY + 1, width)
        self.place = nn.Embedding(POSITIONS, width)
        self.hint_place = nn.Embedding(HINT_BYTES, width)
        self.state = nn.Linear(hidden, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, VOCABULARY)

    def forward(self, state: Tensor, hint: Tensor, tokens: Tensor, positions: Tensor) -> Tensor:
        """The logits of every position: [G, L, VOCABULARY] float32.

        state: [G, H]; hint: [G, HINT_BYTES] int64, MASK beyond its end; tokens: [G, L] int64, MASK where
        open; positions: [G] int64, how many of the L each slot has.
        """
        g, length = tokens.shape
        place = torch.arange(length, device=tokens.device)
        canvas = self.bytes(torch.where(tokens == MASK, VOCABULARY, tokens)) + self.place(place)
        seen = self.bytes(hint.clamp(min=0)) + self.hint_place(torch.arange(HINT_BYTES, device=hint.device))
        x = torch.cat([self.state(state)[:, None], seen, canvas + self.state(state)[:, None]], 1)
        hidden = torch.zeros(g, x.shape[1], device=x.device)
        hidden[:, 1 : 1 + HINT_BYTES] = torch.where(hint == MASK, -1e4, 0.0)
        hidden[:, 1 + HINT_BYTES :] = torch.where(place < positions[:, None], 0.0, -1e4)
        for block in self.blocks:
            x = block(x, hidden[:, None, None, :])
        letters: Tensor = self.output(self.norm(x[:, 1 + HINT_BYTES :]))
        return letters.float()
