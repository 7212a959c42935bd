"""Packed forward passes: parts of many rows as one text, over the pages of a cache.

Linear layers compute each token by itself, so the tokens of all rows are one text without padding, and rows are told
apart by attention alone. All numbers of a pass (tokens, positions, places, pages) are made on the host as one array
and copied once; nothing in a pass waits for the device.

On a CPU the shapes are those of the rows. On other devices all numbers of a shape are rounded up to steps, so that few
shapes are met, and a pass of a shape is captured as a CUDA graph when the shape is met again.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from cinnabar.engine.models.language.attention import (
    NONE_OPEN,
    Attend,
    FlexPagedAttention,
    PackedTokens,
    PagedAttention,
    RowGroup,
)
from cinnabar.engine.models.language.cache import NOWHERE, CacheRow, PagedCache
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.memory import give_back_memory
from cinnabar.engine.models.language.pages import Ints

_log = logging.getLogger(__name__)

#: Rows are attended together on a CPU as long as this share of their work is not padding.
USED = 0.8
#: Captured passes that are kept.
CAPTURED = 64
#: The fewest tokens, rows and pages of a shape with steps; further steps are halves of powers of two.
LEAST_TOKENS, LEAST_ROWS, LEAST_PAGES = 16, 1, 4
#: A pass of so many tokens on a CPU gives back the memory of its temporaries, up to 300 MB, which takes 10 ms.
LONG = 256
#: Rows with more tokens than this in a pass, as parts of prompts have, are a group of their own.
SHORT = 64

#: Tokens, rows of the hidden states that are wanted, and (rows, tokens, pages) of each group.
Shape = tuple[int, int, tuple[tuple[int, int, int], ...]]


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens of a row that a pass reads, from position `begin` on.

    opened: the first position of the row's open block, None if the pass reads none. wanted: [P] int64, absolute
    positions whose hidden states are asked for.
    """

    row: CacheRow
    begin: int
    tokens: Ints
    opened: int | None
    wanted: Ints

    @property
    def end(self) -> int:
        """The position behind the last token."""
        return self.begin + len(self.tokens)


class Passes:
    """Runs packed passes of a decoder over a cache.

    stepped: whether shapes are rounded up, as they are on devices other than a CPU. captured: whether passes on CUDA
    are captured. `captures` counts the passes that were, `replays` how often one ran.
    """

    def __init__(
        self, decoder: Decoder, cache: PagedCache, stepped: bool | None = None, captured: bool = True
    ) -> None:
        self._decoder, self._cache = decoder, cache
        device = decoder.device
        self._stepped = device.type != "cpu" if stepped is None else stepped
        self._captured = captured and device.type == "cuda"
        self._flex = device.type == "cuda"
        self._static: OrderedDict[Shape, StaticPass] = OrderedDict()
        self._met: OrderedDict[Shape, None] = OrderedDict()
        #: Memory that all captured passes use, one after the other.
        self._pool: Any = None
        self.captures = self.replays = 0

    def __call__(self, pieces: Sequence[Piece]) -> torch.Tensor:
        """Returns [P, D]: the hidden states of all wanted positions, in the order of the pieces."""
        self._cache.prepare()
        shape, numbers = packed_numbers(pieces, self._cache, self._stepped)
        sizes = tuple(len(piece.tokens) for piece in pieces)
        wanted = sum(len(piece.wanted) for piece in pieces)
        if self._captured and shape in self._met:
            return self._replayed(shape, numbers)[:wanted]
        if self._captured:
            self._met[shape] = None
            while len(self._met) > 4 * CAPTURED:
                self._met.popitem(last=False)
        device = self._decoder.device
        return self._run(torch.from_numpy(numbers).to(device, non_blocking=True), shape, sizes)[:wanted]

    def _run(self, numbers: torch.Tensor, shape: Shape, sizes: tuple[int, ...] = ()) -> torch.Tensor:
        packed, picked = unpacked(numbers, shape, sizes)
        return self.run(packed, picked)

    def run(self, packed: PackedTokens, picked: torch.Tensor) -> torch.Tensor:
        """Returns the hidden states [P, D] of the `picked` tokens ([P] int64) of a packed pass."""
        if self._flex:
            try:
                return self._read(packed, picked, FlexPagedAttention(self._decoder.traits, self._cache, packed))
            except torch.OutOfMemoryError:
                raise
            except Exception as error:
                if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
                    raise
                self._flex = False
                _log.warning("FlexAttention failed, so attention copies the pages of each row: %s", error)
        dtype = self._decoder.model.norm.weight.dtype
        return self._read(packed, picked, PagedAttention(self._decoder.traits, self._cache, packed, dtype))

    def _read(self, packed: PackedTokens, picked: torch.Tensor, attend: Attend) -> torch.Tensor:
        hidden: torch.Tensor = self._decoder(packed.tokens[None], packed.positions[None], attend)
        if len(packed.tokens) >= LONG and self._decoder.device.type == "cpu":
            give_back_memory()
        return hidden[0].index_select(0, picked)

    def _replayed(self, shape: Shape, numbers: Ints) -> torch.Tensor:
        replay = self._static.get(shape) or self._capture(shape, numbers)
        if replay is None:
            return self._run(torch.from_numpy(numbers).to(self._decoder.device), shape)
        self._static.move_to_end(shape)
        self.replays += 1
        return replay(numbers)

    def _capture(self, shape: Shape, numbers: Ints) -> StaticPass | None:
        captured = StaticPass(lambda held: self._run(held, shape), numbers, self._decoder.device)
        try:
            self._pool = captured.capture(self._pool)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            self._captured = False
            self._static.clear()
            _log.warning("the pass cannot be captured as a CUDA graph, so each pass is launched anew: %s", error)
            return None
        self.captures += 1
        self._static[shape] = captured
        while len(self._static) > CAPTURED:
            self._static.popitem(last=False)
        return captured


class StaticPass:
    """A pass of one shape, whose numbers and result stay at their addresses."""

    def __init__(self, run: Callable[[torch.Tensor], torch.Tensor], numbers: Ints, device: torch.device) -> None:
        self._run = run
        self._host = torch.from_numpy(numbers.copy())
        if device.type == "cuda":
            self._host = self._host.pin_memory()
        self._numbers = self._host.to(device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._made: torch.Tensor | None = None

    def capture(self, pool: Any) -> Any:
        """Captures the pass as a CUDA graph; before that it runs once beside, as CUDA asks for.

        pool: the memory of other graphs, None for the first one. Returns that of all.
        """
        beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            self._run(self._numbers)
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        # Another thread may use the device meanwhile, as behind a server.
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            self._made = self._run(self._numbers)
        self._graph = graph
        return graph.pool()

    def __call__(self, numbers: Ints) -> torch.Tensor:
        """Returns the hidden states for these numbers, of the same shape; the next pass writes over them."""
        if self._graph is not None:
            # The copy before may still read the buffer.
            torch.cuda.current_stream().synchronize()
        self._host.copy_(torch.from_numpy(numbers))
        self._numbers.copy_(self._host, non_blocking=True)
        if self._graph is None:
            made = self._run(self._numbers)
            if self._made is None:
                self._made = torch.empty_like(made)
            self._made.copy_(made)
        else:
            self._graph.replay()
        assert self._made is not None
        return self._made


def packed_numbers(pieces: Sequence[Piece], cache: PagedCache, stepped: bool) -> tuple[Shape, Ints]:
    """Returns the shape of a pass over these pieces, and all of its numbers as one array; see `unpacked`."""
    sizes = [len(piece.tokens) for piece in pieces]
    starts = np.cumsum([0, *sizes])
    many, wanted = int(starts[-1]), sum(len(piece.wanted) for piece in pieces)
    pages = [cache.pages_of(piece.end) for piece in pieces]
    groups = _groups(sizes, pages, stepped)
    shapes = [(len(rows), max(sizes[at] for at in rows), max(pages[at] for at in rows)) for rows in groups]
    tokens, picks = many, wanted
    if stepped:
        shapes = [
            (step(rows, LEAST_ROWS), step(length, 1), step(count, LEAST_PAGES)) for rows, length, count in shapes
        ]
        # One token more is the padding that others point to.
        tokens, picks = step(many + 1, LEAST_TOKENS), step(wanted, LEAST_TOKENS)
    head = np.zeros((4, tokens), np.int64)
    head[1] = NOWHERE
    picked = np.zeros(picks, np.int64)
    parts, at, stood = [head.ravel(), picked], 0, 0
    for number, piece in enumerate(pieces):
        part = slice(starts[number], starts[number + 1])
        positions = np.arange(piece.begin, piece.end)
        head[0, part], head[1, part] = piece.tokens, positions
        head[2, part] = cache.places(piece.row, positions)
        picked[at : at + len(piece.wanted)] = starts[number] + piece.wanted - piece.begin
        at += len(piece.wanted)
    for rows, (height, width, count) in zip(groups, shapes, strict=True):
        queries = np.full((height, width), tokens - 1, np.int64)
        tables = np.zeros((height, count), np.int64)
        lengths, opened = np.zeros(height, np.int64), np.full(height, NONE_OPEN, np.int64)
        for line, number in enumerate(rows):
            piece, size = pieces[number], sizes[number]
            queries[line, :size] = np.arange(starts[number], starts[number + 1])
            tables[line, : pages[number]] = piece.row.pages[: pages[number]]
            lengths[line] = piece.end
            opened[line] = NONE_OPEN if piece.opened is None else piece.opened
            head[3, starts[number] : starts[number + 1]] = stood + line * width + np.arange(size)
        stood += height * width
        parts += [queries.ravel(), tables.ravel(), lengths, opened]
    return (tokens, picks, tuple(shapes)), np.concatenate(parts)


def unpacked(numbers: torch.Tensor, shape: Shape, sizes: tuple[int, ...]) -> tuple[PackedTokens, torch.Tensor]:
    """Returns the packed tokens, and the numbers [P] of those whose hidden states are wanted, as views."""
    many, picks, shapes = shape
    tokens, positions, places, order = numbers[: 4 * many].view(4, many)
    at = 4 * many
    picked = numbers[at : at + picks]
    at += picks
    groups = []
    for rows, length, pages in shapes:
        cuts = [rows * length, rows * pages, rows, rows]
        queries, tables, lengths, opened = torch.split(numbers[at : at + sum(cuts)], cuts)
        groups.append(RowGroup(queries.view(rows, length), tables.view(rows, pages), lengths, opened))
        at += sum(cuts)
    return PackedTokens(tokens, positions, places, order, tuple(groups), sizes), picked


def step(count: int, least: int) -> int:
    """Returns the least number of those from `least` on, each half a power of two behind the other, that holds it."""
    if count <= least:
        return least
    power = 1 << (count - 1).bit_length()
    return 3 * power // 4 if count <= 3 * power // 4 else power


def _groups(sizes: Sequence[int], pages: Sequence[int], stepped: bool) -> list[list[int]]:
    """Returns the rows that are attended together, by their numbers."""
    if stepped:
        # A row of 32,000 positions beside 127 short ones would be 128 copies of that length.
        kinds: dict[tuple[bool, int], list[int]] = {}
        for at, (size, count) in enumerate(zip(sizes, pages, strict=True)):
            kinds.setdefault((size > SHORT, count.bit_length() // 2), []).append(at)
        return [kinds[kind] for kind in sorted(kinds)]
    order = sorted(range(len(sizes)), key=lambda at: (sizes[at], pages[at]))
    groups: list[list[int]] = []
    used = 0
    for at in order:
        # The last row of a group is the longest one, and has all but the most pages.
        work = sizes[at] * pages[at]
        if groups:
            rows = groups[-1]
            whole = (len(rows) + 1) * sizes[at] * max(pages[at], max(pages[row] for row in rows))
            if used + work >= USED * whole:
                rows.append(at)
                used += work
                continue
        groups.append([at])
        used = work
    return groups
