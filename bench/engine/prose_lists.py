"""Lists of many items that stand in prose: branches beside the same weights token by token under the record's graph.

    python -m bench.engine.prose_lists FILE.gguf ... [--threads 2] [--record]

Each document has thirty items, told in sentences of four forms; an item is right if all its fields are.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from bench.engine.beside_llama import arguments
from bench.recording import Row, record
from bench.reporting import machine_line, table
from cinnabar.engine.branches.engine import language_engine
from cinnabar.engine.diffusion.engine import DiffusionEngine
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.request import Filled, Request, Result, text_passage
from cinnabar.schemas import compile_schema

ITEMS, DOCUMENTS = 30, 2
SCHEMA: dict[str, Any] = {
    "title": "report of repairs",
    "type": "object",
    "required": ["repairs"],
    "properties": {
        "repairs": {
            "type": "array",
            "description": "Each machine that was repaired.",
            "items": {
                "type": "object",
                "required": ["machine", "hall", "hours"],
                "properties": {
                    "machine": {"type": ["string", "null"], "description": "Name of the machine."},
                    "hall": {"type": ["string", "null"], "description": "Name of the hall, without the word hall."},
                    "hours": {"type": ["number", "null"], "description": "Hours that the repair took."},
                },
            },
        }
    },
}
_MACHINES = ["Lathe", "Press", "Saw", "Mill", "Loom", "Pump", "Crane", "Kiln", "Drill", "Mixer"]
_HALLS = ["Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Juniper", "Larch"]
_FORMS = (
    "{machine} in hall {hall} was repaired in {hours} hours.",
    "It took {hours} hours to mend {machine}, which stands in hall {hall}.",
    "{machine} failed again; the fitters went to hall {hall} and needed {hours} hours.",
    "In hall {hall} we found {machine} without power, and it ran again after {hours} hours.",
)
HEAD = ("file", "s a document, branches", "token by token", "first : second", "items right of", "branches", "other")


def document(seed: int) -> tuple[str, list[dict[str, Any]]]:
    """Returns a text of short paragraphs and the items that it tells."""
    drawn = random.Random(seed)
    names = drawn.sample([f"{kind} {number}" for kind in _MACHINES for number in range(10, 60)], ITEMS)
    items = [
        {"machine": name, "hall": drawn.choice(_HALLS), "hours": drawn.randrange(2, 60) / 2} for name in names
    ]
    told = [drawn.choice(_FORMS).format(**one | {"hours": f"{one['hours']:g}"}) for one in items]
    paragraphs = [" ".join(told[at : at + 5]) for at in range(0, ITEMS, 5)]
    return "Repairs of this month\n\n" + "\n\n".join(paragraphs) + "\n", items


def right(results: Sequence[Result], truths: Sequence[list[dict[str, Any]]]) -> int:
    """Returns how many items have all their values."""
    found = [json.loads(one.record)["repairs"] if isinstance(one, Filled) else [] for one in results]
    return sum(item in own for own, truth in zip(found, truths, strict=True) for item in truth)


def figures(file: str) -> tuple[list[str], list[float]]:
    """Returns the row of the table of a file; its ratio of seconds, and the items that are right in both ways."""
    model, form = load_language_model(file, "cpu"), compile_schema(SCHEMA).form
    texts, truths = zip(*(document(seed) for seed in range(DOCUMENTS)), strict=True)
    requests = [Request(str(at), form, text_passage(text)) for at, text in enumerate(texts)]
    seconds, items = [], []
    for engine in (language_engine(model), DiffusionEngine(model)):
        engine.prepare(form)
        begun = time.perf_counter()
        results = [engine.fill([one])[0] for one in requests]
        seconds.append((time.perf_counter() - begun) / DOCUMENTS)
        items.append(right(results, truths))
    ratio = seconds[0] / seconds[1]
    row = [Path(file).parent.name, *(f"{one:.1f}" for one in seconds), f"{ratio:.2f}", str(ITEMS * DOCUMENTS)]
    return [*row, *map(str, items)], [ratio, *items]


def main() -> None:
    """Prints the figures of the files, and with `--record` keeps them."""
    told = arguments(__doc__).parse_args()
    torch.set_num_threads(told.threads)
    made = [figures(file) for file in told.files]
    lines = table(HEAD, [row for row, _ in made])
    print(machine_line(torch.device("cpu"), f"{told.threads} threads"), "", lines, sep="\n")
    if told.record:
        what = f"lists of {ITEMS} items in prose, {', '.join(Path(file).parent.name for file in told.files)}: seconds"
        what += " against token by token; items right by branches; by the other"
        got = "; ".join(", ".join(f"{one:.3g}" for one in own) for own in zip(*(own for _, own in made), strict=True))
        missed = any(ratio > 0.2 or items < others for _, (ratio, items, others) in made)
        command = "python -m bench.engine.prose_lists"
        rows = [Row(what, ".2; not lower", got, missed)]
        record("prose_lists", "lists in prose", command, rows, precision="int8")


if __name__ == "__main__":
    main()
