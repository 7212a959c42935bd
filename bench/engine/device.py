"""Measures the passes of a language model with random weights on a device, as a table in Markdown.

    .venv/bin/python -m bench.engine.device [--device cuda] [--shape sdar-4b]

Each pass reads an open block of each row behind a prompt of random tokens. The time of a pass is the median of several,
with the scores of all open positions. The constraint's share is that of all that a decoding does beside.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import torch

from bench.engine.constraint_cost import Spelled, Stop, graph_of_kind, large_tokenizer, task_of
from bench.reporting import machine_line, table
from cinnabar.engine.diffusion.contexts import PagedContext
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.record_graph import RecordGraph
from cinnabar.engine.diffusion.settings import Settings as Effort
from cinnabar.engine.models.language.cache import PAGE, PagedCache
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.passes import Passes, Piece
from cinnabar.engine.models.language.traits import Traits

HEAD = ("rows", "ms a pass", "positions/s", "tokens/s at 4 a pass", "constraint's share", "how")
BATCHES = (1, 8, 64, 128)
#: Tokens that are committed in a pass of one row, for the tokens a second; passes that are timed, and those before.
COMMITTED, TIMED, WARM = 4, 20, 3
#: What is wanted of tokens a second, by rows, and of the share of the constraint.
WANTED, SHARE = {1: 1109, 128: 5000}, 0.03


@dataclass(frozen=True, slots=True)
class Shape:
    """A body to measure: its traits but for the vocabulary, and the tokens of a prompt."""

    traits: Traits
    prompt: int


def _shape(width: int, layers: int, heads: int, key_heads: int, head_width: int, inner: int, prompt: int) -> Shape:
    traits = Traits(
        family="sdar", vocabulary=0, width=width, layers=layers, heads=heads, key_heads=key_heads,
        head_width=head_width, inner=inner, epsilon=1e-6, window=32_768, visibility="block_causal", block=32, mask=0,
        qk_norm=True, tied=True, rope_theta=1e6,
    )  # fmt: skip
    return Shape(traits, prompt)


SHAPES = {
    "sdar-4b": _shape(2560, 36, 32, 8, 128, 9728, 1024),
    "tiny": _shape(32, 2, 4, 2, 8, 48, 40),
}


def random_decoder(traits: Traits, device: torch.device, dtype: torch.dtype) -> Decoder:
    """Returns a decoder with random weights that are made on the device."""
    with torch.device("meta"):
        decoder = Decoder(traits)
    generator = torch.Generator(device).manual_seed(0)
    state = {
        name: torch.empty(one.shape, dtype=dtype, device=device).normal_(0.0, 0.02, generator=generator)
        for name, one in decoder.named_parameters()
    }
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    decoder.load_state_dict(state, assign=True)
    decoder.lm_head.weight = decoder.model.embed_tokens.weight
    decoder.rotary.to(device)
    return decoder.eval().requires_grad_(False)


def timed(device: torch.device, call: Callable[[], object]) -> float:
    """Returns the seconds of a call, and of all that it leaves to the device."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


@torch.inference_mode()
def pass_seconds(decoder: Decoder, rows: int, prompt: int, captured: bool = True) -> tuple[float, str]:
    """Returns the median seconds of a pass over the open blocks of so many rows, and how it ran."""
    traits, draw = decoder.traits, np.random.default_rng(0)
    prompt = prompt // traits.block * traits.block
    end = prompt + traits.block
    pages = rows * (-(-end // PAGE) + 1)
    dtype = decoder.model.embed_tokens.weight.dtype
    cache = PagedCache(traits, pages, decoder.device, dtype, PAGE)
    passes = Passes(decoder, cache, captured=captured)
    opened = []
    for _ in range(rows):
        row = cache.open(np.zeros(0, np.int64))
        assert cache.extend(row, end)
        text = draw.integers(0, traits.vocabulary - 1, end)
        passes([Piece(row, 0, text[:prompt], None, np.zeros(0, np.int64))])
        opened.append(Piece(row, prompt, text[prompt:], prompt, np.arange(prompt, end)))

    def run() -> None:
        hidden = passes(opened)
        for part in torch.split(hidden, 1024):
            decoder.logits(part)

    seconds = [timed(decoder.device, run) for _ in range(WARM + TIMED)][WARM:]
    return statistics.median(seconds), "captured" if passes.replays else "launched"


@torch.inference_mode()
def constraint_share(decoder: Decoder, tokenizer: Spelled, graph: RecordGraph, rows: int, prompt: int) -> float:
    """Returns the share of all that is not the model in the seconds of a decoding, prompts and first tables apart."""
    draw = np.random.default_rng(0)
    tasks = [task_of(graph, draw.integers(0, tokenizer.mask - 1, prompt).tolist()) for _ in range(rows)]
    # Random weights are never sure, so a pass commits one token.
    denoiser = Denoiser(decoder, tokenizer, Effort("bench", threshold=1.0, passes=64, rounds=0))
    context = denoiser._context
    assert isinstance(context, PagedContext)
    passes, logits, spent = context.passes, decoder.logits, [0.0]

    def clocked(call: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def run(*arguments: object) -> torch.Tensor:
            made: list[torch.Tensor] = []
            spent[0] += timed(decoder.device, lambda: made.append(call(*arguments)))
            return made[0]

        return run

    begun: list[tuple[float, float]] = []

    def edit(_: int, __: object) -> None:
        begun.append((time.perf_counter(), spent[0]))
        if len(begun) > WARM + TIMED:
            raise Stop

    context.passes, decoder.logits = clocked(passes), clocked(logits)  # type: ignore[method-assign]
    try:
        with suppress(Stop):
            denoiser.decode(tasks, edit=edit)
    finally:
        del decoder.logits
    if len(begun) < WARM + 2:
        return float("nan")
    (first, model), (last, whole) = begun[WARM], begun[-1]
    return 1 - (whole - model) / (last - first)


def rows_of(
    shape: Shape, tokenizer: Spelled, graph: RecordGraph, device: torch.device, batches: Sequence[int]
) -> list[tuple[str, ...]]:
    """Returns the lines of the table."""
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    traits = replace_vocabulary(shape.traits, tokenizer)
    decoder = random_decoder(traits, device, dtype)
    lines: list[tuple[str, ...]] = []
    for rows in batches:
        seconds, how = pass_seconds(decoder, rows, shape.prompt)
        share = constraint_share(decoder, tokenizer, graph, rows, shape.prompt)
        rate, wanted = rows * COMMITTED / seconds, WANTED.get(rows)
        told = f"{rate:,.0f}" if wanted is None or device.type == "cpu" else f"{rate:,.0f} (wanted {wanted:,})"
        positions = rows * traits.block / seconds
        lines.append((str(rows), f"{1000 * seconds:.2f}", f"{positions:,.0f}", told, f"{100 * share:.1f}%", how))
    return lines


def replace_vocabulary(traits: Traits, tokenizer: Spelled) -> Traits:
    """Returns the traits with the tokens of a tokenizer, whose mask token is one more."""
    return replace(traits, vocabulary=tokenizer.mask + 1, mask=tokenizer.mask)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--shape", choices=SHAPES, default="sdar-4b")
    told = parser.parse_args(arguments)
    if told.device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device: not measured", file=sys.stderr)
        return 1
    device, tokenizer = torch.device(told.device), large_tokenizer()
    graph = graph_of_kind("receipt", tokenizer)
    print(f"{machine_line(device, told.shape)}\n")
    print(table(HEAD, rows_of(SHAPES[told.shape], tokenizer, graph, device, BATCHES)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
