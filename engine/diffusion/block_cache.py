"""Full attention whose keys outside of the open block are kept between the block's passes: fast, and approximate.

The first pass of a block reads everything, as `FullContext` does. The others read the block alone and take all other
keys and values from that pass, although what stands in the block has changed since (the dual cache of Fast-dLLM, arXiv
2505.22618). How far off they were shows at the next block, whose first pass computes them anew: a text whose keys moved
by more than `MOVED` is read exactly from there on. Released weights were never run with it here, so the bound is a
guess, and it is off unless CINNABAR_BLOCK_CACHE asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
#: Keys and values of a layer, each [1, G, T, W].
Layer = tuple[torch.Tensor, torch.Tensor]


@dataclass(slots=True)
class _Kept:
    """What the first pass of a block left: the block [begin, stop), the text's end, and all keys and values."""

    begin: int
    stop: int
    end: int
    layers: list[Layer]

    @property
    def bytes(self) -> int:
        return sum(one.nbytes for layer in self.layers for one in layer)


class BlockCacheContext(FullContext):
    """See the module. `whole` and `short` count the texts that were read whole, and the blocks that were read alone."""

    def __init__(self, decoder: Decoder, canvas: int) -> None:
        super().__init__(decoder, canvas)
        self._kept: dict[int, _Kept] = {}
        self._exact: set[int] = set()
        free = free_memory(decoder.device)
        self._budget = None if free is None else cache_budget(free)
        self.whole = self.short = 0

    def hidden(self, sequences: Sequence[OpenSequence], wanted: Sequence[Ints]) -> tuple[list[int], torch.Tensor]:
        """Reads whole what has no keys for its open block, and of the others the block; see `Context.hidden`."""
        alone = [at for at, sequence in enumerate(sequences) if self._has_keys(sequence)]
        rest = [at for at in range(len(sequences)) if at not in alone]
        made: dict[int, torch.Tensor] = {}
        if rest:
            whole = self._read([sequences[at] for at in rest], [wanted[at] for at in rest])
            made |= dict(zip(rest, torch.split(whole, [len(wanted[at]) for at in rest]), strict=True))
        for at in alone:
            made[at] = self._read_block(sequences[at], wanted[at])
        self.whole, self.short = self.whole + len(rest), self.short + len(alone)
        return [*range(len(sequences))], torch.cat([made[at] for at in range(len(sequences))])

    def leave(self, sequence: OpenSequence, spoilt: bool = False) -> None:  # noqa: ARG002 — nothing is shared
        """Drops the keys of a sequence."""
        self._kept.pop(id(sequence), None)
        self._exact.discard(id(sequence))

    def rewind(self, sequence: OpenSequence, begin: int) -> None:  # noqa: ARG002 — all keys depend on the text there
        """Drops the keys of a sequence, whose text before its next block changes."""
        self._kept.pop(id(sequence), None)

    def clear(self) -> None:
        """Drops all keys."""
        self._kept.clear()
        self._exact.clear()

    def _has_keys(self, sequence: OpenSequence) -> bool:
        kept, block = self._kept.get(id(sequence)), sequence.block
        return kept is not None and block is not None and (kept.begin, kept.stop) == (block.begin, block.stop)

    def _attend(self, sequences: Sequence[OpenSequence], ends: Sequence[int], positions: torch.Tensor) -> Attend:
        """Returns the attention of a whole pass, which keeps the keys and values of each text."""
        plain = self_attention(self._decoder.traits, positions)
        fresh: dict[int, list[Layer]] = {at: [] for at in range(len(sequences))}
        layers = self._decoder.traits.layers

        def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer: int) -> torch.Tensor:
            for at, end in enumerate(ends):
                fresh[at].append((k[at : at + 1, :, :end].clone(), v[at : at + 1, :, :end].clone()))
                if layer == layers - 1:
                    self._keep(sequences[at], end, fresh[at])
            return plain(q, k, v, layer)

        return attend

    def _keep(self, sequence: OpenSequence, end: int, layers: list[Layer]) -> None:
        before = self._kept.pop(id(sequence), None)
        if before is not None and moved(before.layers, layers, before.begin, before.stop) > MOVED:
            self._exact.add(id(sequence))
        block = sequence.block
        if block is None or id(sequence) in self._exact:
            return
        kept = _Kept(block.begin, block.stop, end, layers)
        if self._budget is None or kept.bytes + sum(one.bytes for one in self._kept.values()) <= self._budget:
            self._kept[id(sequence)] = kept

    def _read_block(self, sequence: OpenSequence, wanted: Ints) -> torch.Tensor:
        """Returns the hidden states of wanted positions of the open block, from a pass over the block alone."""
        kept, shift = self._kept[id(sequence)], int(self._decoder.traits.shift)
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


def moved(before: Sequence[Layer], after: Sequence[Layer], begin: int, stop: int) -> float:
    """Returns how far the keys outside of a block moved, as a share of their length, in the layer where it is most."""
    most = 0.0
    for (old, _), (new, _) in zip(before, after, strict=True):
        end = min(old.shape[2], new.shape[2])
        at = torch.from_numpy(np.r_[0 : min(begin, end), min(stop, end) : end]).to(new.device)
        one, other = old.index_select(2, at).float(), new.index_select(2, at).float()
        most = max(most, float((one - other).norm() / other.norm().clamp_min(1e-12)))
    return most
