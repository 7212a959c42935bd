"""The part of a prompt that a run shares is read once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from bench.engine.figures import Figure, Settings
from bench.engine.workload import held_back_pages, small_model, work_of
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.prompt import messages
from cinnabar.engine.models.language.cache import page_size
from cinnabar.engine.models.language.decoder import Decoder

DOCUMENTS, CALLS = 4, 3


def reads(decoder: Decoder, shared: int) -> tuple[list[int], Any]:
    """Returns (counts, hook): how often a position before `shared` was read, once the hook is removed."""
    counts = [0] * shared

    def count(_: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
        for position in inputs[1].flatten().tolist():
            if 0 <= position < shared:
                counts[position] += 1

    return counts, decoder.register_forward_pre_hook(count)


def measure(settings: Settings) -> Iterator[Figure]:
    """Takes the figure."""
    model = small_model(settings)
    page = held_back_pages(settings, 1, asked=12)[0]
    work = work_of(model, page)
    form = work.compiled.form
    beginning = model.chat.render(messages(form, {}, ""))
    tasks, alike = [], list[int]()
    for number in range(DOCUMENTS * CALLS):
        prompt = model.chat.render(messages(form, {}, f"{number}. {page.text}"))
        alike.append(next(at for at, (a, b) in enumerate(zip(prompt, beginning, strict=False)) if a != b))
        tasks.append(replace(work.task, prompt=prompt, budget=int(work.task.graph.distance[0])))
    size = page_size(model.traits)
    shared = min(alike) // size * size
    denoiser = Denoiser(model.decoder, model.tokenizer, "instant")
    counts, hook = reads(model.decoder, shared)
    for call in range(CALLS):
        denoiser.decode(tasks[call * DOCUMENTS : (call + 1) * DOCUMENTS])
    hook.remove()
    yield Figure(
        f"prefill of what a run shares: {shared} of {len(tasks[0].prompt)} tokens, pages of {size},"
        f" {CALLS} calls of {DOCUMENTS} documents",
        "once",
        " or ".join(map(str, sorted(set(counts)))) + " time" if shared else "nothing is shared",
        shared > 0 and set(counts) == {1},
    )
