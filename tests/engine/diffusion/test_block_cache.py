"""Keys outside of the open block, kept between its passes: exact where nothing moves them, dropped where much does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from family_traits import DREAM
from test_contexts import fill, opened, sequence
from test_denoiser import INVOICE, accepted, form_of, task
from tiny_checkpoint import TRAITS, write_checkpoint
from tiny_models import FULL, SHIFTED, TOKENIZER, decoder

from cinnabar.engine.diffusion import block_cache
from cinnabar.engine.diffusion.block_cache import BlockCacheContext, moved
from cinnabar.engine.diffusion.contexts import FullContext
from cinnabar.engine.diffusion.decoded import Decoded
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.models.language.identity import precise_fingerprint
from cinnabar.engine.models.language.traits import Traits
from cinnabar.schemas.errors import UsageError


@torch.inference_mode()
@pytest.mark.parametrize("traits", [FULL, SHIFTED], ids=["full", "full with shift"])
def test_with_one_layer_a_pass_over_the_block_alone_is_exact(traits: Traits) -> None:
    # Keys of the first layer depend on their own token alone.
    model = decoder(replace(traits, layers=1))
    context, plain = BlockCacheContext(model, 40), FullContext(model, 40)
    rows = [sequence(9, 8, 9), sequence(14, 8, 14)]
    assert all(context.join(one) for one in rows)
    for seed in range(3):
        for _ in range(3):
            at = [opened(one) for one in rows]
            found, expected = context.hidden(rows, at)[1], plain.hidden(rows, at)[1]
            torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-4)
            for one, open_ in zip(rows, at, strict=True):
                one.commit(open_[:1], np.array([seed]), np.ones(1, np.float32), True)
        for one in rows:
            fill(one, seed)
    assert (context.whole, context.short) == (6, 12)


@torch.inference_mode()
def test_deeper_keys_are_those_of_the_blocks_first_pass_and_the_next_block_is_exact_again() -> None:
    model = decoder(FULL)
    context, plain = BlockCacheContext(model, 40), FullContext(model, 40)
    one = sequence(9, 8, 9)
    assert context.join(one)
    at = opened(one)
    torch.testing.assert_close(context.hidden([one], [at])[1], plain.hidden([one], [at])[1])
    # The text is as it was, so its keys are, too.
    torch.testing.assert_close(
        context.hidden([one], [at])[1], plain.hidden([one], [at])[1], atol=2e-5, rtol=1e-4
    )
    one.commit(at[:4], np.arange(4), np.ones(4, np.float32), True)
    near, exact = context.hidden([one], [at])[1], plain.hidden([one], [at])[1]
    assert 0 < (near - exact).abs().max() < exact.abs().max()
    fill(one, 1)
    at = opened(one)
    torch.testing.assert_close(context.hidden([one], [at])[1], plain.hidden([one], [at])[1])


@torch.inference_mode()
def test_a_text_whose_keys_move_too_far_is_read_exactly_from_there_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_cache, "MOVED", -1.0)
    context, one = BlockCacheContext(decoder(FULL), 40), sequence(9, 8, 9)
    assert context.join(one)
    for seed in range(3):
        for _ in range(2):
            context.hidden([one], [opened(one)])
        fill(one, seed)
    assert (context.whole, context.short) == (5, 1)
    context.leave(one)
    assert not context._kept and not context._exact


def test_how_far_keys_moved_is_told_outside_of_the_block() -> None:
    old = torch.ones(1, 1, 6, 2)
    new = old.clone()
    new[:, :, 2:4] = 9.0
    assert moved((old, old), (new, old), 2, 4) == 0
    new[:, :, 5] = 2.0
    assert moved((old, old), (new, old), 2, 4) == pytest.approx((2 / 14) ** 0.5)


def test_keys_without_room_wait_and_long_texts_keep_none(monkeypatch: pytest.MonkeyPatch) -> None:
    context, rows = BlockCacheContext(decoder(FULL), 40), [sequence(9, 8, 9), sequence(14, 8, 14)]
    context._budget = 1
    # The oldest goes on in any case.
    assert [context.join(one) for one in rows] == [True, False]
    context.leave(rows[0])
    monkeypatch.setattr(block_cache, "LONGEST", 10)
    assert all(context.join(one) for one in rows)
    with torch.inference_mode():
        for _ in range(2):
            context.hidden(rows, [opened(one) for one in rows])
    assert (context.whole, context.short) == (4, 0)


def test_records_are_valid_and_have_a_name_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_checkpoint(tmp_path / "full", traits=DREAM)
    other = write_checkpoint(tmp_path / "blocks", traits=TRAITS)
    names = [precise_fingerprint(one, "float32") for one in (folder, other)]
    monkeypatch.setenv("CINNABAR_BLOCK_CACHE", "1")
    assert precise_fingerprint(folder, "float32") != names[0] and precise_fingerprint(other, "float32") == names[1]
    form = form_of(INVOICE)
    denoiser = Denoiser(decoder(FULL), TOKENIZER, "medium")
    (found,) = denoiser.decode([task(form)])
    assert isinstance(found, Decoded) and accepted(form, found.text) and json.loads(found.text)
    context = denoiser._context
    assert isinstance(context, BlockCacheContext) and context.short > 0 and not context._kept
    monkeypatch.setenv("CINNABAR_BLOCK_CACHE", "yes")
    with pytest.raises(UsageError, match="CINNABAR_BLOCK_CACHE=yes: expected 1"):
        Denoiser(decoder(FULL), TOKENIZER, "medium")
