"""Attention of packed tokens to the keys and values of their rows, which lie in pages: tiles, and the definition.

A tile is some tokens of one row. It reads the pages of that row alone, and of these the ones that its tokens see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import torch

from cinnabar.kernels.block_scan import Ints

#: What a token sees: itself and what is before it; all up to the end of its block; or itself and what is before it,
#: and from the open block's first position on all of its row.
Sight = Literal["causal", "block_causal", "token_causal"]
#: Queries of a tile at most: tokens by the heads that share a key head.
QUERIES = 64
#: Numbers that tell of a tile: its first token, how many it has, and its row.
TILE_FIELDS = 3


@dataclass(frozen=True, slots=True)
class PagedRows:
    """R rows, each in up to K pages, and M tiles of N packed tokens.

    positions: [N] int64 of the tokens. tiles: [M, 3] int64; those of no token are padding. pages: [R, K] int64.
    lengths: [R] int64, the positions of each row that have keys. opened: [R] int64, the first position of its open
    block, beyond all positions if it has none.
    """

    positions: torch.Tensor
    tiles: torch.Tensor
    pages: torch.Tensor
    lengths: torch.Tensor
    opened: torch.Tensor


#: Warps of a program that computes in float32: with the usual four its numbers do not fit the registers.
WARPS_OF_FLOAT32 = 8


def tile_tokens(shared: int) -> int:
    """Returns the most tokens of a tile, where so many heads share a key head."""
    return max(QUERIES // shared, 1)


def tiles_of(sizes: Sequence[int], most: int) -> Ints:
    """Returns tiles of at most so many tokens, [M, 3], for rows that have these numbers of tokens, one after the other.

    The tiles of a row are of like size.
    """
    tiles: list[tuple[int, int, int]] = []
    first = 0
    for row, size in enumerate(sizes):
        many = -(-size // most)
        cuts = [first + size * part // many for part in range(many + 1)] if many else [first]
        tiles += [(begin, end - begin, row) for begin, end in pairwise(cuts)]
        first += size
    return np.array(tiles, np.int64).reshape(-1, TILE_FIELDS)


def seen_end(positions: Ints, length: int, opened: int, sight: Sight, block: int) -> Ints:
    """Returns the end of what tokens at these positions of a row see."""
    ends = positions + 1
    if sight == "block_causal":
        ends = (positions // block + 1) * block
    elif sight == "token_causal":
        ends = np.where(positions >= opened, length, ends)
    return np.minimum(ends, length)


def paged_attention(
    q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, rows: PagedRows, page: int, sight: Sight, block: int
) -> torch.Tensor:
    """Returns [N, H, W]; q: [N, H, W], keys, values: [P, G, W], of all places of all pages; H is a multiple of G.

    The softmax is in float32. Tokens of no tile have zeros.
    """
    made = torch.zeros_like(q)
    shared = q.shape[1] // keys.shape[1]
    for first, count, row in rows.tiles.tolist():
        if not count:
            continue
        length, opened = int(rows.lengths[row]), int(rows.opened[row])
        part = slice(first, first + count)
        at = rows.positions[part].cpu().numpy()
        ends = torch.from_numpy(seen_end(at, length, opened, sight, block)).to(q.device)
        places = (rows.pages[row][:, None] * page + torch.arange(page, device=q.device)).flatten()[:length]
        own, held = (one[places].repeat_interleave(shared, 1).float() for one in (keys, values))
        scores = torch.einsum("thw,shw->hts", q[part].float(), own) * q.shape[2] ** -0.5
        scores = scores.masked_fill(torch.arange(length, device=q.device) >= ends[:, None], float("-inf"))
        made[part] = torch.einsum("hts,shw->thw", scores.softmax(-1), held).to(q.dtype)
    return made
