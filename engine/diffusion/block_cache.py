"""Full attention whose keys outside of the open block are kept between the block's passes: fast, and approximate.

The first pass of a block reads everything, as `FullContext` does. The others read the block alone and take all other
keys and values from that pass, although what stands in the block has changed since (the dual cache of Fast-dLLM, arXiv
2505.22618). How far off they were shows at the next block, whose first pass computes them anew: a text whose keys moved
by more than `MOVED` is read exactly from there on. Released weights were never run with it here, so the bound is a
guess, and it is off unless CINNABAR_BLOCK_CACHE asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from cinnabar.engine.diffusion.arrays import Ints
from cinnabar.engine.diffusion.contexts import FullContext, shown_tokens
from cinnabar.engine.diffusion.sequences import OpenSequence
from cinnabar.engine.models.language.attention import Attend, attention, self_attention
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.memory import cache_budget, free_memory

#: How far keys may have moved, as a share of their length, in any layer.
MOVED = 0.3
#: Longer texts keep nothing.
LONGEST = 8192
#: Keys and values of a layer, each [1, G, T, W].
Layer = tuple[torch.Tensor, torch.Tensor]


@dataclass(slots=True)
class _Kept:
    """What the first pass of a block left: the block [begin, stop), and all keys and values.

    far: how far those moved that were kept before, a number on the device; None if there were none.
    """

    begin: int
    stop: int
    layers: list[Layer] = field(default_factory=list)
    far: torch.Tensor | None = None


class BlockCacheContext(FullContext):
    """See the module. `whole` and `short` count the texts that were read whole, and the blocks that were read alone."""

    def __init__(self, decoder: Decoder, canvas: int) -> None:
        super().__init__(decoder, canvas)
        self._kept: dict[int, _Kept] = {}
        self._exact: set[int] = set()
        #: The bytes that each sequence which joined may take, and those of all that there are.
        self._promised: dict[int, int] = {}
        free = free_memory(decoder.device)
        self._budget = None if free is None else cache_budget(free)
        self.whole = self.short = 0

    def join(self, sequence: OpenSequence) -> bool:
        """Takes a sequence in; returns False if its keys have no room beside those of the others."""
        traits, tokens = self._decoder.traits, sequence.limit
        dtype = self._decoder.model.embed_tokens.weight.dtype
        # A text that is too long is read exactly, on every machine.
        each = 2 * traits.layers * traits.key_heads * traits.head_width * dtype.itemsize
        needed = 0 if tokens > LONGEST else each * tokens
        full = self._budget is not None and needed + sum(self._promised.values()) > self._budget
        if self._promised and full:
            return False
        self._promised[id(sequence)] = needed
        return True

    def hidden(self, sequences: Sequence[OpenSequence], wanted: Sequence[Ints]) -> tuple[list[int], torch.Tensor]:
        """Reads whole what has no keys for its open block, and of the others the block; see `Context.hidden`."""
        alone = {at: kept for at, sequence in enumerate(sequences) if (kept := self._keys(sequence)) is not None}
        rest = [at for at in range(len(sequences)) if at not in alone]
        made: dict[int, torch.Tensor] = {}
        if rest:
            whole = self._read([sequences[at] for at in rest], [wanted[at] for at in rest])
            for at in rest:
                self._drop_moved(sequences[at])
            made |= dict(zip(rest, torch.split(whole, [len(wanted[at]) for at in rest]), strict=True))
        for at, kept in alone.items():
            made[at] = self._read_block(sequences[at], wanted[at], kept)
        self.whole, self.short = self.whole + len(rest), self.short + len(alone)
        return [*range(len(sequences))], torch.cat([made[at] for at in range(len(sequences))])

    def leave(self, sequence: OpenSequence, spoilt: bool = False) -> None:  # noqa: ARG002 — nothing is shared
        """Drops the keys of a sequence."""
        self._kept.pop(id(sequence), None)
        self._promised.pop(id(sequence), None)
        self._exact.discard(id(sequence))

    def rewind(self, sequence: OpenSequence, begin: int) -> None:  # noqa: ARG002 — all keys depend on the text there
        """Drops the keys of a sequence, whose text before its next block changes."""
        self._kept.pop(id(sequence), None)

    def clear(self) -> None:
        """Drops all keys."""
        self._kept.clear()
        self._promised.clear()
        self._exact.clear()

    def _keys(self, sequence: OpenSequence) -> _Kept | None:
        kept, block = self._kept.get(id(sequence)), sequence.block
        fits = kept is not None and block is not None and (kept.begin, kept.stop) == (block.begin, block.stop)
        return kept if fits else None

    def _attend(self, sequences: Sequence[OpenSequence], ends: Sequence[int], positions: torch.Tensor) -> Attend:
        """Returns the attention of a whole pass, which keeps the keys and values of texts that have a next one."""
        plain = self_attention(self._decoder.traits, positions)
        keeping: list[tuple[int, _Kept | None, _Kept]] = []
        for at, sequence in enumerate(sequences):
            block = sequence.block
            if block is not None and self._keeps(sequence):
                before, fresh = self._kept.get(id(sequence)), _Kept(block.begin, block.stop)
                self._kept[id(sequence)] = fresh
                keeping.append((at, before, fresh))

        def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer: int) -> torch.Tensor:
            for at, old, fresh in keeping:
                new = k[at : at + 1, :, : ends[at]].clone(), v[at : at + 1, :, : ends[at]].clone()
                fresh.layers.append(new)
                if old is not None:
                    far = moved(old.layers[layer], new, old.begin, old.stop)
                    fresh.far = far if fresh.far is None else torch.maximum(fresh.far, far)
                    # The old ones go as the new ones come.
                    old.layers[layer] = new
            return plain(q, k, v, layer)

        return attend

    def _drop_moved(self, sequence: OpenSequence) -> None:
        """Has a text read exactly from now on if its keys moved too far since the block before."""
        kept = self._kept.get(id(sequence))
        if kept is not None and kept.far is not None and float(kept.far) > MOVED:
            self._exact.add(id(sequence))
            del self._kept[id(sequence)]

    def _keeps(self, sequence: OpenSequence) -> bool:
        return id(sequence) not in self._exact and bool(self._promised.get(id(sequence)))

    def _read_block(self, sequence: OpenSequence, wanted: Ints, kept: _Kept) -> torch.Tensor:
        """Returns the hidden states of wanted positions of the open block, from a pass over the block alone."""
        shift = int(self._decoder.traits.shift)
        # With the shift the token before the block scores its first position.
        begin = max(kept.begin - shift, 0)
        tokens = shown_tokens(sequence.tokens[begin : kept.stop], self._decoder.traits)
        device = self._decoder.device
        positions = torch.arange(begin, kept.stop, device=device)[None]

        def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer: int) -> torch.Tensor:
            own = [
                torch.cat([held[:, :, :begin], new, held[:, :, kept.stop :]], 2)
                for held, new in zip(kept.layers[layer], (k, v), strict=True)
            ]
            return attention(q, own[0], own[1], None)

        made: torch.Tensor = self._decoder(torch.from_numpy(tokens).to(device)[None], positions, attend)
        return made[0].index_select(0, torch.from_numpy(wanted - shift - begin).to(device))


def moved(before: Layer, after: Layer, begin: int, stop: int) -> torch.Tensor:
    """Returns how far a layer's keys outside of a block moved, as a share of their length, without waiting for it."""
    (old, _), (new, _) = before, after
    end = min(old.shape[2], new.shape[2])
    at = torch.from_numpy(np.r_[0 : min(begin, end), min(stop, end) : end]).to(new.device)
    one, other = old.index_select(2, at).float(), new.index_select(2, at).float()
    far: torch.Tensor = (one - other).norm() / other.norm().clamp_min(1e-12)
    return far
