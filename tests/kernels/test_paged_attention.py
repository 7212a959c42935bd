"""Attention over pages: the definition sees what its words say."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
import torch

from cinnabar.kernels.paged_attention import PagedRows, Sight, paged_attention, seen_end, tiles_of

PAGE = 16


def rows_of(draw: np.random.Generator, sizes: list[int], lengths: list[int], most: int, padded: int = 0) -> PagedRows:
    """Rows whose last tokens are in the pass; their pages are in any order, and some tiles and pages are padding."""
    many = max(-(-length // PAGE) for length in lengths) + 1
    free = draw.permutation(np.arange(1, 1 + many * len(sizes)))
    tiles = np.concatenate([tiles_of(sizes, most), np.zeros((padded, 3), np.int64)])
    positions = np.concatenate([np.arange(length - size, length) for size, length in zip(sizes, lengths, strict=True)])
    opened = [length - 5 if at % 2 else 1 << 40 for at, length in enumerate(lengths)]
    made = (positions, tiles, free.reshape(len(sizes), many), np.array(lengths), np.array(opened))
    return PagedRows(*(torch.from_numpy(one.astype(np.int64)) for one in made))


@pytest.mark.parametrize("sight", get_args(Sight))
def test_a_token_sees_what_its_kind_of_sight_says_and_no_place_of_another_row(sight: Any) -> None:
    draw = np.random.default_rng(0)
    sizes, lengths = [5, 1, 9], [23, 17, 40]
    rows = rows_of(draw, sizes, lengths, 4)
    many = 1 + int(rows.pages.max())
    shapes = ((15, 4, 8), (PAGE * many, 2, 8), (PAGE * many, 2, 8))
    q, keys, values = (torch.from_numpy(draw.normal(size=shape)) for shape in shapes)
    made = paged_attention(q, keys, values, rows, PAGE, sight, 4)
    first = 0
    for row, (size, length) in enumerate(zip(sizes, lengths, strict=True)):
        places = (rows.pages[row][:, None] * PAGE + torch.arange(PAGE)).flatten()[:length]
        for token in range(first, first + size):
            (end,) = seen_end(rows.positions[[token]].numpy(), length, int(rows.opened[row]), sight, 4)
            for head in range(4):
                seen, held = keys[places[:end], head // 2], values[places[:end], head // 2]
                shares = torch.softmax(seen @ q[token, head] * 8**-0.5, 0)
                torch.testing.assert_close(made[token, head], shares @ held, atol=1e-5, rtol=1e-5)
        first += size


def test_the_end_of_what_is_seen() -> None:
    at = np.array([0, 3, 4, 9, 10])
    assert seen_end(at, 11, 9, "causal", 4).tolist() == [1, 4, 5, 10, 11]
    assert seen_end(at, 11, 9, "block_causal", 4).tolist() == [4, 4, 8, 11, 11]
    assert seen_end(at, 11, 9, "token_causal", 4).tolist() == [1, 4, 5, 11, 11]


def test_tiles_cover_each_token_once_and_are_of_one_row() -> None:
    sizes = [5, 0, 1, 33]
    tiles = tiles_of(sizes, 8)
    covered = [token for first, count, _ in tiles.tolist() for token in range(first, first + count)]
    assert covered == list(range(39)) and max(tiles[:, 1]) <= 8
    assert [int(tiles[tiles[:, 2] == row, 1].sum()) for row in range(4)] == sizes
