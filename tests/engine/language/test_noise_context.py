"""Passes over canvases of random tokens see what `transformers` computes, whatever the other rows do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.support.effort import first
from tests.support.published_gemma import CANVAS, published
from tests.support.tiny_checkpoint import write_texts
from tests.support.tiny_models import END, UNIFORM, decoder
from tests.support.tiny_models import VOCABULARY as TINY

from cinnabar.engine.language import noise_context
from cinnabar.engine.language.noise_context import NoiseContext, temperature
from cinnabar.engine.language.record_graph import graph_of
from cinnabar.engine.language.sequences import OpenSequence, Task
from cinnabar.engine.models.language.arrays import Ints
from cinnabar.engine.models.language.diffusion_gemma import DiffusionGemma
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.schemas.automata.operations import literal

GRAPH = graph_of(literal(b"{}"), TINY)


def sequence(prompt: int, block: int = CANVAS, budget: int = 60, end: int = 302) -> OpenSequence:
    tokens = np.random.default_rng(prompt).integers(0, 256, prompt).tolist()
    return OpenSequence(Task(tokens, GRAPH, budget, None, b"{}"), block, prompt, end, False)


def opened(one: OpenSequence) -> Ints:
    if one.block is None:
        return np.zeros(0, np.int64)
    part = np.arange(one.block.first, one.block.stop)
    return part[one.tokens[part] < 0]


def write(one: OpenSequence, many: int, seed: int) -> None:
    """Commits the first open positions, and opens the next canvas if the open one is full."""
    at = opened(one)[:many]
    one.commit(at, np.random.default_rng(seed).integers(0, 256, many), np.ones(many, np.float32), True)
    one.passes += 1
    one.advance()
    assert one.block is not None
    if one.block.front == one.block.stop:
        one.checked = one.block
        one.open_next()


def published_logits(model: Any, ours: DiffusionGemma, context: NoiseContext, one: OpenSequence) -> torch.Tensor:
    """What `transformers` says of the checked block's tokens, then of the open block's open positions.

    It gets our logits of the pass before: differences of rounding grow from pass to pass in a random model.
    """
    found = []
    for block in (one.checked, one.block):
        if block is None:
            continue
        canvas = torch.from_numpy(context.shown(one, block.begin, block.stop).copy())
        text, said = context._texts[id(one)], None
        if text.states is not None and text.canvas == block.begin:
            said = ours.logits(text.states)[None] / temperature(text.passes)
        logits = model(
            input_ids=torch.from_numpy(one.tokens[: block.begin])[None],
            decoder_input_ids=canvas[None],
            self_conditioning_logits=said,
        ).logits
        at = np.arange(block.first, block.stop)
        found.append(logits[0, torch.from_numpy(at[(one.tokens[at] < 0) | (block is one.checked)] - block.begin)])
    return torch.cat(found)


def wanted(one: OpenSequence) -> Ints:
    checked = [] if one.checked is None else [np.arange(one.checked.first, one.checked.stop)]
    return np.concatenate([*checked, opened(one)])


@pytest.mark.slow
@torch.inference_mode()
@pytest.mark.parametrize("prefill", first(1, [16, 4, 256]))
def test_every_pass_of_a_folder_says_what_transformers_says(
    prefill: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise_context, "PREFILL", prefill)
    theirs = published(tmp_path)
    write_texts(tmp_path)
    model = load_language_model(tmp_path, "cpu", "float32")
    assert isinstance(model.decoder, DiffusionGemma)
    ours, context = model.decoder, NoiseContext(model.decoder, model.tokenizer.end)
    rows = [sequence(5), sequence(40), sequence(31), sequence(60, budget=11)]

    conditioned = list[int]()

    def check() -> None:
        expected = torch.cat([published_logits(theirs, ours, context, one) for one in rows])
        got = ours.logits(context.hidden(rows, [wanted(one) for one in rows])[1])
        assert (got - expected).abs().max() < 1e-4
        assert expected.abs().max() > 0.5
        conditioned.append(sum(text.passes > 1 for text in context._texts.values()))
        for one in rows:
            one.checked = None

    check()
    # Some rows finish canvases, others take many passes; the last canvas of the last row is short.
    for step, many in enumerate([(3, 8, 0, 8), (5, 2, 0, 0), (8, 6, 1, 1)]):
        for at, (one, more) in enumerate(zip(rows, many, strict=True)):
            write(one, more, 10 * step + at)
        check()
    assert rows[3].block is not None and rows[3].block.stop - rows[3].block.begin == 3
    # A row that goes back two canvases reads them anew.
    back = rows[1].block
    assert back is not None
    begin = rows[1].repair(back.begin - CANVAS - 1, 0)
    context.rewind(rows[1], begin)
    check()
    for one in (rows[0], rows[2]):
        context.leave(one)
    rows = [rows[1], rows[3]]
    check()
    assert conditioned == [0, 2, 3, 2, 3, 2]


@torch.inference_mode()
def test_texts_wait_for_memory_and_one_that_never_fits_is_refused() -> None:
    model = decoder(UNIFORM)
    assert isinstance(model, DiffusionGemma)
    one, other = sequence(400, 8), sequence(400, 8)
    context = NoiseContext(model, END)
    context.join(one)
    context.hidden([one], [opened(one)])
    (text,) = context._texts.values()
    read = sum(keys.nbytes + values.nbytes for keys, values in text.held)
    assert 0.8 * text.most < read <= text.most
    narrow = NoiseContext(model, END, text.most + 1)
    assert narrow.refusal(one.limit) is None and narrow.refusal(2 * one.limit) is not None
    assert narrow.join(one) and not narrow.join(other)
    narrow.leave(one)
    assert narrow.join(other)


@torch.inference_mode()
def test_layers_with_a_window_keep_what_two_canvases_back_need() -> None:
    model = decoder(UNIFORM)
    assert isinstance(model, DiffusionGemma)
    context, one = NoiseContext(model, END), sequence(400, 8)
    context.hidden([one], [opened(one)])
    (text,) = context._texts.values()
    assert [keys.shape[1] for keys, _ in text.held] == [6 + 2 * 8, 400]
    context.rewind(one, 384)
    assert text.length == 384
    context.rewind(one, 300)
    assert (text.length, text.held) == (0, [])


def test_random_tokens_depend_on_the_request_and_its_pass_alone() -> None:
    model = decoder(UNIFORM)
    assert isinstance(model, DiffusionGemma)
    one, other = sequence(9, 64), sequence(10, 64)
    first = NoiseContext(model, END).shown(one, 9, 69)
    assert first.min() >= 0 and first.max() < TINY.size and len(set(first.tolist())) > 40
    context = NoiseContext(model, END)
    assert not np.array_equal(context.shown(other, 10, 70), first)
    assert np.array_equal(context.shown(one, 9, 69), first)
    one.tokens[[10, 20]] = 65, END
    then = context.shown(one, 9, 69)
    assert then[1] == 65 and set(then[11:].tolist()) == {END}
    assert np.array_equal(then[2:11], first[2:11])
    one.passes += 1
    assert not np.array_equal(context.shown(one, 9, 69)[2:11], first[2:11])


def test_the_temperature_falls_as_the_published_sampler_lets_it() -> None:
    from transformers.models.diffusion_gemma.generation_diffusion_gemma import (
        DiffusionGemmaGenerationConfig,
        LinearTemperatureScheduleLogitsProcessor,
    )

    said = DiffusionGemmaGenerationConfig._get_default_generation_params()
    schedule = LinearTemperatureScheduleLogitsProcessor(said["t_min"], said["t_max"], said["max_denoising_steps"])
    logits = torch.ones(1)
    for made in (1, 2, 17, 48):
        assert float(schedule(None, logits, 49 - made)) == pytest.approx(1 / temperature(made))
    assert temperature(60) == temperature(48)
