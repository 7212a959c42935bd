"""Measures a device in ten minutes: kernels, passes of bodies of several sizes, documents under a schema.

    python -m bench engine.device --device cuda
    .venv/bin/python -m bench.engine.device [--device cuda] [--shapes sdar-4b] [--json bench_results/device.json]

Kernels are compared with their definitions on the device. A pass reads an open block of each row behind a prompt of
random tokens; its time is the median of several, with the scores of all open positions. The constraint's share is that
of all that a decoding does beside. Fetched releases fill receipts of data/samples, token by token under
the record's graph.

Each row is written to the JSON file as it is measured. A row that fails says why, and the next one follows, unless the
device itself is lost; run again, and what the file has of this commit stays, but for failures.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from bench.engine.device_shapes import COMMITTED, SHAPES, Shape
from bench.engine.large_tokenizer import Spelled, Stop, graph_of_kind, large_tokenizer, task_of
from bench.kernels_check import COMPARISONS, compared
from bench.recording import commit
from bench.reporting import machine_line, table
from cinnabar.engine.language.contexts import PagedContext
from cinnabar.engine.language.denoiser import Denoiser, Listed
from cinnabar.engine.language.record_graph import RecordGraph
from cinnabar.engine.language.settings import DecodingSettings as Effort
from cinnabar.engine.models.language.cache import PAGE, PagedCache
from cinnabar.engine.models.language.configuration import models_folder
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.passes import Passes, Piece
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.models.releases import RELEASED

HEAD = ("what", "rows", "ms a pass", "tokens/s at 4 a pass", "constraint's share", "how")
BATCHES = (1, 8, 32, 128)
#: Passes that are timed, and those before.
TIMED, WARM = 20, 3
#: Documents of a released model, on a GPU and on a CPU.
PAGES, FEW_PAGES = 256, 8
#: What is wanted of tokens a second, by rows, and of the share of the constraint.
WANTED, SHARE = {1: 1109, 128: 5000}, 0.03


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
    dtype = decoder.model.norm.weight.dtype
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

    def watch(_: int, __: object) -> None:
        begun.append((time.perf_counter(), spent[0]))
        if len(begun) > WARM + TIMED:
            raise Stop

    context.passes, decoder.logits = clocked(passes), clocked(logits)  # type: ignore[method-assign]
    try:
        with suppress(Stop):
            list(denoiser.serve(Listed(tasks), watch))
    finally:
        del decoder.logits
    if len(begun) < WARM + 2:
        return float("nan")
    (first, model), (last, whole) = begun[WARM], begun[-1]
    return 1 - (whole - model) / (last - first)


def pass_rows(
    name: str, shape: Shape, tokenizer: Spelled, graph: RecordGraph, device: torch.device, rows: int
) -> list[list[str]]:
    """Returns the line of a shape and a number of rows."""
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    shape = replace(shape, traits=replace_vocabulary(shape.traits, tokenizer))
    decoder = random_decoder(shape.traits, device, dtype)
    seconds, how = pass_seconds(decoder, rows, shape.prompt)
    share = constraint_share(decoder, tokenizer, graph, rows, shape.prompt)
    rate, wanted = rows * COMMITTED / seconds, WANTED.get(rows) if name == "sdar-4b" else None
    told = f"{rate:,.0f}" if wanted is None else f"{rate:,.0f} (wanted {wanted:,})"
    return [[name, str(rows), f"{1000 * seconds:.2f}", told, f"{100 * share:.1f}%", how]]


def released(name: str, device: torch.device) -> list[list[str]]:
    """Returns documents a second of a fetched model, as whole records."""
    from training.labelled import labelled_documents

    from cinnabar.engine.language.engine import LanguageEngine
    from cinnabar.engine.models.language.language_model import load_language_model
    from cinnabar.engine.request import Request
    from cinnabar.schemas import compile_schema, load_schema

    model = load_language_model(models_folder() / name, str(device))
    passages = [document.passage for document in labelled_documents(Path("data", "samples", "receipt"))]
    form = compile_schema(load_schema("receipt").schema).form
    documents = PAGES if device.type == "cuda" else FEW_PAGES
    requests = [Request(str(at), form, passages[at % len(passages)]) for at in range(documents)]
    engine = LanguageEngine(model)
    engine.fill(requests[:1])
    rate = len(requests) / timed(device, partial(engine.fill, requests))
    return [[name, str(len(requests)), f"{rate:.2f} documents/s"]]


def _comparison(script: str, arguments: Sequence[str]) -> list[list[str]]:
    return [[script, compared(script, *arguments)]]


Jobs = dict[str, Callable[[], list[list[str]]]]


def jobs_of(shapes: Sequence[str], device: torch.device) -> Jobs:
    """Returns what is measured, by its name in the file."""
    jobs: Jobs = {}
    if importlib.util.find_spec("triton") is not None:
        for script, arguments in COMPARISONS.items():
            jobs[script] = partial(_comparison, script, arguments)
    tokenizer = large_tokenizer()
    graph = graph_of_kind("receipt", tokenizer)
    for name in shapes:
        for rows in BATCHES:
            jobs[f"{name}, {rows}"] = partial(pass_rows, name, SHAPES[name], tokenizer, graph, device, rows)
    for name in RELEASED:
        if (models_folder() / name).is_dir():
            jobs[name] = partial(released, name, device)
    return jobs


def measured(jobs: Jobs, place: Path, key: str) -> int:
    """Measures what the file does not have of this key, and prints all; returns how many failed."""
    kept: dict[str, dict[str, object]] = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    failed = 0
    for name, job in jobs.items():
        found = kept.get(name)
        # Two changed trees have the same name.
        if found is None or found.get("key") != key or "error" in found or "-dirty" in key:
            try:
                found = {"key": key, "rows": job()}
            except Exception as error:
                found = {"key": key, "error": f"{type(error).__name__}: {error}"[:1000]}
                failed += 1
            kept[name] = found
            place.parent.mkdir(parents=True, exist_ok=True)
            part = place.with_suffix(".part")
            part.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            part.replace(place)
        rows = found.get("rows") or [[name, f"failed: {found['error']}"]]
        assert isinstance(rows, list)
        for row in rows:
            print("| " + " | ".join([*row, *[""] * (len(HEAD) - len(row))]) + " |", flush=True)
    return failed


def replace_vocabulary(traits: Traits, tokenizer: Spelled) -> Traits:
    """Returns the traits with the tokens of a tokenizer, whose mask token is one more."""
    return replace(traits, vocabulary=tokenizer.mask + 1, mask=tokenizer.mask)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; returns 1 if a row failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--shapes", default="sdar-1.7b,sdar-4b,sdar-8b", help=f"some of {', '.join(SHAPES)}")
    parser.add_argument("--json", type=Path, default=Path("bench_results", "device.json"))
    told = parser.parse_args(arguments)
    if told.device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device: not measured", file=sys.stderr)
        return 1
    device = torch.device(told.device)
    print(f"{machine_line(device, 'random weights')}\n\n{table(HEAD, [])}", flush=True)
    key = f"{commit()}, {torch.cuda.get_device_name() if device.type == 'cuda' else 'cpu'}"
    return int(measured(jobs_of(told.shapes.split(","), device), told.json, key) > 0)


if __name__ == "__main__":
    sys.exit(main())
