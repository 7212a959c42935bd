"""Packed forward passes: parts of many rows as one text, over the pages of a cache.

Linear layers compute each token by itself, so the tokens of all rows are one text without padding, and rows are told
apart by attention alone. All numbers of a pass (tokens, positions, places, pages) are made on the host as one array
and copied once; nothing in a pass waits for the device.

On a CPU the shapes are those of the rows. On other devices parts of prompts and open blocks are passes of their own.
Those of open blocks have their numbers rounded up to steps, so that few shapes are met, and such a pass is captured as
a CUDA graph when its shape is met again.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from cinnabar.engine.models.backend import backend_of
from cinnabar.engine.models.language.arrays import Ints
from cinnabar.engine.models.language.attention import (
    NONE_OPEN,
    Attend,
    PackedTokens,
    PagedAttention,
    PagedKernel,
    RowGroup,
    TiledAttention,
)
from cinnabar.engine.models.language.cache import NOWHERE, CacheRow, PagedCache
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.memory import LONG_PASS, give_back_memory
from cinnabar.kernels.paged_attention import TILE_FIELDS, PagedRows, tile_tokens, tiles_of

#: Rows are attended together on a CPU as long as this share of their work is not padding.
USED_SHARE = 0.8
_log = logging.getLogger(__name__)

#: Captured passes that are kept.
CAPTURED = 64
#: The fewest tokens, rows and pages of a shape with steps; further steps are halves of powers of two.
LEAST_TOKENS, LEAST_ROWS, LEAST_PAGES = 16, 1, 4

#: Tokens, rows of the hidden states that are wanted, and (rows, tokens, pages) of each group.
Shape = tuple[int, int, tuple[tuple[int, int, int], ...]]
#: Tokens, rows of the hidden states that are wanted, tiles, rows, and pages of a row.
TiledShape = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens of a row that a pass reads, from position `begin` on.

    opened: the first position of the row's open block, None if the pass reads none. wanted: [P] int64, absolute
    positions whose hidden states are asked for. alone: of a causal text the position from which a CPU attends token by
    token, and page by page before it: then a token's values are the same to the bit, whatever else a pass reads.
    """

    row: CacheRow
    begin: int
    tokens: Ints
    opened: int | None
    wanted: Ints
    alone: int | None = None

    @property
    def end(self) -> int:
        """The position behind the last token."""
        return self.begin + len(self.tokens)


class Passes:
    """Runs packed passes of a decoder over a cache.

    attend: the attention over tiles, with which passes of open blocks are of few shapes; without it the kernel of a
    device that has one. captured: whether passes on CUDA are captured. `captures` counts the passes that were,
    `replays` how often one ran, `decoding` the passes of open blocks.
    """

    def __init__(
        self,
        decoder: Decoder,
        cache: PagedCache,
        captured: bool = True,
        attend: PagedKernel | None = None,
    ) -> None:
        self._decoder, self._cache = decoder, cache
        device = decoder.device
        if attend is None and device.type != "cpu" and backend_of(device) == "triton":
            # Cold start: Triton takes 0.2 s, and a CPU runs without it.
            from cinnabar.kernels.paged_attention_triton import paged_attention_triton

            attend = paged_attention_triton
        self._attend = attend
        self._captured = captured and device.type == "cuda"
        traits = decoder.traits
        #: The most tokens of a row in a pass of open blocks, and of a tile.
        self._usual, self._tile = 2 * traits.block + 1, tile_tokens(traits.heads // traits.key_heads)
        self._static: OrderedDict[TiledShape, StaticPass] = OrderedDict()
        self._met: OrderedDict[TiledShape, None] = OrderedDict()
        #: Memory that all captured passes use, one after the other.
        self._pool: Any = None
        self.captures = self.replays = self.decoding = 0

    def __call__(self, pieces: Sequence[Piece]) -> torch.Tensor:
        """Returns [P, D]: the hidden states of all wanted positions, in the order of the pieces."""
        self._cache.prepare()
        if self._attend is None:
            return self._run_together(pieces)
        usual = self._open_blocks(pieces)
        made = [
            self._read_tiles([piece for piece, own in zip(pieces, usual, strict=True) if own is kind], kind)
            for kind in sorted(set(usual))
        ]
        if len(made) == 1:
            return made[0]
        # Wanted states of prompts come first, those of open blocks behind them.
        kinds = np.repeat(usual, [len(piece.wanted) for piece in pieces])
        back = np.empty(len(kinds), np.int64)
        back[np.argsort(kinds, kind="stable")] = np.arange(len(kinds))
        return torch.cat(made).index_select(0, torch.from_numpy(back).to(made[0].device))

    def _open_blocks(self, pieces: Sequence[Piece]) -> list[bool]:
        """Returns which pieces are read in the second pass, that of open blocks.

        Rows share pages that one of them reads in this very step. So a piece goes to the first pass, too, if it writes
        a page that one of the first pass sees.
        """
        cache, usual = self._cache, [len(piece.tokens) <= self._usual for piece in pieces]
        seen: set[int] = set()
        waiting = [at for at, own in enumerate(usual) if not own]
        while waiting:
            seen |= {page for at in waiting for page in pieces[at].row.pages[: cache.pages_of(pieces[at].end)]}
            waiting = [
                at for at, piece in enumerate(pieces) if usual[at] and not seen.isdisjoint(_written(piece, cache))
            ]
            for at in waiting:
                usual[at] = False
        return usual

    def _run_together(self, pieces: Sequence[Piece]) -> torch.Tensor:
        shape, numbers = packed_numbers(pieces, self._cache)
        return self.run(*unpack_numbers(torch.from_numpy(numbers).to(self._decoder.device), shape))

    def _read_tiles(self, pieces: Sequence[Piece], usual: bool) -> torch.Tensor:
        """Reads pieces of prompts, or with `usual` those of open blocks, in a shape that is met again."""
        shape, numbers = tiled_numbers(pieces, self._cache, self._tile, self._usual if usual else None)
        wanted = sum(len(piece.wanted) for piece in pieces)
        self.decoding += usual
        if usual and self._captured:
            if shape in self._met:
                return self._replay(shape, numbers)[:wanted]
            self._met[shape] = None
            while len(self._met) > 4 * CAPTURED:
                self._met.popitem(last=False)
        return self._run(torch.from_numpy(numbers).to(self._decoder.device, non_blocking=True), shape)[:wanted]

    def _run(self, numbers: torch.Tensor, shape: TiledShape) -> torch.Tensor:
        return self.run(*unpacked_tiles(numbers, shape))

    def run(self, packed: PackedTokens, picked: torch.Tensor) -> torch.Tensor:
        """Returns the hidden states [P, D] of the `picked` tokens ([P] int64) of a packed pass."""
        if self._attend is not None:
            return self._read(packed, picked, TiledAttention(self._decoder.traits, self._cache, packed, self._attend))
        dtype = self._decoder.model.norm.weight.dtype
        return self._read(packed, picked, PagedAttention(self._decoder.traits, self._cache, packed, dtype))

    def _read(self, packed: PackedTokens, picked: torch.Tensor, attend: Attend) -> torch.Tensor:
        hidden: torch.Tensor = self._decoder(packed.tokens[None], packed.positions[None], attend)
        if len(packed.tokens) >= LONG_PASS and self._decoder.device.type == "cpu":
            give_back_memory()
        return hidden[0].index_select(0, picked)

    def _replay(self, shape: TiledShape, numbers: Ints) -> torch.Tensor:
        replay = self._static.get(shape) or self._capture(shape, numbers)
        if replay is None:
            return self._run(torch.from_numpy(numbers).to(self._decoder.device), shape)
        self._static.move_to_end(shape)
        self.replays += 1
        return replay(numbers)

    def _capture(self, shape: TiledShape, numbers: Ints) -> StaticPass | None:
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
        self._copied: torch.cuda.Event | None = None
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
        if self._copied is not None:
            # The copy before may still read the buffer; what follows it is not waited for.
            self._copied.synchronize()
        self._host.copy_(torch.from_numpy(numbers))
        self._numbers.copy_(self._host, non_blocking=True)
        if self._graph is not None:
            self._copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._copied.record()
        if self._graph is None:
            made = self._run(self._numbers)
            if self._made is None:
                self._made = torch.empty_like(made)
            self._made.copy_(made)
        else:
            self._graph.replay()
        assert self._made is not None
        return self._made


def packed_numbers(pieces: Sequence[Piece], cache: PagedCache) -> tuple[Shape, Ints]:
    """Returns the shape of a pass over these pieces in groups, and its numbers as one array; see `unpack_numbers`."""
    parts_of_rows = [part for piece in pieces for part in _attended_parts(piece, cache.size)]
    sizes = [len(part.tokens) for part in parts_of_rows]
    pages = [cache.pages_of(part.end) for part in parts_of_rows]
    starts = np.cumsum([0, *sizes])
    exact = pieces[0].alone is not None
    groups = _exact_groups(parts_of_rows, pages) if exact else _groups(sizes, pages)
    shapes = [(len(rows), max(sizes[at] for at in rows), max(pages[at] for at in rows)) for rows in groups]
    head, picked = _head(pieces, cache, int(starts[-1]))
    order = np.zeros(len(head[0]), np.int64)
    parts, stood = [head.ravel(), order, picked], 0
    for rows, (height, width, count) in zip(groups, shapes, strict=True):
        queries = np.full((height, width), len(order) - 1, np.int64)
        tables, lengths, opened = _tables([parts_of_rows[number] for number in rows], cache, height, count)
        for line, number in enumerate(rows):
            size = sizes[number]
            queries[line, :size] = np.arange(starts[number], starts[number + 1])
            order[starts[number] : starts[number + 1]] = stood + line * width + np.arange(size)
        stood += height * width
        parts += [queries.ravel(), tables.ravel(), lengths, opened]
    return (len(order), len(picked), tuple(shapes)), np.concatenate(parts)


def unpack_numbers(numbers: torch.Tensor, shape: Shape) -> tuple[PackedTokens, torch.Tensor]:
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
    return PackedTokens(tokens, positions, places, order, tuple(groups)), picked


def tiled_numbers(
    pieces: Sequence[Piece], cache: PagedCache, tile: int, usual: int | None
) -> tuple[TiledShape, Ints]:
    """Returns the shape of a pass over these pieces in tiles of so many tokens, and all of its numbers as one array.

    usual: the most tokens of a piece, with which the shape is rounded up to steps; None for a shape without padding.
    """
    sizes = [len(piece.tokens) for piece in pieces]
    tiles, count = tiles_of(sizes, tile), max(cache.pages_of(piece.end) for piece in pieces)
    tokens, rows, many = sum(sizes), len(pieces), len(tiles)
    if usual is not None:
        # One token more is the padding that others point to.
        tokens, rows, count = step(tokens + 1, LEAST_TOKENS), step(rows, LEAST_ROWS), step(count, LEAST_PAGES)
        many = rows * -(-usual // tile)
    head, picked = _head(pieces, cache, tokens)
    if usual is not None:
        # All are wanted in a shape with steps: then it does not depend on how many are.
        picked = np.concatenate([picked, np.full(tokens - len(picked), tokens - 1, np.int64)])
    padded = np.zeros((many, TILE_FIELDS), np.int64)
    padded[: len(tiles)] = tiles
    tables, lengths, opened = _tables(pieces, cache, rows, count)
    shape = tokens, len(picked), many, rows, count
    return shape, np.concatenate([head.ravel(), picked, padded.ravel(), tables.ravel(), lengths, opened])


def unpacked_tiles(numbers: torch.Tensor, shape: TiledShape) -> tuple[PackedTokens, torch.Tensor]:
    """Returns the same for a pass in tiles."""
    many, picks, tiles, rows, pages = shape
    cuts = [many, many, many, picks, tiles * TILE_FIELDS, rows * pages, rows, rows]
    tokens, positions, places, picked, cut, tables, lengths, opened = torch.split(numbers, cuts)
    held = PagedRows(positions, cut.view(tiles, TILE_FIELDS), tables.view(rows, pages), lengths, opened)
    return PackedTokens(tokens, positions, places, rows=held), picked


def _head(pieces: Sequence[Piece], cache: PagedCache, tokens: int) -> tuple[Ints, Ints]:
    """Returns tokens, positions and places of a pass, [3, N] with padding, and the numbers of the wanted tokens."""
    head = np.zeros((3, tokens), np.int64)
    head[1] = NOWHERE
    begin, picked = 0, []
    for piece in pieces:
        part, positions = slice(begin, begin + len(piece.tokens)), np.arange(piece.begin, piece.end)
        head[0, part], head[1, part] = piece.tokens, positions
        head[2, part] = cache.places(piece.row, positions)
        picked.append(begin + piece.wanted - piece.begin)
        begin = part.stop
    return head, np.concatenate(picked)


def _tables(pieces: Sequence[Piece], cache: PagedCache, rows: int, count: int) -> tuple[Ints, Ints, Ints]:
    """Returns the pages of rows, [R, K] with padding, their lengths and where their open blocks begin."""
    tables = np.zeros((rows, count), np.int64)
    lengths, opened = np.zeros(rows, np.int64), np.full(rows, NONE_OPEN, np.int64)
    for line, piece in enumerate(pieces):
        own = cache.pages_of(piece.end)
        tables[line, :own] = piece.row.pages[:own]
        lengths[line] = piece.end
        opened[line] = NONE_OPEN if piece.opened is None else piece.opened
    return tables, lengths, opened


def step(count: int, least: int) -> int:
    """Returns the least number of those from `least` on, each half a power of two behind the other, that holds it."""
    if count <= least:
        return least
    power = 1 << (count - 1).bit_length()
    return 3 * power // 4 if count <= 3 * power // 4 else power


def _written(piece: Piece, cache: PagedCache) -> list[int]:
    """Returns the pages into which a piece is written."""
    return piece.row.pages[piece.begin // cache.size : cache.pages_of(piece.end)]


def _attended_parts(piece: Piece, size: int) -> list[Piece]:
    """Returns the parts of a piece that are attended each by itself; size: the places of a page."""
    if piece.alone is None:
        return [piece]
    alone = min(max(piece.alone, piece.begin), piece.end)
    tiles = range(piece.begin // size * size + size, alone, size)
    cuts = [*([piece.begin, *tiles] if alone > piece.begin else []), *range(alone, piece.end + 1)]
    return [
        Piece(piece.row, begin, piece.tokens[begin - piece.begin : end - piece.begin], piece.opened, piece.wanted[:0])
        for begin, end in pairwise(cuts)
    ]


def _exact_groups(parts: Sequence[Piece], pages: Sequence[int]) -> list[list[int]]:
    """Returns the parts that are attended together, none of which is padded by another one.

    Tokens of one row are a group, for they have the same keys. Sums of fewer than four products, and sums over other
    numbers of keys, add up in another order (on a CPU with AVX-512, with 7 queries a token: 5 tokens, 320 keys of 384).
    """
    counts = Counter((id(part.row), count) for part, count in zip(parts, pages, strict=True) if len(part.tokens) == 1)
    groups: dict[tuple[int, int], list[int]] = {}
    for at, (part, count) in enumerate(zip(parts, pages, strict=True)):
        own = counts[id(part.row), count] > 1
        key = (count, id(part.row) if own else 0) if len(part.tokens) == 1 else (-1, at)
        groups.setdefault(key, []).append(at)
    return [*groups.values()]


def _groups(sizes: Sequence[int], pages: Sequence[int]) -> list[list[int]]:
    """Returns the rows that are attended together, by their numbers."""
    order = sorted(range(len(sizes)), key=lambda at: (sizes[at], pages[at]))
    groups: list[list[int]] = []
    used = 0
    for at in order:
        # The last row of a group is the longest one, and has all but the most pages.
        work = sizes[at] * pages[at]
        if groups:
            rows = groups[-1]
            whole = (len(rows) + 1) * sizes[at] * max(pages[at], max(pages[row] for row in rows))
            if used + work >= USED_SHARE * whole:
                rows.append(at)
                used += work
                continue
        groups.append([at])
        used = work
    return groups
