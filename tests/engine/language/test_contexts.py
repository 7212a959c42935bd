"""Passes with a cache see what a pass over the whole text sees, whatever the other rows do."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.support.effort import some
from tests.support.tiny_models import CACHED, CAUSAL, END, VOCABULARY, decoder, record
from tests.support.whole_texts import whole

from cinnabar.engine.language import contexts
from cinnabar.engine.language.contexts import PagedContext
from cinnabar.engine.language.record_graph import graph_of
from cinnabar.engine.language.sequences import OpenSequence, Task
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.passes import Passes
from cinnabar.kernels.paged_attention import paged_attention

AUTOMATON, _, MINIMAL = record({"name": {"type": "string"}})
GRAPH = graph_of(AUTOMATON, VOCABULARY)


def sequence(prompt: int, traits_block: int, origin: int = 0) -> OpenSequence:
    draw = np.random.default_rng(prompt)
    tokens = draw.integers(0, 256, prompt).tolist()
    return OpenSequence(Task(tokens, GRAPH, 60, None, MINIMAL), traits_block, origin, END, False)


def fill(one: OpenSequence, seed: int) -> None:
    """Commits the rest of the open block and opens the next one."""
    assert one.block is not None
    at = np.arange(one.block.first, one.block.stop)
    at = at[one.tokens[at] < 0]
    tokens = np.random.default_rng(seed).integers(0, 256, len(at))
    one.commit(at, tokens, np.ones(len(at), np.float32), True)
    one.advance()
    one.open_next()


def alone(model: Decoder, one: OpenSequence, at: np.ndarray) -> torch.Tensor:
    """The hidden states that score these positions, from one pass over the whole text up to the open block's end."""
    assert one.block is not None
    traits = model.traits
    end = one.block.end if traits.mask is not None else one.block.begin
    tokens = np.where(one.tokens[:end] < 0, traits.mask or 0, one.tokens[:end])
    hidden = whole(model, torch.from_numpy(tokens[None]), torch.arange(end)[None], torch.tensor([one.block.begin]))
    return hidden[0, torch.from_numpy(at - int(traits.shift))]


def opened(one: OpenSequence) -> np.ndarray:
    assert one.block is not None
    part = np.arange(one.block.first, one.block.stop)
    return part[one.tokens[part] < 0]


def check(model: Decoder, context: PagedContext, rows: list[OpenSequence]) -> None:
    """Each row is scored in one of the next passes, the others go on meanwhile, and all see what they see alone."""
    left = list(rows)
    for _ in range(40):
        wanted = [opened(one) for one in rows]
        scored, got = context.hidden(rows, wanted)
        expected = [alone(model, rows[row], wanted[row]) for row in scored]
        torch.testing.assert_close(got, torch.cat([*expected, got[:0]]), atol=2e-5, rtol=1e-4)
        left = [one for one in left if one not in [rows[row] for row in scored]]
        if not left:
            return
    raise AssertionError("some rows were never scored")


def joined(context: PagedContext, rows: list[OpenSequence]) -> None:
    assert all(context.join(one) for one in rows)


@torch.inference_mode()
@pytest.mark.parametrize("pages", [None, 16])
@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("kind", some(("block", "revising", "token-causal"), CACHED))
def test_passes_with_a_cache_equal_passes_over_the_whole_text(
    kind: str, tiled: bool, pages: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contexts, "PREFILL", 16)
    traits = CACHED[kind]
    model = decoder(traits)
    block = model.traits.block
    rows = [sequence(prompt, block) for prompt in (5, 40, 17, 64)]
    context = PagedContext(model, pages, page=8)
    context.passes = Passes(model, context.cache, attend=paged_attention if tiled else None)
    # With few pages a row gives those back that others need.
    joined(context, rows[:3] if pages else rows)
    if pages:
        rows = rows[:3]
    check(model, context, rows)
    # An autoregressive row goes on in each pass; a block may take several, while other rows go on.
    least = 1 if traits is CAUSAL else 0
    for step, more in enumerate([(0, 1, 0, 1), (0, 0, 0, 0), (3, 1, 0, 0)]):
        for row, blocks in zip(rows, more, strict=False):
            for again in range(max(blocks, least)):
                fill(row, 10 * step + again)
        check(model, context, rows)
    # A row that goes back reads its blocks anew; a row that is finished leaves.
    back = rows[1].block
    assert back is not None
    context.rewind(rows[1], back.begin - block)
    rows[1].tokens[back.begin - block] = 77
    for row in (rows[0], *rows[2:])[: 3 * least]:
        fill(row, 40)
    check(model, context, rows)
    for row in (rows[0], *rows[2:]):
        context.leave(row)
    rows = [rows[1]]
    for _ in range(1 + least):
        fill(rows[0], 50)
    check(model, context, rows)
    new = sequence(30, block)
    joined(context, [new])
    check(model, context, [*rows, new])
    for row in (*rows, new):
        context.leave(row)
    assert context.cache.pool.room == context.cache.pool.pages


@torch.inference_mode()
@pytest.mark.parametrize("kind", CACHED)
def test_a_shared_prefix_changes_nothing(kind: str) -> None:
    model = decoder(CACHED[kind])
    context = PagedContext(model, page=8)
    for times in range(2):
        rows = [sequence(40, model.traits.block), sequence(57, model.traits.block)]
        rows[0].tokens[:24] = rows[1].tokens[:24]
        joined(context, rows)
        check(model, context, rows)
        found = [context.count_cached(row) for row in rows]
        assert found[0] >= 24 * times and found[1] >= 24
        for row in rows:
            context.leave(row)
