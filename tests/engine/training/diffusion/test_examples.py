"""Noisy copies of answers, and the sight of their places."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits, Visibility
from cinnabar.engine.training.diffusion.examples import NO_LOSS, Noise, TokenExample, make_batch

BLOCK, MASK, END, SIZE = 4, 30, 31, 32


def _traits(visibility: Visibility = "block_causal", shift: bool = False) -> Traits:
    return Traits("sdar", SIZE, 16, 2, 2, 1, 8, 24, 1e-6, 128, visibility, BLOCK, MASK, shift, qk_norm=True, tied=True)


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    torch.manual_seed(0)
    return Decoder(_traits()).eval()


@st.composite
def _examples(draw: st.DrawFn) -> list[TokenExample]:
    tokens = st.integers(0, 29)
    return [
        TokenExample(
            tuple(draw(st.lists(tokens, min_size=1, max_size=11))),
            (*draw(st.lists(tokens, min_size=1, max_size=9)), END),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]


@given(_examples(), st.integers(0, 999))
def test_a_label_is_the_token_of_the_clean_text(examples: list[TokenExample], seed: int) -> None:
    batch = make_batch(examples, _traits(), END, random.Random(seed), Noise(wrong=0.2))
    for row, example in enumerate(examples):
        text = [*example.prompt, *example.answer]
        text += [END] * (-len(text) % BLOCK)
        at = (batch.labels[row] != NO_LOSS).nonzero().squeeze(1)
        positions = batch.positions[row, at]
        assert bool((positions >= len(example.prompt)).all())
        assert batch.labels[row, at].tolist() == [text[place] for place in positions.tolist()]
        hidden = at[~batch.corrupted[row, at]]
        assert bool((batch.tokens[row, hidden] == MASK).all())
        shown = at[batch.corrupted[row, at]]
        assert bool((batch.tokens[row, shown] != MASK).all())


@given(_examples(), st.integers(0, 999))
@pytest.mark.parametrize("pairs", [1, 3])
def test_without_tails_each_position_of_an_answer_is_hidden_in_one_of_a_pair_of_copies(
    pairs: int, examples: list[TokenExample], seed: int
) -> None:
    batch = make_batch(examples, _traits(), END, random.Random(seed), Noise(tail=0.0, wrong=0.0, pairs=pairs))
    for row, example in enumerate(examples):
        at = (batch.labels[row] != NO_LOSS).nonzero().squeeze(1)
        hidden = batch.positions[row, at].tolist()
        end = -(-(len(example.prompt) + len(example.answer)) // BLOCK) * BLOCK
        assert Counter(hidden) == dict.fromkeys(range(len(example.prompt), end), pairs)


def test_a_noisy_block_is_scored_as_in_decoding(decoder: Decoder) -> None:
    examples = [TokenExample((1, 2, 3, 4, 5, 6), (7, 8, 9, 10, 11, END)), TokenExample((3, 2), (1, END))]
    batch = make_batch(examples, decoder.traits, END, random.Random(3), Noise())
    with torch.inference_mode():
        trained = decoder.hidden(batch.tokens, batch.positions, batch.sight)
        for row, example in enumerate(examples):
            text = [*example.prompt, *example.answer]
            text += [END] * (-len(text) % BLOCK)
            clean = max(len(e.prompt) + len(e.answer) for e in examples)
            clean += -clean % BLOCK
            for place in range(clean, batch.tokens.shape[1], BLOCK):
                start = int(batch.positions[row, place])
                if not bool((batch.labels[row, place : place + BLOCK] != NO_LOSS).any()):
                    continue
                before = torch.tensor([text[:start]], dtype=torch.long)
                block = batch.tokens[row : row + 1, place : place + BLOCK]
                whole = decoder(torch.cat([before, block], 1), torch.arange(start + BLOCK)[None])
                alone = whole[:, start:]
                torch.testing.assert_close(trained[row : row + 1, place : place + BLOCK], alone, atol=1e-5, rtol=1e-4)


@given(_examples(), st.integers(0, 999))
@pytest.mark.parametrize("visibility", ["block_causal", "token_causal"])
def test_logits_for_the_next_position_have_labels_one_place_earlier(
    visibility: Visibility, examples: list[TokenExample], seed: int
) -> None:
    batch = make_batch(examples, _traits(visibility, shift=True), END, random.Random(seed), Noise(wrong=0.2))
    for row, example in enumerate(examples):
        begin = len(example.prompt)
        origin = begin if visibility == "token_causal" else 0
        text = [*example.prompt, *example.answer]
        text += [END] * (-(len(text) - origin) % BLOCK)
        at = (batch.labels[row] != NO_LOSS).nonzero().squeeze(1)
        behind = (batch.positions[row, at] + 1).tolist()
        assert batch.labels[row, at].tolist() == [text[place] for place in behind]
        assert min(behind) >= begin
        borders = [place for where, place in zip(at.tolist(), behind, strict=True) if (place - origin) % BLOCK == 0]
        clean = [place for where, place in zip(at.tolist(), behind, strict=True) if where < batch.clean]
        # The first token of a block is known from the clean text before it, and from nowhere else.
        assert set(borders) <= set(clean) and len(borders) == len(set(borders))
        every = range(begin, begin + len(example.answer)) if visibility == "token_causal" else borders
        assert sorted(clean) == sorted(every)
        hidden = [where for where in at.tolist() if where >= batch.clean and not bool(batch.corrupted[row, where])]
        assert all(int(batch.tokens[row, where + 1]) == MASK for where in hidden)


def test_clean_text_that_is_read_token_by_token_is_scored_as_in_decoding() -> None:
    torch.manual_seed(0)
    decoder = Decoder(_traits("token_causal", shift=True)).eval()
    examples = [TokenExample((1, 2, 3, 4, 5, 6), (7, 8, 9, 10, 11, END)), TokenExample((3, 2), (1, END))]
    batch = make_batch(examples, decoder.traits, END, random.Random(3), Noise())
    with torch.inference_mode():
        trained = decoder.hidden(batch.tokens, batch.positions, batch.sight)
        for row, example in enumerate(examples):
            begin = len(example.prompt)
            for place in range(batch.clean, batch.tokens.shape[1], BLOCK):
                start = int(batch.positions[row, place])
                if start < begin:
                    continue
                before, block = batch.tokens[row : row + 1, :start], batch.tokens[row : row + 1, place : place + BLOCK]
                places = torch.arange(start + BLOCK)[None]
                whole = decoder(torch.cat([before, block], 1), places, opened=torch.tensor([start]))
                torch.testing.assert_close(trained[row, place : place + BLOCK], whole[0, start:], atol=1e-5, rtol=1e-4)
                torch.testing.assert_close(trained[row, start - 1], whole[0, start - 1], atol=1e-5, rtol=1e-4)
