"""Each page is free, in use or kept for its prefix, and never two of these."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.engine.models.language.cache import PagedCache, PagePool, page_keys, page_size
from cinnabar.engine.models.language.traits import Traits

TRAITS = Traits("sdar", 40, 16, 2, 2, 1, 8, 24, 1e-6, 128, "block_causal", 4, 39)


def cache(pages: int, page: int = 4) -> PagedCache:
    return PagedCache(TRAITS, pages, torch.device("cpu"), torch.float32, page)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(1, 30)), max_size=40), st.integers(3, 12))
def test_rows_that_come_and_go_leave_every_page_in_one_place(steps: list[tuple[int, int, int]], pages: int) -> None:
    held = cache(pages)
    prompts = [np.array([*range(12), number]).repeat(2) for number in range(3)]
    rows = [held.open(prompts[0])]
    for what, which, end in steps:
        row = rows[which % len(rows)] if rows else None
        if what == 0 or row is None:
            rows.append(held.open(prompts[which % 3]))
        elif what == 1:
            held.adopt(row)
            if held.extend(row, end):
                row.length = max(row.length, min(end, len(row.pages) * held.size))
        elif what == 2 and end > len(row.keys) * held.size:
            held.keep(row, end)
        else:
            held.close(row, spoilt=which % 2 == 0)
            rows.remove(row)
        uses: dict[int, int] = {}
        for one in rows:
            assert len({*one.pages}) == len(one.pages)
            for number in one.pages:
                uses[number] = uses.get(number, 0) + 1
        assert held.pool._uses == uses
        assert all(1 <= number <= pages for number in uses)
        assert held.pool.room + len(uses) == pages
        # Pages that rows share hold the same text.
        for one in rows:
            for other in rows:
                for at, (a, b) in enumerate(zip(one.pages, other.pages, strict=False)):
                    assert a != b or one is other or one.keys[at] == other.keys[at]


def test_the_prefix_that_was_used_longest_ago_gives_its_pages_up_first_and_its_end_before_its_beginning() -> None:
    pool = PagePool(4, 4)
    first, second = pool.take(2), pool.take(2)
    assert first is not None and second is not None
    for page, key in zip((*first, *second), (b"a1", b"a2", b"b1", b"b2"), strict=True):
        pool.name(page, key)
    pool.give_back(first)
    pool.give_back(second)
    assert pool.room == 4
    assert pool.known(b"a1") == first[0]
    pool.give_back([first[0]])
    assert pool.take(3) is not None
    assert pool.known(b"a1") == first[0]
    assert [pool.known(key) for key in (b"a2", b"b1", b"b2")] == [None] * 3
    assert pool.take(1) is None


def test_the_key_of_a_page_tells_all_tokens_up_to_its_end() -> None:
    one, other = np.arange(9), np.array([9, *range(1, 9)])
    keys, others = list(page_keys(one, 4)), list(page_keys(other, 4))
    assert len(keys) == 2 and not {*keys} & {*others}
    assert list(page_keys(one[:8], 4)) == keys


def test_a_page_that_is_used_again_holds_nothing_of_before() -> None:
    held = cache(2)
    row = held.open(np.zeros(0, np.int64))
    assert held.extend(row, 4)
    held.prepare()
    nothing = torch.full((4, 1, 8), float("nan"))
    held.write(1, torch.from_numpy(held.places(row, np.arange(4))), nothing, nothing)
    held.close(row, spoilt=True)
    assert held.extend(row, 4)
    held.prepare()
    keys, values = held.read(1, torch.tensor([row.pages]))
    assert bool((keys == 0).all()) and bool((values == 0).all())


def test_a_page_is_a_multiple_of_the_block() -> None:
    assert [page_size(TRAITS, page) for page in (1, 4, 5, 64)] == [4, 4, 8, 64]


def test_no_more_prefixes_are_kept_than_the_pool_is_told() -> None:
    pool = PagePool(9, 4, 2)
    pages = pool.take(5)
    assert pages is not None
    for page in pages:
        pool.name(page, b"%d" % page)
    pool.give_back(pages)
    assert [page for page in pages if pool.known(b"%d" % page)] == pages[:2]
    assert pool.room == 7
