"""Packed passes: tiles, shapes in steps and numbers at fixed addresses say what the plain pass says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.support.tiny_models import CACHED, decoder
from torch.utils._python_dispatch import TorchDispatchMode

from cinnabar.engine.models.language.cache import PagedCache
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.passes import (
    Passes,
    Piece,
    StaticPass,
    packed_numbers,
    step,
    tiled_numbers,
    unpacked_tiles,
)
from cinnabar.kernels.paged_attention import paged_attention, tile_tokens

#: What makes the host wait for a device.
WAITING = ("_local_scalar_dense", "nonzero", "unique", "masked_select", "item")


class NoWaiting(TorchDispatchMode):
    """Refuses operations whose result the host has to know."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(name in str(func) for name in WAITING):
            raise AssertionError(f"{func} within a pass")
        return func(*args, **(kwargs or {}))


def pieces_of(model: Decoder, cache: PagedCache, seed: int = 0) -> list[Piece]:
    """A finished and an open block of three rows, and a part of a prompt, after a part of each was read."""
    draw, block = np.random.default_rng(seed), model.traits.block
    texts = [draw.integers(0, 256, many * 8) for many in (9, 5, 12, 30)]
    rows = [cache.open(text[:0]) for text in texts]
    first = []
    for row, text in zip(rows, texts, strict=True):
        cut = len(text) - 16 if len(text) < 200 else 80
        assert cache.extend(row, len(text))
        first.append(Piece(row, 0, text[:cut], None, np.zeros(0, np.int64)))
    Passes(model, cache)(first)
    found = []
    for row, text in zip(rows, texts, strict=True):
        begin = len(text) - 16 if len(text) < 200 else 80
        whole = text[begin:] if len(text) < 200 else text[begin : begin + 96]
        opened = len(text) - block if len(text) < 200 else None
        found.append(Piece(row, begin, whole, opened, np.arange(begin, begin + len(whole), 3)))
    return found


def cache_of(model: Decoder) -> PagedCache:
    return PagedCache(model.traits, 60, torch.device("cpu"), torch.float32, 8)


def tiled(model: Decoder, cache: PagedCache) -> Passes:
    return Passes(model, cache, attend=paged_attention)


def numbers_of(model: Decoder, cache: PagedCache, pieces: list[Piece]) -> Any:
    tile = tile_tokens(model.traits.heads // model.traits.key_heads)
    return tiled_numbers(pieces, cache, tile, max(len(piece.tokens) for piece in pieces))


@torch.inference_mode()
@pytest.mark.parametrize("kind", CACHED)
def test_a_pass_of_fixed_shape_says_what_the_plain_one_says_without_waiting(kind: str) -> None:
    model = decoder(CACHED[kind])
    cache = cache_of(model)
    pieces = pieces_of(model, cache)
    expected = Passes(model, cache)(pieces)
    shape, numbers = numbers_of(model, cache, pieces)
    torch.testing.assert_close(tiled(model, cache)(pieces), expected, atol=2e-5, rtol=1e-4)
    # The kernel waits for nothing; its definition does, so that another attention stands in for it here.
    passes = Passes(model, cache, attend=lambda q, *_: q)
    with NoWaiting():
        made = passes.run(*unpacked_tiles(torch.from_numpy(numbers), shape))
    assert len(made) >= len(expected)


def test_an_operation_that_waits_is_refused() -> None:
    with NoWaiting(), pytest.raises(AssertionError, match="within a pass"):
        torch.ones(3).nonzero()
    with NoWaiting(), pytest.raises(AssertionError, match="within a pass"):
        torch.ones(1).item()


@torch.inference_mode()
@pytest.mark.parametrize("kind", CACHED)
def test_numbers_and_result_of_a_static_pass_stay_where_they_are(kind: str) -> None:
    model = decoder(CACHED[kind])
    cache = cache_of(model)
    passes = tiled(model, cache)
    static: StaticPass | None = None
    at = None
    for seed in range(3):
        pieces = pieces_of(model, cache, seed)
        expected = passes(pieces)
        shape, numbers = numbers_of(model, cache, pieces)

        def run(held: torch.Tensor, shape: Any = shape) -> torch.Tensor:
            return passes.run(*unpacked_tiles(held, shape))

        static = static or StaticPass(run, numbers, torch.device("cpu"))
        made = static(numbers)
        assert at in (None, made.data_ptr())
        at = made.data_ptr()
        torch.testing.assert_close(made[: len(expected)], expected)
        for piece in pieces:
            cache.close(piece.row)


@torch.inference_mode()
def test_passes_of_open_blocks_have_few_shapes_and_parts_of_prompts_none() -> None:
    model = decoder(CACHED["block"])
    cache = cache_of(model)
    passes = tiled(model, cache)
    seen = set()
    for seed in range(6):
        pieces = pieces_of(model, cache, seed)
        expected = Passes(model, cache)(pieces)
        torch.testing.assert_close(passes(pieces), expected, atol=2e-5, rtol=1e-4)
        open_blocks = [piece for piece in pieces if piece.opened is not None]
        seen.add(numbers_of(model, cache, open_blocks[: 2 + seed % 2])[0])
        for piece in pieces:
            cache.close(piece.row)
    assert passes.decoding == 6 and len(seen) <= 2


def test_few_shapes_are_met() -> None:
    assert [step(count, 4) for count in (0, 1, 4, 5, 6, 7, 9, 13, 100)] == [4, 4, 4, 6, 6, 8, 12, 16, 128]
    assert len({step(count, 16) for count in range(1, 4097)}) == 17


def test_a_pass_on_a_cpu_has_no_padding() -> None:
    model = decoder(CACHED["block"])
    cache = cache_of(model)
    pieces = pieces_of(model, cache)
    (tokens, picks, groups), _ = packed_numbers(pieces, cache)
    assert tokens == sum(len(piece.tokens) for piece in pieces)
    assert picks == sum(len(piece.wanted) for piece in pieces)
    work = sum(rows * length * pages for rows, length, pages in groups)
    assert work <= 1.25 * sum(len(piece.tokens) * cache.pages_of(piece.end) for piece in pieces)


@torch.inference_mode()
@pytest.mark.parametrize("fails", [False, True])
def test_a_shape_that_is_met_again_is_captured_unless_that_fails(
    fails: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def capture(_: StaticPass, pool: Any) -> Any:
        if fails:
            raise RuntimeError("operation not permitted when stream is capturing")
        return pool

    monkeypatch.setattr(StaticPass, "capture", capture)
    model = decoder(CACHED["token-causal"])
    cache = cache_of(model)
    passes = tiled(model, cache)
    passes._captured = True
    for seed in range(4):
        pieces = pieces_of(model, cache, seed)
        expected = Passes(model, cache)(pieces)
        torch.testing.assert_close(passes(pieces), expected, atol=2e-5, rtol=1e-4)
        for piece in pieces:
            cache.close(piece.row)
    assert (passes.captures, passes.replays) == ((0, 0) if fails else (1, 3))
    assert len(caplog.records) == int(fails)
