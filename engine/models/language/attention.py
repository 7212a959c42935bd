"""Attention of the decoder: which positions see each other, over one text or over the pages of a cache.

`PagedAttention` copies the pages of each row side by side for `scaled_dot_product_attention`, which every device has.
On a CPU the copy is a small part of a pass. On a GPU with many rows, keys and values are most of what a pass moves, and
a copy moves them three times; so `TiledAttention` reads them where they are, by a kernel of our own. Kernels for texts
of various lengths (varlen) know causal attention only, so blocks that see their own end are out of their reach, and
FlexAttention puts the tokens of many rows into one tile, which then reads the pages of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from cinnabar.engine.models.language.cache import NOWHERE, PagedCache
from cinnabar.engine.models.language.traits import Traits
from cinnabar.kernels.paged_attention import PagedRows, Sight

#: Attention of queries [R, H, T, W] to keys and values [R, G, T, W] of a layer, the last argument; H is a multiple of
#: G. Returns [R, H, T, W].
Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, int], torch.Tensor]
#: The first position of the open block where none is open: behind all positions.
NONE_OPEN = 1 << 40
#: Computes attention over pages: see `paged_attention`.
PagedKernel = Callable[
    [torch.Tensor, torch.Tensor, torch.Tensor, PagedRows, int, Sight, int], torch.Tensor
]


def visibility_mask(
    traits: Traits, queries: torch.Tensor, keys: torch.Tensor, opened: torch.Tensor | None = None
) -> torch.Tensor:
    """[R, T, S] bool, whether the query at each of [R, T] positions sees the key at each of [R, S] positions.

    A padding query sees all places, so that its softmax is over something. opened: [R] int64, the first position of
    each row's open block, which only `token_causal` visibility asks for; None if none is open.
    """
    at, of = queries.unsqueeze(2), keys.unsqueeze(1)
    begin = None if opened is None else opened[:, None, None]
    return ((of != NOWHERE) & is_visible(traits, at, of, begin)) | (at == NOWHERE)


def is_visible(traits: Traits, at: torch.Tensor, of: torch.Tensor, opened: torch.Tensor | None) -> torch.Tensor:
    """Returns whether positions `at` see positions `of`, all of one shape or broadcast."""
    if traits.visibility == "causal":
        return of <= at
    if traits.visibility == "token_causal":
        return of <= at if opened is None else (of <= at) | (at >= opened)
    block = traits.block
    return of.div(block, rounding_mode="floor") <= at.div(block, rounding_mode="floor")


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """Returns [R, H, T, W]; q: [R, H, T, W], k, v: [R, G, S, W], seen: [R, 1, T, S] bool or added numbers."""
    rows, heads, length, width = q.shape
    shared = heads // k.shape[1]
    if shared == 1:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    # Heads with the same keys are more queries of one head, so no key is copied (2,000 places, 16 heads: 3.4 and 9 ms).
    folded = q.reshape(rows, heads // shared, shared * length, width)
    mask = seen if seen.shape[2] == 1 else seen.repeat(1, 1, shared, 1)
    return F.scaled_dot_product_attention(folded, k, v, attn_mask=mask).view(rows, heads, length, width)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of a packed pass that are attended together.

    queries: [G, T] int64, their tokens' numbers in the pass; those of padding are of its last token. pages: [G, K]
    int64, 0 for padding. lengths: [G] int64, positions that each row has read behind this pass. opened: [G] int64, see
    `visibility_mask`.
    """

    queries: torch.Tensor
    pages: torch.Tensor
    lengths: torch.Tensor
    opened: torch.Tensor


@dataclass(frozen=True, slots=True)
class PackedTokens:
    """The tokens of a packed pass: one text of N tokens that are parts of many rows.

    tokens, positions, places: [N] int64. The rows are in groups, for `PagedAttention`: each token is in one of them,
    and `order` ([N] int64) is where it stands in the queries of all groups. Or they are `rows`, for `TiledAttention`.
    """

    tokens: torch.Tensor
    positions: torch.Tensor
    places: torch.Tensor
    order: torch.Tensor | None = None
    groups: tuple[RowGroup, ...] = ()
    rows: PagedRows | None = None


class PagedAttention:
    """Attention of packed tokens to the pages of their rows, after their own keys and values are written there."""

    def __init__(self, traits: Traits, cache: PagedCache, packed: PackedTokens, dtype: torch.dtype) -> None:
        self.packed = packed
        self._cache = cache
        self._masks = [self._mask(traits, group, dtype) for group in packed.groups]
        #: Keys of one row are there once for all of its tokens.
        self._pages = [
            pages[:1] if len(pages) > 1 and bool((pages == pages[0]).all()) else pages
            for pages in (group.pages for group in packed.groups)
        ]

    def _mask(self, traits: Traits, group: RowGroup, dtype: torch.dtype) -> torch.Tensor:
        places = torch.arange(group.pages.shape[1] * self._cache.size, device=group.pages.device)
        keys = torch.where(places < group.lengths[:, None], places, NOWHERE)
        seen = visibility_mask(traits, self.packed.positions[group.queries], keys, group.opened)
        # Added numbers, for each layer would make them of truth values.
        mask = torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, float("-inf"))
        return mask.unsqueeze(1)

    def __call__(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer: int) -> torch.Tensor:
        """q: [1, H, N, W], k, v: [1, G, N, W]; returns [1, H, N, W]."""
        self._cache.write(layer, self.packed.places, k[0].transpose(0, 1), v[0].transpose(0, 1))
        asking, (_, heads, _, width) = q[0].transpose(0, 1), q.shape
        parts = []
        for group, pages, mask in zip(self.packed.groups, self._pages, self._masks, strict=True):
            rows, length = group.queries.shape
            keys, values = (one.expand(rows, -1, -1, -1) for one in self._cache.read(layer, pages))
            own = asking.index_select(0, group.queries.flatten()).view(rows, length, heads, width).transpose(1, 2)
            parts.append(attention(own, keys, values, mask).transpose(1, 2).reshape(-1, heads, width))
        whole = parts[0] if len(parts) == 1 else torch.cat(parts)
        assert self.packed.order is not None
        return whole.index_select(0, self.packed.order).transpose(0, 1).unsqueeze(0)


class TiledAttention:
    """The same by a kernel that reads the pages where they are (kernels/paged_attention_triton.py).

    attend: computes it, the kernel or its definition.
    """

    def __init__(self, traits: Traits, cache: PagedCache, packed: PackedTokens, attend: PagedKernel) -> None:
        assert packed.rows is not None
        self._rows, self._places, self._cache, self._attend = packed.rows, packed.places, cache, attend
        self._sight: Sight = traits.visibility
        self._block = traits.block

    def __call__(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer: int) -> torch.Tensor:
        """q: [1, H, N, W], k, v: [1, G, N, W]; returns [1, H, N, W]."""
        self._cache.write(layer, self._places, k[0].transpose(0, 1), v[0].transpose(0, 1))
        keys, values = self._cache.layer(layer)
        asking = q[0].transpose(0, 1)
        made = self._attend(asking, keys, values, self._rows, self._cache.size, self._sight, self._block)
        return made.transpose(0, 1).unsqueeze(0)
