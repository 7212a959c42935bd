"""Counts what a GPU would be asked for: rows scored a pass, graphs replayed, keys read. No GPU takes part.

    python -m bench.engine.counts --prompts 500 --tokens 2000 --rows 1,8,64,128

A small random model runs in the passes of a GPU, with attention left out, for the counts do not depend on it. Captures
of graphs are counted and not made. Counted is the steady state: passes with more tasks left than rows. Launches of a
layer are those of `bench.engine.launches`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bench.engine import launches
from bench.engine.figures import Figure
from bench.reporting import machine_line, table
from cinnabar.engine.diffusion.contexts import APART, PagedContext
from cinnabar.engine.diffusion.decoded import DecodingRun
from cinnabar.engine.diffusion.denoiser import Denoiser, Listed
from cinnabar.engine.diffusion.graph_cache import cached_graph
from cinnabar.engine.diffusion.sequences import OpenSequence, Task
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.models.language.memory import PREFILL_OF_ACCELERATOR
from cinnabar.engine.models.language.passes import Passes, StaticPass
from cinnabar.kernels.paged_attention import PagedRows, Sight, seen_end
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.automata.strings import parse

MODEL = "tests/data/small_diffusion_model"
HEAD = ("what", "wanted", "got", "")


@dataclass(slots=True)
class Counted:
    """What was counted of the steady state; `beside` are the passes launched while another one was not committed."""

    passes: int = 0
    scored: int = 0
    beside: int = 0
    read: int = 0
    needed: int = 0


class CountingPasses(Passes):
    """Passes in tiles without attention, whose graphs are counted and not captured."""

    def __init__(self, model: LanguageModel, context: PagedContext, counted: Counted) -> None:
        super().__init__(model.decoder, context.cache, tiled=True, attend=self._attended)
        self._captured, self._counted = True, counted

    def _attended(
        self, q: torch.Tensor, _: torch.Tensor, __: torch.Tensor, rows: PagedRows, page: int, sight: Sight, block: int
    ) -> torch.Tensor:
        for first, count, row in rows.tiles.tolist():
            if count:
                at = rows.positions[first : first + count].numpy()
                end = int(seen_end(at, int(rows.lengths[row]), int(rows.opened[row]), sight, block).max())
                self._counted.read += -(-end // page) * page
                self._counted.needed += end
        return q


def count(
    model: LanguageModel, prompts: int, tokens: int, rows: int, parts: int = 1
) -> tuple[Counted, CountingPasses]:
    """Decodes so many prompts of so many tokens, at most so many rows together, in so many parts."""
    denoiser, counted = Denoiser(model.decoder, model.tokenizer, "medium"), Counted()
    denoiser.rows = rows
    context = denoiser._context
    assert isinstance(context, PagedContext)
    context.prefill = PREFILL_OF_ACCELERATOR
    passes = context.passes = CountingPasses(model, context, counted)
    form = compile_schema(load_schema("invoice").schema).form
    graph = cached_graph(form, model.tokenizer)
    draw = np.random.default_rng(0)
    tasks = [
        Task(
            prompt=draw.integers(0, 256, tokens).tolist(),
            graph=graph,
            budget=int(graph.distance[0]) + 100,
            judge=lambda text: form.judge is None or form.judge.accepts(parse(text.decode())),
            minimal=json.dumps(parse(form.instance), ensure_ascii=False).encode(),
        )
        for _ in range(prompts)
    ]
    context.parts = lambda sequences: min(parts, len(sequences))  # type: ignore[method-assign]
    left, read, launched, finished, waiting = prompts, context.hidden, denoiser._launch, denoiser._finish, [0]

    def launch(runs: Sequence[DecodingRun]) -> Any:
        counted.beside += left > rows and waiting[0] > 0
        waiting[0] += 1
        return launched(runs)

    def finish(one: Any) -> bool:
        waiting[0] -= 1
        return finished(one)

    denoiser._launch, denoiser._finish = launch, finish  # type: ignore[method-assign]

    def hidden(sequences: Sequence[OpenSequence], wanted: Any) -> Any:
        found = read(sequences, wanted)
        if left > rows:
            counted.passes, counted.scored = counted.passes + 1, counted.scored + len(found[0])
        return found

    context.hidden = hidden  # type: ignore[method-assign]
    for _ in denoiser.serve(Listed(tasks)):
        left -= 1
    return counted, passes


def _in_parts(model: LanguageModel, prompts: int, tokens: int, rows: int) -> list[Figure]:
    """Returns what is laid out while the device computes, for as many rows as are decoded in two parts."""
    if rows < APART:
        return []
    counted, passes = count(model, prompts, tokens, rows, 2)
    share, replayed = counted.beside / max(counted.passes, 1), passes.replays / max(passes.decoding, 1)
    said = f"{share:.1%}; rows {counted.scored / max(counted.passes, 1):.1f}; replayed {replayed:.1%}"
    return [Figure(f"{rows} rows in two parts: passes laid out while another is computed", "95%", said, share >= 0.95)]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=500)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--rows", default="1,8,64,128")
    parser.add_argument("--model", default=MODEL)
    asked = parser.parse_args()
    StaticPass.capture = lambda _, pool: pool  # type: ignore[method-assign, assignment]
    model = load_language_model(asked.model, "cpu", "float32")
    print(f"{machine_line(torch.device('cpu'), model.fingerprint)}\n\n{table(HEAD, [])}", flush=True)
    for figure in launches.figures():
        print("| " + " | ".join(figure.row()) + " |", flush=True)
    for rows in map(int, asked.rows.split(",")):
        prompts = max(asked.prompts * min(rows, 64) // 64, 2 * rows)
        counted, passes = count(model, prompts, asked.tokens, rows)
        scored = counted.scored / max(counted.passes, 1)
        figures = [
            Figure(f"{rows} rows: scored a pass", "100 of 128" if rows == 128 else "-", f"{scored:.1f}",
                   scored >= 100 if rows == 128 else None),
            Figure(f"{rows} rows: passes of open blocks that replay a graph; captures", "95%; 24",
                   f"{passes.replays / max(passes.decoding, 1):.1%}; {passes.captures}",
                   passes.replays >= 0.95 * passes.decoding and passes.captures <= 24),
            *_in_parts(model, prompts, asked.tokens, rows),
            Figure(f"{rows} rows: keys read over keys needed", "1.3", f"{counted.read / max(counted.needed, 1):.2f}",
                   counted.read <= 1.3 * counted.needed),
        ]  # fmt: skip
        for figure in figures:
            print("| " + " | ".join(figure.row()) + " |", flush=True)


if __name__ == "__main__":
    main()
