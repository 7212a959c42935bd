"""Measures documents per second on one core: whole fills, the encoder alone, and all matrix products alone.

    python -m bench rates
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, TypeVar

import torch
from training.generator.generator import generate

from bench.products import Recorder
from bench.reporting import machine
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.model import Model
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.request import Filled, Passage, Request
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.schemas import compile_schema

T = TypeVar("T")
#: The number of measurements behind each median.
ROUNDS = 5
#: The documents that are filled before the first is counted: they load what is loaded once.
_FIRST = 8
#: The most tokens of a document.
TOKENS = 500
#: Twelve fields, all optional.
FIELDS: dict[str, Any] = {
    "type": "object",
    "properties": {
        **{
            name: {"type": ["string", "null"], "description": text}
            for name, text in (
                ("sender", "Who wrote it."),
                ("recipient", "To whom it is addressed."),
                ("reference", "Number of the document."),
                ("subject", "What it is about."),
                ("place", "Town that it names."),
                ("contact", "Who can be asked."),
            )
        },
        "date": {"type": ["string", "null"], "format": "date", "description": "Date of the document."},
        "due": {"type": ["string", "null"], "format": "date", "description": "Until when something is due."},
        "total": {"type": ["number", "null"], "description": "The amount in all."},
        "count": {"type": ["integer", "null"], "description": "How many there are."},
        "kind": {"enum": ["invoice", "letter", "report", "agreement", None], "description": "What it is."},
        "urgent": {"type": "boolean", "description": "Whether it asks for haste."},
    },
}


@dataclass(frozen=True, slots=True)
class Rate:
    """Documents per second by whole fills, by the encoder alone, and by all matrix products of the fills alone.

    steps: per record, the median. calls: of torch, for a document. same: records that are equal, with all confidences,
    if their documents are filled one by one and in another order.
    """

    documents: int
    filled: float
    encoded: float
    multiplied: float
    steps: int
    calls: float
    same: int


def rate(model: Model, effort: str, documents: int = 64) -> Rate:
    """Both rates, in turn; work done once a schema or a process is not counted.

    Each round fills other documents: the engine keeps what it knows of the texts that it has seen.

    With two threads whole fills reach .39 of the encoder's rate, with one .57: small steps are not worth sharing.
    """
    form = compile_schema(FIELDS).form
    every = _passages(model)
    first, *rounds = (
        [Request(str(number), form, passage) for number, passage in zip(range(count), every, strict=False)]
        for count in (_FIRST, *[documents] * (ROUNDS + 1))
    )
    engine = Engine(model, effort)
    engine.fill(first)
    requests = rounds.pop()
    passages = [request.passage for request in requests]
    # Recorded calls are divided otherwise than plain ones, which changes last digits.
    with Recorder() as recorder:
        engine.fill(requests)
    results = engine.fill(requests)
    fills, reads, products = [], [], []
    for fresh in rounds:
        fills.append(_timed(partial(engine.fill, fresh))[1])
        reads.append(_timed(lambda: model.encode(passages))[1])
        products.append(recorder.seconds())
    filled, encoded, multiplied = median(fills), median(reads), median(products)
    steps = sorted(result.steps for result in results if isinstance(result, Filled))
    turned = dict(zip(reversed(range(documents)), engine.fill(requests[::-1]), strict=True))
    alone = [engine.fill([request])[0] for request in requests]
    same = sum(turned[at] == alone[at] == result for at, result in enumerate(results))
    rates = documents / filled, documents / encoded, documents / multiplied
    return Rate(documents, *rates, steps[len(steps) // 2], recorder.calls / documents, same)


def _passages(model: Model) -> Iterator[Passage]:
    """Generated texts, joined and cut to TOKENS tokens."""
    text = ""
    for example in generate(1):
        text += example.text + "\n\n"
        if model.count_tokens(text) >= TOKENS:
            lines = text.splitlines(keepends=True)
            while len(lines) > 1 and model.count_tokens("".join(lines)) > TOKENS:
                lines.pop()
            document: Document = parse("".join(lines).encode(), "a.txt")
            yield passage_of(document)
            text = ""


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.perf_counter()
    return work(), time.perf_counter() - begin


def main() -> None:
    """Prints the rates of a model, on one core."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--effort", default="medium")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model(asked.model, asked.device)
    found = rate(model, asked.effort)
    print(
        f"{machine(model)}\n\n{found.documents} documents of {TOKENS} tokens, {len(FIELDS['properties'])} fields:"
        f" {found.filled:.1f} documents/s, {found.encoded:.1f} by the encoder alone, {found.steps} steps (median);"
        f" {found.multiplied:.1f} by the matrix products alone, share {found.filled / found.multiplied:.2f};"
        f" {found.calls:.0f} torch calls a document; {found.same} records are the same alone and in another order."
    )


if __name__ == "__main__":
    main()
