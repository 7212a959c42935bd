"""The pages of a cache as numbers: which are free, which ones rows share, and which hold prefixes of before."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


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
