"""The forward passes of a batch of sequences, with a cache of keys.

The keys and values of finished blocks depend on nothing behind them, so they are read once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from cinnabar.engine.language.sequences import OpenSequence
from cinnabar.engine.models.language.arrays import Ints
from cinnabar.engine.models.language.cache import PAGE, CacheRow, PagedCache, page_size
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.memory import (
    PREFILL,
    PREFILL_OF_ACCELERATOR,
    cache_budget,
    free_memory,
    position_numbers,
)
from cinnabar.engine.models.language.passes import Passes, Piece
from cinnabar.engine.models.language.traits import Traits


@dataclass(slots=True)
class _Reading:
    """A row in a pass that is being planned.

    begin: the first position to read, at most `first`, which is the first one that its scores need. border: the end of
    its full blocks. whole: the end of all that is read before the row is scored, with `drafted` tokens.
    """

    number: int
    row: CacheRow
    first: int
    border: int
    whole: int
    drafted: int = 0
    begin: int = 0

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Sets the first position to read by what the row has read."""
        self.begin = min(self.row.length, self.first)


class PagedContext:
    """Attention with a direction: finished blocks are read once, with the next block's first pass.

    A prompt is read in the same passes as the open blocks of others, so many of its tokens a pass. If logits at a
    position are for the next one, the last token of a finished block scores the first position of the open one, so it
    is read in every pass.

    Rows take pages as they grow. Where none is left, the youngest row gives its pages back and reads its text again
    when there is room; the oldest row always goes on.
    """

    def __init__(self, decoder: Decoder, pages: int | None = None, page: int | None = None) -> None:
        """pages: of the cache; without them as many as the free memory has room for."""
        self._decoder, self._traits = decoder, decoder.traits
        self._causal = decoder.traits.noise == "none" and decoder.device.type == "cpu"
        dtype = decoder.model.norm.weight.dtype
        page = page or PAGE
        #: The most tokens of prompts in a pass, and in one of a CPU whose time is bounded (64 take as long in all).
        self.prefill = PREFILL if decoder.device.type == "cpu" else PREFILL_OF_ACCELERATOR
        self.stretch = page if decoder.device.type == "cpu" else self.prefill
        self.hurried = False
        #: The tokens of the last pass.
        self.read = 0
        count = pages or most_pages(decoder.traits, dtype, decoder.device, page)
        self.cache = PagedCache(decoder.traits, count, decoder.device, dtype, page)
        self.passes: Callable[[Sequence[Piece]], torch.Tensor] = Passes(decoder, self.cache)
        #: The row of each sequence, and the end of what it last read or wants to read.
        self._rows: dict[int, tuple[CacheRow, int]] = {}

    def refusal(self, tokens: int) -> str | None:
        """Returns why so many tokens can never be read, None if the cache has pages enough for them."""
        pool = self.cache.pool
        if self.cache.pages_of(tokens) <= pool.pages:
            return None
        return (
            f"prompt and answer may take {tokens} tokens, and the memory for keys holds {pool.pages * pool.size}; use a"
            " smaller context"
        )

    def join(self, sequence: OpenSequence) -> bool:
        """Opens a row of the cache; returns False if all rows that wait for pages would not find room beside it."""
        border = _border(sequence)
        # The tail of the prompt that lies in the open block is no part of it, nor what is read again for the shift.
        row = self.cache.open(sequence.tokens[: max(border - int(self._traits.shift), 0)])
        end = border + self._block_length(sequence)
        promised = sum(self.cache.room_needed(*one) for one in self._rows.values() if not one[0].pages)
        if self._rows and self.cache.room_needed(row, end) + promised > self.cache.pool.room:
            return False
        self._rows[id(sequence)] = row, end
        return True

    def leave(self, sequence: OpenSequence, spoilt: bool = False) -> None:
        """Gives the pages of a sequence back; what a `spoilt` one read is not shared with others."""
        self.cache.close(self._rows.pop(id(sequence))[0], spoilt)

    def rewind(self, sequence: OpenSequence, begin: int) -> None:
        """Keeps the keys of a sequence up to this border of blocks."""
        self.cache.keep(self._rows[id(sequence)][0], begin)

    def keep_draft(self, sequence: OpenSequence, end: int) -> None:
        """Keeps what the last pass read before this position, the part of a draft that was right."""
        self._rows[id(sequence)][0].length = end

    def unread(self, sequence: OpenSequence) -> int:
        """Returns the tokens that are still to be read before the open block of a sequence is scored."""
        if sequence.done:
            return 0
        row, _ = self._rows[id(sequence)]
        self.cache.adopt(row)
        return max(_border(sequence) - row.length, 0)

    def count_cached(self, sequence: OpenSequence) -> int:
        """Returns the tokens of the prompt whose keys were there when the sequence joined."""
        return self._rows[id(sequence)][0].cached

    def clear(self) -> None:
        """Drops all rows, and the keys of all pages."""
        self._rows.clear()
        self.cache.clear()

    def hidden(self, sequences: Sequence[OpenSequence], wanted: Sequence[Ints]) -> tuple[list[int], torch.Tensor]:
        """Runs one pass over the pieces of text that are planned for it. Returns (rows, [N, D]): the numbers of the
        sequences that it scored, in their order, and the hidden states at each one's `wanted` positions (absolute).

        sequences: all that are taken in, the oldest first.
        """
        shift = int(self._traits.shift)
        pieces: dict[int, Piece] = {}
        scored = list[int]()
        for reading, end in self._plan_pass(sequences):
            sequence, whole = sequences[reading.number], end == reading.whole
            tokens = sequence.tokens[reading.begin : end]
            tokens = np.where(tokens < 0, self._traits.mask or 0, tokens)
            if whole and reading.drafted:
                tokens[-reading.drafted :] = sequence.draft
            at = wanted[reading.number] - shift if whole else np.zeros(0, np.int64)
            opened = reading.border if whole else None
            alone = sequence.begin if self._causal else None
            pieces[reading.number] = Piece(reading.row, reading.begin, tokens, opened, at, alone)
            reading.row.length = min(end, reading.border)
            if whole:
                scored.append(reading.number)
        states = self.passes([pieces[number] for number in sorted(pieces)])
        self.read = sum(len(piece.tokens) for piece in pieces.values())
        return sorted(scored), states

    def _plan_pass(self, sequences: Sequence[OpenSequence]) -> list[tuple[_Reading, int]]:
        """Returns what each row reads in the next pass, and the end of it; some rows may read nothing."""
        readings = [self._plan_row(number, sequence) for number, sequence in enumerate(sequences)]
        oldest, rest = readings[0], readings[1:]
        # The oldest row first, so that it has its pages; then open blocks, and prompts with little left before others:
        # no row waits for a long prompt.
        rest.sort(key=self._prompt)
        planned: dict[int, tuple[_Reading, int]] = {}
        left = max(self.stretch if self.hurried else self.prefill, 4 * self._traits.block)
        for reading in (oldest, *rest):
            row, room = reading.row, self.cache.pool.room
            if not row.pages and reading is not oldest and self.cache.room_needed(row, reading.whole) > room:
                continue
            self.cache.adopt(row)
            reading.start()
            prompt = self._prompt(reading)
            # Half of the tokens are for prompts behind the oldest one.
            most = max(left // 2, min(left, self._traits.block)) if reading is oldest and len(readings) > 1 else left
            end = reading.whole if prompt <= most else self._cut(reading.begin, reading.begin + most)
            if end <= reading.begin or not self._extend(readings, planned, reading, end):
                continue
            left -= min(prompt, end - reading.begin)
            planned[reading.number] = reading, end
        return list(planned.values())

    def _plan_row(self, number: int, sequence: OpenSequence) -> _Reading:
        row, _ = self._rows[id(sequence)]
        border, checked = _border(sequence), sequence.checked
        first = max((border if checked is None else checked.begin) - int(self._traits.shift), 0)
        drafted = len(sequence.draft)
        whole = border + self._block_length(sequence) + drafted
        self._rows[id(sequence)] = row, whole
        return _Reading(number, row, first, border, whole, drafted)

    def _block_length(self, sequence: OpenSequence) -> int:
        return self._traits.block if self._traits.noise != "none" and sequence.block is not None else 0

    def _prompt(self, reading: _Reading) -> int:
        """Returns the tokens to read beyond those of a usual pass: two blocks, and what the shift reads again."""
        many = reading.whole - reading.drafted - reading.begin
        return many if many > 2 * self._traits.block + 1 else 0

    def _cut(self, begin: int, end: int) -> int:
        """Returns the last border of blocks up to `end`, or that of a causal text's pages if one is behind `begin`."""
        page = end // self.cache.size * self.cache.size
        return page if self._causal and page > begin else end // self._traits.block * self._traits.block

    def _extend(
        self, readings: Sequence[_Reading], planned: dict[int, tuple[_Reading, int]], reading: _Reading, end: int
    ) -> bool:
        """Gives a row the pages of its part, if need be those of younger rows that the pass does not read."""
        younger = [one for one in readings[reading.number + 1 :] if one.number not in planned and one.row.pages]
        while not self.cache.extend(reading.row, end):
            if not younger:
                return False
            self.cache.close(younger.pop().row)
        return True


def most_pages(traits: Traits, dtype: torch.dtype, device: torch.device, page: int) -> int:
    """Returns the pages of a cache in the memory that is free now, at least one."""
    free = free_memory(device)
    places = page_size(traits, page)
    # Where the system tells nothing, as many as one text may have.
    if free is None:
        return -(-traits.window // places)
    return max(cache_budget(free) // (position_numbers(traits) * places * dtype.itemsize), 1)


def _border(sequence: OpenSequence) -> int:
    """Returns the end of the blocks that are full."""
    if sequence.block is not None:
        return sequence.block.begin
    assert sequence.checked is not None
    return sequence.checked.end
