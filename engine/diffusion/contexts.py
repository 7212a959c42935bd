"""The forward passes of a batch of sequences: with a cache of keys for causal families, without one for the others.

In causal and block-causal families the keys and values of finished blocks depend on nothing behind them, so they are
read once. With full attention those of the prompt depend on the answer, so each pass reads everything: exact, and slow.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch

from cinnabar.engine.diffusion.arrays import Ints
from cinnabar.engine.diffusion.sequences import OpenSequence
from cinnabar.engine.models.language.cache import NOWHERE, Cache
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits

#: Tokens of a prompt that are read in one pass, at most; shared prefixes that are kept: one for each group of examples.
PREFILL, PREFIXES = 512, 4
#: Padding tokens that are worth a pass of their own.
SPARED = 16


class Context(Protocol):
    """Reads the sequences of a batch, one row each."""

    def hidden(self, sequences: Sequence[OpenSequence], wanted: Sequence[Ints]) -> torch.Tensor:
        """Returns [N, D], after one pass: the hidden states that score each row's `wanted` positions (absolute)."""
        ...

    def rewind(self, row: int, begin: int) -> None:
        """Takes back what is kept of this row from this border of blocks on."""
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

    def rewind(self, row: int, begin: int) -> None:
        """Nothing is kept."""

    def select(self, rows: Ints) -> None:
        """Nothing is kept."""


class CachedContext:
    """Attention with a direction: finished blocks are read once, with the next block's first pass.

    The cache holds each row's finished blocks. If logits at a position are for the next one, the last token of a
    finished block scores the first position of the open one, so it is read in every pass.
    """

    def __init__(self, decoder: Decoder, cache: Cache) -> None:
        self._decoder, self._cache = decoder, cache

    def hidden(self, sequences: Sequence[OpenSequence], wanted: Sequence[Ints]) -> torch.Tensor:
        """See `Context`."""
        traits = self._decoder.traits
        opened = traits.block if traits.noise != "none" else 0
        begins = self._cache.lengths.tolist()
        borders = [_border(sequence) for sequence in sequences]
        ends = [
            border + (opened if sequence.block is not None else 0)
            for sequence, border in zip(sequences, borders, strict=True)
        ]
        parts: dict[int, torch.Tensor] = {}
        for rows in self._groups(np.subtract(ends, begins)):
            self._cache.narrow(torch.from_numpy(rows))
            inputs = [_shown(sequences[row].tokens[begins[row] : ends[row]], traits) for row in rows]
            opens = [borders[row] for row in rows]
            made = _read(self._decoder, self._cache, *aligned(inputs, [begins[row] for row in rows]), opens)
            # The rows end alike, at the right.
            first = [ends[row] - made.shape[1] + int(traits.shift) for row in rows]
            for row, states, shift in zip(rows.tolist(), made, first, strict=True):
                parts[row] = states[torch.from_numpy(wanted[row] - shift).to(states.device)]
        self._cache.keep(torch.tensor([kept_before(traits, border) for border in borders]))
        return torch.cat([parts[row] for row in range(len(sequences))])

    def _groups(self, widths: Ints) -> list[Ints]:
        """Returns the rows in one group, or in two if that spares many padding tokens."""
        order = np.argsort(widths, kind="stable")
        placed = widths[order]
        count = np.arange(1, len(placed))
        spared = count * (placed[-1] - placed[:-1])
        # An accelerator computes padding beside the rest, while a second pass takes as long as the first.
        if not len(spared) or spared.max() < SPARED or self._decoder.device.type != "cpu":
            return [np.arange(len(widths))]
        cut = int(spared.argmax()) + 1
        return [np.sort(order[:cut]), np.sort(order[cut:])]

    def rewind(self, row: int, begin: int) -> None:
        """See `Context`."""
        lengths = self._cache.lengths.clone()
        # An autoregressive model, too, reads the last token before the border again: it scores the first one behind.
        lengths[row] = min(int(lengths[row]), max(begin - int(self._decoder.traits.shift), 0))
        self._cache.keep(lengths)

    def select(self, rows: Ints) -> None:
        """See `Context`."""
        if len(rows) < self._cache.rows:
            self._cache.select(torch.from_numpy(rows))


class Prefill:
    """Reads prompts, the prefix that they share once; it keeps the prefixes of the last runs."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._kept: OrderedDict[tuple[int, ...], Cache] = OrderedDict()

    def __call__(self, sequences: Sequence[OpenSequence], prefix: tuple[int, ...]) -> CachedContext:
        """Returns the context of sequences whose prompts begin with this prefix, which ends at a border of blocks."""
        decoder, begin = self._decoder, len(prefix)
        cache = self._prefix(prefix).copy(torch.zeros(len(sequences), dtype=torch.long))
        # With the shift the last token of the prompt scores the first one of the answer. In a block it is read before
        # it is dropped, for the others of the block see it.
        alone = int(decoder.traits.shift and decoder.traits.block == 1)
        borders = [_border(sequence) for sequence in sequences]
        parts = [
            sequence.tokens[begin : max(border - alone, begin)]
            for sequence, border in zip(sequences, borders, strict=True)
        ]
        self._fill(cache, *aligned(parts, [begin] * len(parts)))
        cache.keep(torch.tensor([kept_before(decoder.traits, border) for border in borders]))
        return CachedContext(decoder, cache)

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


def _read(
    decoder: Decoder, cache: Cache, tokens: Ints, positions: Ints, opens: Sequence[int] | None = None
) -> torch.Tensor:
    device = decoder.device
    made: torch.Tensor = decoder(
        torch.from_numpy(np.ascontiguousarray(tokens)).to(device),
        torch.from_numpy(np.ascontiguousarray(positions)).to(device),
        cache,
        None if opens is None else torch.tensor(opens, device=device),
    )
    return made


def kept_before(traits: Traits, border: int) -> int:
    """Returns how many positions before this border of blocks a cache keeps."""
    return max(border - int(traits.shift and traits.block > 1), 0)


def aligned(texts: Sequence[Ints], begins: Sequence[int]) -> tuple[Ints, Ints]:
    """Returns (tokens, positions), each [R, T]: texts that begin at these positions, padded on the left."""
    width = max(map(len, texts))
    tokens = np.zeros((len(texts), width), np.int64)
    positions = np.full_like(tokens, NOWHERE)
    for row, (text, begin) in enumerate(zip(texts, begins, strict=True)):
        place = slice(width - len(text), width)
        tokens[row, place], positions[row, place] = text, np.arange(begin, begin + len(text))
    return tokens, positions


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
