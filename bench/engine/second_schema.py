"""A second schema on documents that were read already: its seconds beside those of the first, documents first.

    python -m bench.engine.second_schema FILE.gguf ... [--set SET] [--threads 2] [--record]

The first schema has `FIELDS` fields; the second has another title, and as many of them, or four, in another order.
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

import torch

from bench.engine.beside_llama import FIELDS, fields_of, set_arguments, texts_of
from bench.recording import Row, record
from bench.reporting import machine_line, table
from cinnabar.engine.branches.branch_model import BranchModel
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.request import Filled, Request, text_passage
from cinnabar.schemas import compile_schema

#: The fields of a short second schema.
FEW = 4


def other(schema: dict[str, Any], fields: int) -> dict[str, Any]:
    """Returns a schema of another title with so many of the fields, the last ones first."""
    return {"title": "answers", "type": "object", "properties": dict([*schema["properties"].items()][::-1][:fields])}


def seconds(engine: Engine, schema: dict[str, Any], text: str) -> float:
    """Returns the seconds of a record."""
    form = compile_schema(schema).form
    begun = time.perf_counter()
    (result,) = engine.fill([Request("", form, text_passage(text))])
    assert isinstance(result, Filled), result
    return time.perf_counter() - begun


def figures(file: str, documents: Path) -> list[float]:
    """Returns the mean seconds of the first schema, of the second with as many fields, and with few."""
    schema = fields_of(json.loads((documents / "schema.json").read_text("utf-8")))
    model = BranchModel(load_language_model(file, "cpu"), document_first=True)
    engine, taken = Engine(model), []
    for text in texts_of(documents, model):
        taken.append([seconds(engine, one, text) for one in (schema, other(schema, FIELDS), other(schema, FEW))])
    return [statistics.mean(own) for own in zip(*taken[1:], strict=True)]


def main() -> None:
    """Prints the figures of the files, and with `--record` keeps them."""
    asked = set_arguments(__doc__).parse_args()
    torch.set_num_threads(asked.threads)
    lines, found = [], []
    for file in asked.files:
        first, whole, few = figures(file, asked.set)
        lines.append([name := Path(file).parent.name, *(f"{one:.2f}" for one in (first, whole, few))])
        found.append((f"{name} {whole / first:.2f}, {few / first:.2f}", whole > 0.3 * first))
    head = ("file", f"first schema, {FIELDS} fields, s", f"second, {FIELDS}", f"second, {FEW}")
    print(machine_line(torch.device("cpu"), f"{asked.threads} threads"), "", table(head, lines), sep="\n")
    if asked.record:
        what = f"on a document that was read: {FIELDS} fields, {FEW} fields : the first schema's time"
        rows = [Row(what, "0.3", "; ".join(told for told, _ in found), any(missed for _, missed in found))]
        record("second_schema", "a second schema", "python -m bench.engine.second_schema", rows, precision="int8")


if __name__ == "__main__":
    main()
