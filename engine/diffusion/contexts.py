"""The forward passes of a batch of sequences: with a cache of keys for causal families, without one for the others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

from cinnabar.engine.diffusion.sequences import OpenSequence
from cinnabar.engine.models.language.cache import NOWHERE, Cache
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits

Ints = npt.NDArray[np.int64]

#: Tokens of a prompt that are read in one pass, at most; shared prefixes that are kept.
PREFILL, PREFIXES = 512, 2


class Context(Protocol):
    """Reads the sequences of a batch, one row each."""

    def hidden(self, sequences: Sequence[OpenSequence], wanted: Sequence[Ints]) -> torch.Tensor:
        """Returns [N, D], after one pass: the hidden states that score each row's `wanted` positions (absolute)."""
        ...

    def reject(self, row: int) -> None:
        """Takes back what the last pass kept of the blocks that it wrote for this row."""
        ...

    def select(self, rows: Ints) -> None:
        """Keeps these rows only, in their order."""
        ...


class FullContext:
    """Full attention: each pass reads prompt, answer and masks anew.

    canvas: how many positions of the answer are shown at least; the open ones hold masks.
    """

    def __init__(self, decoder: Decoder, canvas: int) -> None:
        self._decoder, self._canvas = decoder, canvas

    def hidden(self, sequences: Sequence[OpenSequence], wanted: Sequence[Ints]) -> torch.Tensor:
        """See `Context`."""
        ends = [_last(s, self._canvas) for s in sequences]
        tokens = np.zeros((len(sequences), max(ends)), np.int64)
        positions = np.full_like(tokens, NOWHERE)
        for row, (sequence, end) in enumerate(zip(sequences, ends, strict=True)):
            tokens[row, :end] = _shown(sequence.tokens[:end], self._decoder.traits)
            positions[row, :end] = np.arange(end)
        device = self._decoder.device
        made = self._decoder(torch.from_numpy(tokens).to(device), torch.from_numpy(positions).to(device))
        shift = int(self._decoder.traits.shift)
        return _picked(made, [at - shift for at in wanted])

    def reject(self, row: int) -> None:
        """Nothing is kept."""

    def select(self, rows: Ints) -> None:
        """Nothing is kept."""


class CachedContext:
    """Causal and block-causal attention: finished blocks are read once, with the next block's first pass.

    `cached` [R] is the position of each row up to which its keys are kept.
    """

    def __init__(self, decoder: Decoder, cache: Cache, cached: Ints) -> None:
        self._decoder, self._cache, self._cached = decoder, cache, cached
        self._before, self._began = cached, cache.length

    def hidden(self, sequences: Sequence[OpenSequence], wanted: Sequence[Ints]) -> torch.Tensor:
        """See `Context`."""
        traits = self._decoder.traits
        masked = traits.mask is not None
        borders = np.array([_border(s) for s in sequences], np.int64)
        behind = int((borders - self._cached).max())
        opened = traits.block if masked and any(s.block is not None for s in sequences) else 0
        tokens = np.zeros((len(sequences), behind + opened), np.int64)
        positions = np.full_like(tokens, NOWHERE)
        for row, (sequence, border) in enumerate(zip(sequences, borders.tolist(), strict=True)):
            begin = int(self._cached[row])
            end = border + (opened if sequence.block is not None else 0)
            place = slice(behind - (border - begin), behind + end - border)
            tokens[row, place] = _shown(sequence.tokens[begin:end], traits)
            positions[row, place] = np.arange(begin, end)
        made = _read(self._decoder, self._cache, tokens, positions)
        self._began = self._cache.length - behind - opened
        self._cache.keep(self._began + behind)
        self._before, self._cached = self._cached, borders
        shift = int(traits.shift)
        return _picked(made, [at - border + behind - shift for at, border in zip(wanted, borders, strict=True)])

    def reject(self, row: int) -> None:
        """See `Context`."""
        self._cache.forget(torch.tensor([row], device=self._decoder.device), self._began)
        self._cached[row] = self._before[row]

    def select(self, rows: Ints) -> None:
        """See `Context`; it also drops places of the cache that no row needs."""
        if len(rows) < self._cache.rows:
            self._cache.select(torch.from_numpy(rows).to(self._decoder.device))
            self._cached = self._cached[rows]
        # Rows whose blocks begin in different passes leave holes in each other's places.
        if len(rows) and self._cache.length > 2 * int(self._cached.max()) + 64:
            self._cache.compact()


class Prefill:
    """Reads prompts, the prefix that they share once; it keeps the prefixes of the last runs."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._kept: OrderedDict[tuple[int, ...], Cache] = OrderedDict()

    def __call__(self, sequences: Sequence[OpenSequence], prefix: tuple[int, ...]) -> CachedContext:
        """Returns the context of sequences whose prompts begin with this prefix, which ends at a border of blocks."""
        decoder, traits = self._decoder, self._decoder.traits
        rows = torch.zeros(len(sequences), dtype=torch.long, device=decoder.device)
        cache = self._prefix(prefix).copy(rows)
        # With the shift the last token of the prompt scores the first one of the answer.
        ends = np.array([_border(s) - int(traits.shift) for s in sequences], np.int64)
        ends = np.maximum(ends, len(prefix))
        longest = int(ends.max()) - len(prefix)
        tokens = np.zeros((len(sequences), longest), np.int64)
        positions = np.full_like(tokens, NOWHERE)
        for row, (sequence, end) in enumerate(zip(sequences, ends.tolist(), strict=True)):
            place = slice(longest - (end - len(prefix)), longest)
            tokens[row, place] = sequence.tokens[len(prefix) : end]
            positions[row, place] = np.arange(len(prefix), end)
        self._fill(cache, tokens, positions)
        return CachedContext(decoder, cache, ends)

    def _prefix(self, prefix: tuple[int, ...]) -> Cache:
        found = self._kept.get(prefix)
        if found is None:
            found = Cache(self._decoder.traits.layers, 1, self._decoder.device)
            tokens = np.array([prefix], np.int64)
            self._fill(found, tokens, np.arange(len(prefix))[None])
            if not prefix:
                return found
            while len(self._kept) >= PREFIXES:
                self._kept.popitem(last=False)
            self._kept[prefix] = found
        self._kept.move_to_end(prefix)
        return found

    def _fill(self, cache: Cache, tokens: Ints, positions: Ints) -> None:
        # The rows end alike at borders of blocks, so pieces counted from the end do, too.
        block = self._decoder.traits.block
        piece = max(PREFILL // block, 1) * block
        width = tokens.shape[1]
        cuts = [0, *range(width % piece, width + 1, piece)] if width else []
        for begin, end in pairwise(cuts):
            if begin < end:
                _read(self._decoder, cache, tokens[:, begin:end], positions[:, begin:end])


def _read(decoder: Decoder, cache: Cache, tokens: Ints, positions: Ints) -> torch.Tensor:
    device = decoder.device
    made: torch.Tensor = decoder(
        torch.from_numpy(np.ascontiguousarray(tokens)).to(device),
        torch.from_numpy(np.ascontiguousarray(positions)).to(device),
        cache,
    )
    return made


def _border(sequence: OpenSequence) -> int:
    """Returns the end of the blocks that are full."""
    if sequence.block is not None:
        return sequence.block.begin
    assert sequence.checked is not None
    return sequence.checked.end


def _last(sequence: OpenSequence, canvas: int) -> int:
    block = sequence.block or sequence.checked
    assert block is not None
    return min(sequence.limit, max(sequence.begin + canvas, block.stop))


def _shown(tokens: Ints, traits: Traits) -> Ints:
    """Returns the tokens with the mask token in open positions."""
    return np.where(tokens < 0, traits.mask or 0, tokens)


def _picked(hidden: torch.Tensor, wanted: Sequence[Ints]) -> torch.Tensor:
    """[N, D], the hidden states at these places of each row."""
    rows = np.repeat(np.arange(len(wanted)), [len(at) for at in wanted])
    places = np.concatenate(wanted) if len(wanted) else rows
    device = hidden.device
    return hidden[torch.from_numpy(rows).to(device), torch.from_numpy(places).to(device)]
