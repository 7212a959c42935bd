"""Requests that are decoded together: passes, records a second, and prompts found in the cache, by their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch

from bench.engine.figures import Figure, Settings, clock, mean, percent
from bench.engine.workload import held_back_pages, small_model, work_of
from cinnabar.engine.diffusion.decoded import Decoded
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.prompt import messages

#: Documents of one form, and how many of them are decoded together.
DOCUMENTS, TOGETHER = 64, (1, 8, 64)
#: The answers of all sizes have posteriors that differ by no more than this.
NEAR = 1e-3


def measure(settings: Settings) -> Iterator[Figure]:
    """Takes the figures; each size has an engine of its own, whose cache is empty at first."""
    model = small_model(settings)
    pages = held_back_pages(settings, DOCUMENTS)
    work = work_of(model, pages[0])
    form = work.compiled.form
    tasks = [replace(work.task, prompt=model.chat.render(messages(form, {}, page.text))) for page in pages]
    # The graph's tables are made before anything is timed.
    Denoiser(model.decoder, model.tokenizer, "instant").decode(tasks[:1])
    first: list[Decoded] = []
    rates: list[float] = []
    for rows in TOGETHER:
        denoiser = Denoiser(model.decoder, model.tokenizer, "medium")
        denoiser.rows = rows
        passes = 0

        def count(*_: object) -> None:
            nonlocal passes
            passes += 1

        hook: torch.utils.hooks.RemovableHandle = model.decoder.register_forward_pre_hook(count)
        begin = clock()
        found = [one for one in denoiser.decode(tasks) if isinstance(one, Decoded)]
        seconds = clock() - begin
        hook.remove()
        first = first or found
        rates.append(len(found) / seconds)
        same = [one.text == other.text for one, other in zip(found, first, strict=True)]
        apart = max(
            abs(a - b)
            for one, other in zip(found, first, strict=True)
            for a, b in zip(one.posteriors, other.posteriors, strict=False)
        )
        prompts = sum(len(task.prompt) for task in tasks)
        yield Figure(
            f"{len(tasks)} documents of one form, {rows} together: the same records as one by one",
            f"all, posteriors within {NEAR}",
            f"{sum(same)} of {len(tasks)}, within {apart:.1e}; {passes} passes of the model,"
            f" {mean([one.passes for one in found]):.1f} a record, {rates[-1]:.1f} records/s"
            f" ({rates[-1] / rates[0]:.2f} times), {percent(sum(one.cached for one in found) / prompts)} of the prompts"
            " found in the cache",
            all(same) and len(found) == len(tasks) and apart <= NEAR,
        )
