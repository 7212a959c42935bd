"""Measures our own diffusion language model on labelled sets: alone, beside the reader, and both as `auto`.

    python -m bench.engine.own_model ../shared/data --model diffusion --limit 12
    python -m bench.engine.own_model ../shared/data --only passes,mending,schema,seconds --limit 3 --sets recipes

Of a set that trains the documents held back count. The groups are the sets that train the model, those that its
training withholds by seed, and those that no training sees (training/runs.py, training/recipe.toml). Seconds are those
of one thread.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from training.labelled import held_back_part, labelled_documents
from training.recipe import load_recipe
from training.runs import WITHHELD

from bench.engine.workload import TimedDenoiser, record_of, records_f1
from bench.reporting import machine_line, table
from cinnabar.apps.cli.evaluate import predict_sets, select_sets
from cinnabar.engine.diffusion.decoded import Decoded
from cinnabar.engine.diffusion.planning import Planner
from cinnabar.engine.diffusion.sequences import Task
from cinnabar.engine.diffusion.settings import Settings, settings_of
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.request import Failed, Request
from cinnabar.extraction.learning.evaluation import score_set
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.reading.model_sources import local_folder, sources_of
from cinnabar.extraction.run.work.labelled_sets import LabelledSet
from cinnabar.schemas import compile_schema, load_schema

#: The most tokens of a document whose passes are counted: the prompts of training were as long.
LONGEST = 1200
Rows = Iterator[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A document as a task of the model, with its truth; `name` is that of its set."""

    name: str
    file: str
    task: Task
    truth: Any
    tokens: int
    fields: int


def group_of(name: str) -> str:
    """Returns the group of a set."""
    recipe = load_recipe()
    if name in WITHHELD:
        return "withheld"
    return "trains" if name in recipe.sets else "left out" if name in recipe.left_out else "never trained"


def f1(chosen: Sequence[LabelledSet], models: Sequence[str], below: float | None) -> Rows:
    """Yields F1 and seconds a document of each set by each of these models, then the means of the groups."""
    yield ["set", *(f"{model}: F1, s" for model in models)]
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for one in chosen:
        found[one.name] = {model: _read(one, model, below) for model in models}
        cells = [f"{f1:.3f}, {seconds:.2f}" for f1, seconds in found[one.name].values()]
        yield [f"{one.name} ({group_of(one.name)}, {len(one.truths)})", *cells]
    for group in ("trains", "withheld", "left out", "never trained"):
        own = [figures for name, figures in found.items() if group_of(name) == group]
        if own:
            means = [[sum(one[model][at] for one in own) / len(own) for at in (0, 1)] for model in models]
            yield [f"*{group}*, {len(own)} sets", *(f"**{f1:.3f}**, {seconds:.2f}" for f1, seconds in means)]


def _read(one: LabelledSet, model: str, below: float | None) -> tuple[float, float]:
    plan = RunPlan.of(model=model, on_missing="guess", workers=1, below=below if model == "auto" else None)
    source, escalation = sources_of(plan, model)
    tier = None if escalation is None else escalation.tier(escalation.source, "medium")
    begun = time.perf_counter()
    found = predict_sets([one], partial(source.filler, "medium", None), plan.options, tier)
    seconds = (time.perf_counter() - begun) / len(one.truths)
    return float(score_set(one, found[one.name])["f1"]), seconds


def tasks_of(model: LanguageModel, chosen: Sequence[LabelledSet]) -> list[Asked]:
    """Returns the documents of these sets that are short enough as tasks."""
    asked = []
    for one in chosen:
        form = compile_schema(load_schema(one.folder / "schema.json").schema).form
        planner, wanted = Planner(model), {line["file"] for line in one.truths}
        for document in labelled_documents(one.folder):
            text = document.passage.text
            if document.file not in wanted or len(text) > 5 * LONGEST:
                continue
            (plan,) = planner.plans([Request("0", form, document.passage)])
            tokens = len(model.tokenizer.encode(text))
            if not isinstance(plan, Failed) and plan.task is not None and tokens <= LONGEST:
                fields = len(form.slots)
                asked.append(Asked(one.name, document.file, plan.task, document.truth, tokens, fields))
    return asked


@dataclass(slots=True)
class Run:
    """What a way of decoding gave: F1 over all documents, passes, tokens, seconds and the records."""

    f1: float
    passes: float
    chosen: float
    seconds: float
    records: list[Any]


def decoded(
    model: LanguageModel,
    asked: Sequence[Asked],
    settings: Settings,
    block: int,
    schema: bool = True,
    revises: bool | None = None,
) -> Run:
    """Decodes each task alone, in blocks of this size; seconds are without the prompts.

    revises: whether a full block may be masked again; None as the model's folder says.
    """
    decoder: Decoder = copy.copy(model.decoder)
    decoder.traits = replace(decoder.traits, block=block)
    if revises is not None:
        decoder.traits = replace(decoder.traits, revises=revises)
    denoiser = TimedDenoiser(decoder, model.tokenizer, settings, constrained=schema)
    passes = chosen = 0
    records: list[Any] = []
    for one in asked:
        (found,) = denoiser.decode([one.task])
        if not isinstance(found, Decoded):
            records.append(None)
            continue
        passes, chosen = passes + found.passes, chosen + sum(found.chosen)
        records.append(record_of(found.text))
    many = len(asked)
    f1 = records_f1([one.truth for one in asked], records)
    return Run(f1, passes / many, chosen / many, denoiser.decoding / many, records)


def passes(model: LanguageModel, asked: Sequence[Asked]) -> Rows:
    """Yields F1, passes and seconds by size of block, by the most passes of a block, and with block 1."""
    medium = settings_of("medium")
    yield ["way", "F1", "passes a record", "tokens chosen", "s a record"]
    ways: list[tuple[str, Settings, int]] = [(f"blocks of {block}", medium, block) for block in (1, 4, 8, 16)]
    own = model.traits.block
    ways += [(f"blocks of {own}, at most {most} passes", replace(medium, passes=most), own) for most in (1, 2, 4, 8)]
    ways += [(f"blocks of {own}, threshold {at}", replace(medium, threshold=at), own) for at in (0.7, 0.8, 0.97)]
    for way, settings, block in ways:
        run = decoded(model, asked, settings, block)
        yield [way, f"{run.f1:.3f}", f"{run.passes:.1f}", f"{run.chosen:.1f}", f"{run.seconds:.2f}"]


def mending(model: LanguageModel, asked: Sequence[Asked]) -> Rows:
    """Yields the values that masking again mended and broke."""
    medium, own = settings_of("medium"), model.traits.block
    once, again = (decoded(model, asked, medium, own, revises=revises) for revises in (False, True))
    better = worse = 0
    for one, before, after in zip(asked, once.records, again.records, strict=True):
        gain = records_f1([one.truth], [after]) - records_f1([one.truth], [before])
        better, worse = better + (gain > 0), worse + (gain < 0)
    yield ["masking again", "F1 without, with", "records better, worse", "passes without, with"]
    yield ["", f"{once.f1:.3f}, {again.f1:.3f}", f"{better}, {worse}", f"{once.passes:.1f}, {again.passes:.1f}"]


def schema(model: LanguageModel, asked: Sequence[Asked]) -> Rows:
    """Yields time, passes and F1 with the schema and without it, over the answers that are records both ways."""
    medium, own = settings_of("medium"), model.traits.block
    off = decoded(model, asked, medium, own, schema=False)
    both = [one for one, record in zip(asked, off.records, strict=True) if record is not None]
    yield ["schema", "F1", "passes", "s a record", f"records, of {len(asked)}"]
    yield ["off, all", f"{off.f1:.3f}", f"{off.passes:.1f}", f"{off.seconds:.3f}", str(len(both))]
    for way, on in (("off", False), ("on", True)):
        run = decoded(model, both, medium, own, schema=on)
        yield [f"{way}, of those", f"{run.f1:.3f}", f"{run.passes:.1f}", f"{run.seconds:.3f}", str(len(both))]


def seconds(model: LanguageModel, asked: Sequence[Asked]) -> Rows:
    """Yields the seconds of a document, its prompt too, by set."""
    yield ["set", "tokens of the document", "fields of the form", "passes", "s a document"]
    for name in dict.fromkeys(one.name for one in asked):
        own = [one for one in asked if one.name == name]
        denoiser = TimedDenoiser(model.decoder, model.tokenizer, "medium")
        # The form's words are read once.
        denoiser.decode([own[0].task])
        before, begun, rest = denoiser.prefill, time.perf_counter(), own[1:] or own
        found = [denoiser.decode([one.task])[0] for one in rest]
        took, many = time.perf_counter() - begun, len(rest)
        steps = sum(one.passes for one in found if isinstance(one, Decoded)) / many
        tokens = sum(one.tokens for one in rest) / many
        said = f"{took / many:.2f} (prompt {(denoiser.prefill - before) / many:.2f})"
        yield [name, f"{tokens:.0f}", str(own[0].fields), f"{steps:.1f}", said]


def main() -> None:
    """Prints the tables that are asked for, row by row."""
    parts: Mapping[str, Callable[[LanguageModel, Sequence[Asked]], Rows]] = {
        "passes": passes, "mending": mending, "schema": schema, "seconds": seconds,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--model", default="diffusion")
    parser.add_argument("--models", default="default,diffusion,auto", help="those of the part `f1`")
    parser.add_argument("--only", default="f1", help=f"some of f1, {', '.join(parts)}")
    parser.add_argument("--sets", help="the names of some sets; all of the groups without it")
    parser.add_argument("--group", help="one of trains, withheld, left out, never trained")
    parser.add_argument("--limit", type=int, default=12, help="documents of each set")
    parser.add_argument("--below", type=float, help="the confidence below which `auto` asks the model")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    recipe, names = load_recipe(), asked.sets.split(",") if asked.sets else None
    chosen = []
    for one in select_sets(asked.data):
        known = one.name in recipe.sets or one.name in recipe.left_out
        group = group_of(one.name)
        if (one.name in names if names else known) and asked.group in (None, group):
            chosen.append(held_back_part(one, recipe).select(limit=asked.limit))
    chosen = [one for one in chosen if one.truths]
    only = asked.only.split(",")
    if "f1" in only:
        _print(f1(chosen, asked.models.split(","), asked.below))
    if set(only) & parts.keys():
        model = load_language_model(local_folder(asked.model), "cpu")
        print(machine_line(torch.device("cpu"), model.fingerprint), flush=True)
        tasks = tasks_of(model, chosen)
        print(f"{len(tasks)} documents of {len(chosen)} sets", flush=True)
        for name in only:
            if name in parts:
                _print(parts[name](model, tasks))


def _print(rows: Rows) -> None:
    print(table(next(rows), []), flush=True)
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print(flush=True)


if __name__ == "__main__":
    main()
