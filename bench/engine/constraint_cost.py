"""The constraint's share of a pass at the size of a real model, and the memory that it needs beside the model."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from bench.engine.figures import Figure, Settings, clock, percent
from bench.record_graphs import TRAINED, trained, vocabulary_of
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.graph_cache import cached_graph
from cinnabar.engine.diffusion.record_graph import RecordGraph
from cinnabar.engine.diffusion.sequences import Task
from cinnabar.engine.diffusion.settings import DecodingSettings as Effort
from cinnabar.engine.lifting import Vocabulary
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.settings import precision_asked
from cinnabar.schemas import compile_schema, load_schema

#: Requests, positions of a block, tokens of a prompt, passes of a block that are timed.
BATCH, BLOCK, PROMPT, PASSES = 8, 32, 256, 4
SHARE = 0.15
#: Requests of the memory's measurement, and the bytes that are wanted at most.
MANY, BYTES = 64, 1 << 30
#: The form with the most states of those that the share is measured with, and a small one.
KINDS = ("invoice", "receipt")


@dataclass(frozen=True, slots=True)
class Spelled:
    """A tokenizer of 150,000 tokens. Its mask token is one more."""

    vocabulary: Vocabulary
    backend: Tokenizer

    @property
    def end(self) -> int:
        """The token that ends an answer."""
        return self.vocabulary.end

    @property
    def fingerprint(self) -> str:
        """What a graph on disk is named by."""
        return f"bench {self.vocabulary.size}"

    @property
    def mask(self) -> int:
        """The mask token."""
        return self.vocabulary.size

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text."""
        return [int(token) for token in self.backend.encode(text, add_special_tokens=False).ids]


def large_tokenizer() -> Spelled:
    """The tokenizer that the report of record graphs trains."""
    path = trained(TRAINED)
    return Spelled(vocabulary_of(path), Tokenizer.from_file(str(path)))


def random_body(tokenizer: Spelled, layers: int = 24) -> Decoder:
    """A body of half a billion random parameters (Qwen2.5-0.5B's, as many key heads as heads), or of fewer layers."""
    traits = Traits(
        width=896, layers=layers, heads=14, key_heads=14, inner=4864, vocabulary=tokenizer.mask + 1, family="sdar",
        head_width=64, epsilon=1e-6, window=4096, visibility="block_causal", block=BLOCK, mask=tokenizer.mask,
        qk_norm=True, tied=True,
    )  # fmt: skip
    with torch.device("meta"):
        decoder = Decoder(traits)
    generator = torch.Generator().manual_seed(0)
    dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16}[precision_asked() or "float32"]
    state = {
        name: (torch.randn(one.shape, generator=generator) * 0.02).to(dtype) for name, one in decoder.named_parameters()
    }
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    decoder.load_state_dict(state, assign=True)
    decoder.lm_head.weight = decoder.model.embed_tokens.weight
    return decoder.eval().requires_grad_(False)


def task_of(graph: RecordGraph, prompt: Sequence[int]) -> Task:
    """A task with a prompt of any tokens and room for two blocks."""
    return Task(prompt, graph, int(graph.distance[0]) + 2 * BLOCK, None, b"")


class Stop(Exception):
    """Ends a decoding after enough passes."""


class Clocked:
    """Counts the seconds and calls of a function."""

    def __init__(self, call: Any) -> None:
        self.call, self.seconds, self.calls = call, 0.0, 0

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Calls the function."""
        begin = clock()
        try:
            return self.call(*args, **named)
        finally:
            self.seconds += clock() - begin
            self.calls += 1


@dataclass(frozen=True, slots=True)
class Share:
    """Seconds of a pass that the model takes (body, output matrix), and those of all the rest."""

    body: float
    matrix: float
    rest: float

    @property
    def constraint(self) -> float:
        """The share of all that is not the model."""
        return self.rest / (self.body + self.matrix + self.rest)


def pass_share(decoder: Decoder, tokenizer: Spelled, graph: RecordGraph, passes: int = PASSES) -> Share:
    """The mean times of the passes of one batch, the first ones of its blocks among them."""
    rng = np.random.default_rng(0)
    prompts = rng.integers(0, 1000, (BATCH, PROMPT)).tolist()
    tasks = [task_of(graph, prompt) for prompt in prompts]
    # All tokens are committed after some passes: random weights are never sure.
    effort = Effort("bench", threshold=0.9, passes=2, rounds=0)
    denoiser = Denoiser(decoder, tokenizer, effort)
    body, matrix = Clocked(decoder.hidden), Clocked(decoder.logits)
    decoder.hidden, decoder.logits = body, matrix  # type: ignore[method-assign]
    started = [0.0, 0.0, 0.0]

    def stop(step: int, _: Any) -> None:
        # The first pass builds tables that all later ones use.
        if step == 1:
            started[:] = clock(), body.seconds, matrix.seconds
        if step == 1 + passes:
            raise Stop

    try:
        with suppress(Stop):
            denoiser.decode(tasks, edit=stop)
    finally:
        del decoder.hidden, decoder.logits
    whole = clock() - started[0]
    read, scored = body.seconds - started[1], matrix.seconds - started[2]
    return Share(read / passes, scored / passes, (whole - read - scored) / passes)


def measure_share(_: Settings) -> Iterator[Figure]:
    """Takes the constraint's share."""
    tokenizer = large_tokenizer()
    decoder = random_body(tokenizer)
    for kind in KINDS:
        share = pass_share(decoder, tokenizer, graph_of_kind(kind, tokenizer))
        yield Figure(
            f"constraint's share of a pass, CPU, 0.5B shape, {tokenizer.vocabulary.size:,} tokens, block {BLOCK}, batch"
            f" {BATCH}, {kind}, {precision_asked() or 'float32'}",
            f"<= {percent(SHARE)}",
            f"{percent(share.constraint)} (body {1000 * share.body:.0f} ms, output matrix {1000 * share.matrix:.0f} ms,"
            f" classes, scan and loop {1000 * share.rest:.0f} ms)",
            share.constraint <= SHARE,
        )


def graph_of_kind(kind: str, tokenizer: Spelled) -> RecordGraph:
    """The graph of a schema of the library."""
    form = compile_schema(load_schema(kind).schema).form
    return cached_graph(form, tokenizer)


def measure_memory(_: Settings) -> Iterator[Figure]:
    """Takes the memory beside the model, in a process of its own."""
    here, there = get_context("spawn").Pipe(duplex=False)
    process = get_context("spawn").Process(target=_memory, args=(there,))
    process.start()
    there.close()
    model, whole, positions = here.recv()
    process.join()
    used = whole - model
    yield Figure(
        f"memory beside the model: scores and scan of {MANY} requests x {BLOCK} open positions x {positions:,} tokens",
        "< 1 GiB",
        f"{used / 2**30:.2f} GiB (the process before that: {model / 2**30:.2f} GiB)",
        used < BYTES,
    )


def _memory(there: Connection) -> None:
    """Sends the memory with the model alone, and the most during one pass of many requests; the body has one layer."""
    tokenizer = large_tokenizer()
    decoder = random_body(tokenizer, layers=1)
    graph = graph_of_kind(KINDS[0], tokenizer)
    gc.collect()
    before = _memory_now("VmRSS")
    # From here on the kernel notes the most memory anew.
    Path("/proc/self/clear_refs").write_text("5")
    denoiser = Denoiser(decoder, tokenizer, Effort("bench", threshold=0.9, passes=1, rounds=0))
    # Each answer begins where a block does, so all of its positions are open.
    tasks = [task_of(graph, [number] * BLOCK) for number in range(1, MANY + 1)]

    def stop(_: int, __: Any) -> None:
        raise Stop

    with suppress(Stop):
        denoiser.decode(tasks, edit=stop)
    there.send((before, _memory_now("VmHWM"), tokenizer.vocabulary.size))
    there.close()


def _memory_now(name: str) -> int:
    """A figure of this process's memory on Linux, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))
