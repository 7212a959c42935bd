"""Keys and values of the positions that a language model has read, in pages of a bounded pool: which ones are free,
which ones rows share, and which hold prefixes of before.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import torch

from cinnabar.engine.models.language.arrays import Ints
from cinnabar.engine.models.language.traits import Traits

#: The position of a token that is padding.
NOWHERE = -1
#: Places of a page, unless a block is longer.
PAGE = 64
#: Pages of prefixes that are kept on a CPU while no row uses them: 4,096 positions.
IDLE = 64


@dataclass(slots=True, eq=False)
class CacheRow:
    """One text in a cache.

    It has read the first `length` positions, at the places of its `pages`. keys: of the pages of its prompt that other
    rows may use. cached: how many positions it found read already, of those before `seen`.
    """

    keys: list[bytes]
    pages: list[int] = field(default_factory=list)
    length: int = 0
    cached: int = 0
    seen: int = 0


class PagedCache:
    """Keys and values in pages. All of them are one tensor [layers, 2, places, heads, width].

    The pool bounds the pages. On the CPU the tensor grows with the pages in use; on other devices it is made at once,
    for passes that were captured there know its address. Places of page 0 take what is padding.
    """

    def __init__(self, traits: Traits, pages: int, device: torch.device, dtype: torch.dtype, page: int = PAGE) -> None:
        self.size = page_size(traits, page)
        # Memory that is taken at once may as well be full; other memory belongs to others until it is needed.
        self._idle = min(pages, IDLE) if device.type == "cpu" else pages
        self.pool = PagePool(pages, self.size, self._idle)
        self._shape = (traits.layers, 2, traits.key_heads, traits.head_width)
        self._device, self._dtype = device, dtype
        self._fresh: list[int] = []
        self._held = self._zeros(1 if device.type == "cpu" else 1 + pages)

    def open(self, prompt: Ints) -> CacheRow:
        """Returns a new row; other rows may use the whole pages of this text, with which its own begins."""
        return CacheRow(list(page_keys(prompt, self.size)))

    def adopt(self, row: CacheRow) -> None:
        """Lets a row go on with pages that other rows have read."""
        at = len(row.pages)
        # A row that was read up to a place within a page reads the rest itself.
        while at * self.size == row.length and at < len(row.keys):
            page = self.pool.known(row.keys[at])
            if page is None:
                return
            row.pages.append(page)
            at += 1
            row.length += self.size
            if row.length > row.seen:
                row.cached += self.size
                row.seen = row.length

    def room_needed(self, row: CacheRow, end: int) -> int:
        """Returns how much room a row without pages takes for the positions before `end`.

        Pages of its prompt that other rows use take none.
        """
        used = 0
        while used < len(row.keys) and self.pool.in_use(row.keys[used]):
            used += 1
        return max(self.pages_of(end) - used, 0)

    def pages_of(self, end: int) -> int:
        """Returns how many pages hold so many positions."""
        return -(-end // self.size)

    def extend(self, row: CacheRow, end: int) -> bool:
        """Gives a row pages for the positions before `end`, all of which the next pass reads; False if there are none.

        Whole pages of the prompt can be adopted from now on.
        """
        more = self.pool.take(max(self.pages_of(end) - len(row.pages), 0))
        if more is None:
            return False
        row.pages += more
        self._fresh += more
        row.seen = max(row.seen, end)
        for at in range(min(end // self.size, len(row.keys))):
            self.pool.name(row.pages[at], row.keys[at])
        return True

    def keep(self, row: CacheRow, length: int) -> None:
        """Keeps the first positions of a row only."""
        row.length = min(row.length, length)
        many = self.pages_of(row.length)
        self.pool.give_back(row.pages[many:])
        del row.pages[many:]

    def close(self, row: CacheRow, spoilt: bool = False) -> None:
        """Gives all pages of a row back; `spoilt` says that what it has read may be no numbers."""
        self.pool.give_back(row.pages, spoilt)
        row.pages.clear()
        row.length = 0

    def clear(self) -> None:
        """Drops everything that was read; the rows of before mean nothing any more."""
        self.pool = PagePool(self.pool.pages, self.size, self._idle)
        self._fresh.clear()

    def places(self, row: CacheRow, positions: Ints) -> Ints:
        """Returns the places of these positions of a row."""
        made: Ints = np.asarray(row.pages, np.int64)[positions // self.size] * self.size + positions % self.size
        return made

    def prepare(self) -> None:
        """Makes room for the pages that were given since the last pass, and empties them."""
        if not self._fresh:
            return
        needed, have = (1 + max(self._fresh)) * self.size, self._held.shape[2]
        if needed > have:
            wider = self._zeros(min(max(needed // self.size, 2 * have // self.size), 1 + self.pool.pages))
            wider[:, :, :have] = self._held
            self._held = wider
        # A place that no query sees has no weight, but not a number times zero is none.
        pages = torch.tensor(self._fresh).to(self._device, non_blocking=True)
        held = self._held.view(*self._held.shape[:2], -1, self.size, *self._held.shape[3:])
        held.index_fill_(2, pages, 0.0)
        self._fresh.clear()

    def write(self, layer: int, places: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Writes keys and values ([N, H, W]) at these places ([N] int64)."""
        self._held[layer, 0].index_copy_(0, places, keys)
        self._held[layer, 1].index_copy_(0, places, values)

    def layer(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns keys and values of all places, each [P, H, W]."""
        return self._held[layer, 0], self._held[layer, 1]

    def read(self, layer: int, pages: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns keys and values ([G, H, K x size, W]) of rows of pages ([G, K] int64)."""
        rows, many = pages.shape
        read = []
        for held in self.layer(layer):
            whole = held.view(-1, self.size, *held.shape[1:]).index_select(0, pages.flatten())
            read.append(whole.view(rows, many * self.size, *held.shape[1:]).transpose(1, 2))
        return read[0], read[1]

    def _zeros(self, pages: int) -> torch.Tensor:
        layers, two, heads, width = self._shape
        with torch.inference_mode(False):
            return torch.zeros(
                layers, two, pages * self.size, heads, width, dtype=self._dtype, device=self._device
            )


def page_size(traits: Traits, page: int = PAGE) -> int:
    """Returns the places of a page: a multiple of the block, so that a page depends on nothing behind it."""
    return -(-page // traits.block) * traits.block


class PagePool:
    """Hands out pages 1 to `pages`, each of `size` places.

    A page of a prefix is known by the hash of all tokens up to its end. Rows with the same prefix use it together, and
    it is kept after the last of them until its place is needed: the page that was used longest ago goes first. No more
    than `idle` pages are kept so.
    """

    def __init__(self, pages: int, size: int, idle: int | None = None) -> None:
        self.pages, self.size, self.idle = pages, size, pages if idle is None else idle
        # Pages that came back, and the first one that was never used. The lowest one goes first: a cache stays small.
        self._free: list[int] = []
        self._next = 1
        self._uses: dict[int, int] = {}
        self._page: dict[bytes, int] = {}
        self._key: dict[int, bytes] = {}
        #: Pages of prefixes that no row uses, those used longest ago first.
        self._idle: OrderedDict[int, None] = OrderedDict()

    @property
    def room(self) -> int:
        """The number of pages that can be taken."""
        return len(self._free) + self.pages + 1 - self._next + len(self._idle)

    def take(self, count: int) -> list[int] | None:
        """Returns so many pages for one row, None if there are not as many."""
        if count > self.room:
            return None
        taken = [self._one() for _ in range(count)]
        self._uses |= dict.fromkeys(taken, 1)
        return taken

    def _one(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        if self._next <= self.pages:
            self._next += 1
            return self._next - 1
        page, _ = self._idle.popitem(last=False)
        self._forget(page)
        return page

    def known(self, key: bytes) -> int | None:
        """Returns the page with this key for one more row, None if there is none."""
        page = self._page.get(key)
        if page is not None:
            self._idle.pop(page, None)
            self._uses[page] = self._uses.get(page, 0) + 1
        return page

    def in_use(self, key: bytes) -> bool:
        """Returns whether a row uses a page with this key."""
        return self._page.get(key) in self._uses

    def name(self, page: int, key: bytes) -> None:
        """Makes a page known by its key, unless another one is."""
        if key not in self._page:
            self._page[key], self._key[page] = page, key

    def give_back(self, pages: Sequence[int], spoilt: bool = False) -> None:
        """Takes pages back from one row; those that are `spoilt` are not met again."""
        # The last page of a prefix goes before the first one, without which it is of no use.
        for page in reversed(pages):
            if spoilt:
                self._forget(page)
            self._uses[page] -= 1
            if self._uses[page]:
                continue
            del self._uses[page]
            if page in self._key:
                self._idle[page] = None
            else:
                heapq.heappush(self._free, page)
        while len(self._idle) > self.idle:
            page, _ = self._idle.popitem(last=False)
            self._forget(page)
            heapq.heappush(self._free, page)

    def _forget(self, page: int) -> None:
        key = self._key.pop(page, None)
        if key is not None:
            del self._page[key]


def page_keys(tokens: Ints, size: int) -> Iterable[bytes]:
    """Yields the key of each whole page of a text: a hash of all tokens up to the page's end."""
    key = b""
    for end in range(size, len(tokens) + 1, size):
        text = np.ascontiguousarray(tokens[end - size : end], np.int64)
        key = blake2b(key + text.tobytes(), digest_size=16).digest()
        yield key
