"""F1 on pages that training never saw, through a whole run; and the pages with two answers of equal right."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from training.diffusion.pages import Page, Pages

from bench.engine.figures import Figure, Settings, mean, percent
from bench.engine.workload import held_back_pages, record_of, small_model, value_f1, work_of
from bench.labelled_sets import job_of, read_text
from cinnabar.engine.diffusion.decoded import Decoded
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.effort import EFFORTS
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.reading.model_sources import model_source
from cinnabar.extraction.reading.pipeline import run_batch
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import connect
from cinnabar.schemas import load_schema

PAGES, RUNS, TWO_ANSWERS = 100, 12, 60
WANTED_F1 = 0.90
#: The share of whole answers with one pass a block, and with effort medium.
BELOW, LEAST = 0.6, 0.9


def measure(settings: Settings) -> Iterator[Figure]:
    """Takes the figures of held-back pages."""
    pages = held_back_pages(settings, PAGES)
    f1 = {effort: value_f1(pages, piped(settings, pages, effort)) for effort in EFFORTS}
    yield Figure(
        f"F1 of values on {len(pages)} held-back pages, effort medium",
        f">= {WANTED_F1:.2f}",
        f"{f1['medium']:.3f}",
        f1["medium"] >= WANTED_F1,
    )
    others = ", ".join(f"{effort} {f1[effort]:.3f}" for effort in EFFORTS if effort != "medium")
    yield Figure("the same, other efforts", "reported", others)
    yield Figure("the same, effort medium without the constraint", "reported", _free(settings, pages))
    few = pages[: settings.some(RUNS)]
    got = [extracted(settings, page) for page in few]
    same = sum(one == other for one, other in zip(got, piped(settings, few, "medium"), strict=True))
    yield Figure(
        f"F1 of {len(few)} of these pages as files, each through `extract` into Parquet and back",
        "the same records",
        f"{value_f1(few, got):.3f}; {same} of {len(few)} the same",
        same == len(few),
    )


def measure_two_answers(settings: Settings) -> Iterator[Figure]:
    """Takes the figures of pages with two answers."""
    rng, source = random.Random(settings.seed), Pages(held_back=True)
    pages = [source.two_answers(rng) for _ in range(settings.some(TWO_ANSWERS))]
    whole = {effort: whole_answers(settings, pages, effort) for effort in EFFORTS}
    yield Figure(
        f"pages with two answers of equal right, {len(pages)} of them: share with one whole answer, one pass a block",
        f"< {BELOW}",
        f"{whole['instant']:.2f}",
        whole["instant"] < BELOW,
    )
    yield Figure(
        "the same, effort medium",
        f">= {LEAST}",
        f"{whole['medium']:.2f} (low {whole['low']:.2f}, high {whole['high']:.2f})",
        whole["medium"] >= LEAST,
    )


def piped(settings: Settings, pages: Sequence[Page], effort: str) -> list[Any]:
    """The records of pages by the pipeline of a run, without its files; None for a page without a record."""
    filler, found = model_source(str(settings.model), "cpu").filler(effort, None), []
    for page in pages:
        (outcome,) = run_batch([read_text(page.text)], job_of(page.schema, filler)).outcomes
        found.append(json.loads(outcome.record.text) if outcome.record and outcome.status == "written" else None)
    return found


def extracted(settings: Settings, page: Page) -> Any:
    """The record of a page that a run read from a file and wrote as Parquet; None if it was not written."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "page.txt", Path(folder) / "out"
        file.write_text(page.text, encoding="utf-8")
        model, options = model_source(str(settings.model), "cpu"), RunOptions(workers=1, on_missing="guess")
        extract([file], load_schema(page.schema | {"title": "page"}), out, model, options)
        with connect(out) as connection:
            rows = connection.execute("SELECT record_json FROM records").fetchall()
    return json.loads(rows[0][0]) if rows else None


def whole_answers(settings: Settings, pages: Sequence[Page], effort: str) -> float:
    """The share of pages whose record is one of the two answers that the page gives."""
    model = small_model(settings)
    denoiser = Denoiser(model.decoder, model.tokenizer, effort)
    right = []
    for page in pages:
        (found,) = denoiser.decode([work_of(model, page).task])
        record = record_of(found.text) if isinstance(found, Decoded) else None
        right.append(record is not None and all(record.get(name) in both for name, both in answers_of(page).items()))
    return mean([float(one) for one in right])


def answers_of(page: Page) -> dict[str, tuple[str, str]]:
    """The two answers of a page by the name of their field."""
    ((name, given),) = page.record.items()
    said = next(line for line in page.text.splitlines() if given in line)
    one, _, other = said.rpartition(": ")[2].partition(" or ")
    return {name: (one, other)}


def _free(settings: Settings, pages: Sequence[Page]) -> str:
    """F1 and valid records without the constraint."""
    model = small_model(settings)
    denoiser = Denoiser(model.decoder, model.tokenizer, "medium", constrained=False)
    records, valid = [], 0
    for page in pages:
        work = work_of(model, page)
        (found,) = denoiser.decode([work.task])
        text = found.text if isinstance(found, Decoded) else b""
        valid += work.accepts(text)
        records.append(record_of(text))
    return f"{value_f1(pages, records):.3f}; {percent(valid / len(pages))} of the records are valid"
