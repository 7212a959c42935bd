"""The definition of `paged_attention_triton`, tile by tile in plain PyTorch."""

from __future__ import annotations

import numpy as np
import torch

from cinnabar.kernels.block_scan import Ints
from cinnabar.kernels.paged_attention import PagedRows, Sight


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
