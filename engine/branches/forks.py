"""The keys and values of a document, read once, and of the branches behind it, which do not see each other.

Attention of a branch is over all keys of its document, which are there once for all branches, and over its own: two
products whose scores are one softmax (Hyper-Parallel Decoding, arXiv 2604.26209). Attention is computed document by
document, and all else row by row, so its values do not depend on other documents. A model that writes in blocks reads
a document up to a border of blocks; what is left, the `tail`, begins the first block of each branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

import torch

from cinnabar.engine.models.language.attention import NONE_OPEN, Attend, attention, is_visible
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.memory import LONG_PASS, PREFILL, give_back_memory
from cinnabar.engine.work_time import tell_share

#: Places of a branch that are made room for at a time.
_ROOM = 64
#: The fewest tokens whose attention is computed together.
_FEWEST = 4
#: Places of a document whose attention is computed at a time.
_TILE = 128


class DocumentKeys:
    """The keys and values of a prompt: [layers, 2, G, T, W], G heads of keys; `length` of T places are read."""

    def __init__(self, held: torch.Tensor, length: int) -> None:
        self.held, self.length = held, length


@dataclass(eq=False)
class Fork:
    """A branch: its number among those of its document, and of how many of its tokens it keeps the keys.

    Of a model that writes in blocks also its text so far, the tail of the document included, and where its open block
    begins.
    """

    number: int
    length: int = 0
    text: list[int] = field(default_factory=list)
    opened: int = NONE_OPEN


class Forks:
    """The branches of one document.

    keys: of the document, without its `tail`. A branch of `forks` has its own keys at its number: [layers, 2, B, G, T,
    W].
    """

    def __init__(self, decoder: Decoder, keys: DocumentKeys, tail: Sequence[int] = ()) -> None:
        self._traits, self.keys, self.tail = decoder.traits, keys, tail
        traits = decoder.traits
        self._shape = (traits.layers, 2), (traits.key_heads, traits.head_width)
        self._held = keys.held.new_zeros((*self._shape[0], 0, traits.key_heads, 0, traits.head_width))
        self._count = 0

    def open(self, after: Fork | None = None, begun: tuple[int, int] | None = None) -> Fork:
        """Returns a new branch: it has read nothing of its own, or what another one has read by now.

        begun: of that one's keys and text, only so many.
        """
        self._count += 1
        fork = Fork(self._count - 1, text=[*self.tail])
        if after is not None:
            length, text = begun or (after.length, len(after.text))
            self._grow(length)
            self._held[:, :, fork.number] = self._held[:, :, after.number]
            fork.length, fork.text = length, after.text[:text]
        return fork

    def attend(self, pieces: Sequence[tuple[Fork, Sequence[int]]]) -> tuple[torch.Tensor, Attend]:
        """Takes tokens behind those of each branch: returns their positions [N], and the attention that they have.

        The attention writes their keys and values, so that those of later tokens see them.
        """
        self._grow(max(fork.length + len(tokens) for fork, tokens in pieces))
        device = self.keys.held.device
        own = torch.tensor([fork.number for fork, tokens in pieces for _ in tokens], device=device)
        at = torch.tensor([fork.length + i for fork, tokens in pieces for i in range(len(tokens))], device=device)
        for fork, tokens in pieces:
            fork.length += len(tokens)
        base, length, traits = self.keys.held, self.keys.length, self._traits
        opened = torch.tensor([fork.opened for fork, tokens in pieces for _ in tokens], device=device)
        ends = (at // traits.block + 1) * traits.block
        # Sums over keys depend on how many are padding, so a row's room is its own, whatever others have read.
        rooms = (ends - 1) // _ROOM * _ROOM + _ROOM
        groups = [(room, (rooms == room).nonzero()[:, 0]) for room in sorted(set(rooms.tolist()))]
        places = [(torch.arange(room, device=device), rows[:, None]) for room, rows in groups]
        unseen = [(of >= ends[rows]) | ~is_visible(traits, at[rows], of, opened[rows]) for of, rows in places]
        order = torch.cat([rows for _, rows in groups]).argsort()

        def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer: int) -> torch.Tensor:
            held = self._held[layer]
            held[0, own, :, at] = k[0].transpose(0, 1)
            held[1, own, :, at] = v[0].transpose(0, 1)
            parts = []
            for (room, rows), hidden in zip(groups, unseen, strict=True):
                keys, values = held[:, own[rows], :, :room]
                parts.append(_attend_branches(q[:, :, rows], base[layer, :, :, :length], keys, values, hidden))
            return torch.cat(parts, 2)[:, :, order]

        return length + at, attend

    def _grow(self, longest: int) -> None:
        branches, room = self._held.shape[2], self._held.shape[4]
        if self._count <= branches and longest <= room:
            return
        # Some more at a time, for each growth copies what all branches have.
        count = branches if self._count <= branches else max(self._count, branches + branches // 2)
        room = max(room, -(-longest // _ROOM) * _ROOM)
        wider = self._held.new_zeros((*self._shape[0], count, self._shape[1][0], room, self._shape[1][1]))
        wider[:, :, :branches, :, : self._held.shape[4]] = self._held
        self._held = wider


def read_branches(decoder: Decoder, pieces: Sequence[tuple[Forks, Fork, Sequence[int]]]) -> torch.Tensor:
    """Reads tokens behind those of branches, of one document after the other; returns their hidden states [N, D]."""
    documents = [(forks, [(fork, tokens) for _, fork, tokens in own]) for forks, own in groupby(pieces, itemgetter(0))]
    made = [forks.attend(own) for forks, own in documents]
    ends = [len(positions) for positions, _ in made]
    ids = torch.tensor([token for *_, tokens in pieces for token in tokens], device=decoder.device)

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer: int) -> torch.Tensor:
        parts = zip(made, *(torch.split(one, ends, 2) for one in (q, k, v)), strict=True)
        return torch.cat([own(*part, layer) for (_, own), *part in parts], 2)

    hidden: torch.Tensor = decoder(ids[None], torch.cat([positions for positions, _ in made])[None], attend)
    if len(ids) >= LONG_PASS and decoder.device.type == "cpu":
        give_back_memory()
    return hidden[0]


def _attend_branches(
    q: torch.Tensor, base: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, unseen: torch.Tensor
) -> torch.Tensor:
    """Returns attention [1, H, N, W] of N tokens to their document and to their own branch.

    q: [1, H, N, W]; base: [2, G, S, W]; keys, values: [N, G, T, W], of each token's branch; unseen: [N, T] bool.
    """
    _, heads, asking, width = q.shape
    # Products of fewer rows add up in another order.
    rows = torch.arange(max(asking, _FEWEST), device=q.device).clamp_max_(asking - 1)
    if asking < _FEWEST:
        q, keys, values, unseen = q[:, :, rows], keys[rows], values[rows], unseen[rows]
    many = len(rows)
    groups = keys.shape[1]
    asked = (q[0] * width**-0.5).view(groups, heads // groups, many, width)
    shared = asked.flatten(1, 2) @ base[0].transpose(1, 2)
    shared = shared.view(groups, heads // groups, many, -1)
    by_token = asked.permute(2, 0, 1, 3)
    own = (by_token @ keys.transpose(2, 3)).masked_fill(unseen[:, None, None], float("-inf"))
    weights = torch.cat([shared, own.permute(1, 2, 0, 3)], -1).softmax(-1)
    of_base, of_own = weights[..., : base.shape[2]], weights[..., base.shape[2] :]
    made: torch.Tensor = (of_base.flatten(1, 2) @ base[1]).view(groups, heads // groups, many, width)
    made = made + (of_own.permute(2, 0, 1, 3) @ values).permute(1, 2, 0, 3)
    return made.reshape(1, heads, many, width)[:, :, :asking]


def read_document(decoder: Decoder, tokens: Sequence[int], before: DocumentKeys | None = None) -> DocumentKeys:
    """Returns the keys of these tokens, behind those of `before`, which stay as they are.

    The tokens are read in parts that begin where `before` ends, so that the values are the same to the bit whether
    that was read for this document or for another one. Of a model that writes in blocks both end at a border.
    """
    traits, weight = decoder.traits, decoder.model.embed_tokens.weight
    start = 0 if before is None else before.length
    dtype = weight.dtype if weight.is_floating_point() else torch.float32
    shape = (traits.layers, 2, traits.key_heads, start + len(tokens), traits.head_width)
    held = torch.empty(shape, dtype=dtype, device=decoder.device)
    if before is not None:
        held[:, :, :, :start] = before.held[:, :, :, :start]
    tile, most = (-(-size // traits.block) * traits.block for size in (_TILE, PREFILL))
    for first in range(0, len(tokens), most):
        part = torch.tensor(tokens[first : first + most], device=decoder.device)
        begin, end = start + first, start + first + len(part)
        positions = torch.arange(begin, end, device=decoder.device)
        seen = is_visible(traits, positions[:, None], torch.arange(end, device=decoder.device), None)

        def attend(
            q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer: int, begin: int = begin, end: int = end,
            seen: torch.Tensor = seen,
        ) -> torch.Tensor:  # fmt: skip
            held[layer, 0, :, begin:end], held[layer, 1, :, begin:end] = k[0], v[0]
            made = []
            for at in range(0, end - begin, tile):
                # Nothing behind a tile is seen from it.
                stop = min(begin + at + tile, end)
                keys, values = held[layer, :, None, :, :stop]
                made.append(attention(q[:, :, at : at + tile], keys, values, seen[None, None, at : at + tile, :stop]))
            return torch.cat(made, 2)

        decoder(part[None], positions[None], attend)
        tell_share((first + len(part)) / len(tokens))
    if len(tokens) >= LONG_PASS and decoder.device.type == "cpu":
        give_back_memory()
    return DocumentKeys(held, start + len(tokens))
