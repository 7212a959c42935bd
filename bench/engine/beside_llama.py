"""Whole records beside llama.cpp: the same GGUF file, documents and fields, on the same threads, in turns in one run.

    pip install xllamacpp==2026.10.11549
    python -m bench.engine.beside_llama FILE.gguf ... [--set SET] [--threads 1] [--record]

llama.cpp reads each document's text alone, then writes the record under its JSON grammar, token by token, behind the
prompt that Cinnabar has. Cinnabar reads each with the reader, whose record is the draft, and with the language model,
one by one, then all in one batch. Documents are cut at so many tokens, and schemas at so many fields outside of lists.
Both are in this process, and seconds are those of the processors, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from training.labelled import labelled_documents

from bench.recording import Row, record
from bench.reporting import machine_line, table
from cinnabar.engine.asking.prompt import messages
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.language.engine import LanguageEngine
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.request import Filled, Request, text_passage
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form

#: Tokens of a document, fields of a schema, and documents that are timed behind the first one.
TOKENS, FIELDS, DOCUMENTS = 500, 12, 4
HEAD = (
    "file", "s a record", "passes", "in a batch", "llama.cpp: the document alone", "its record", "first : alone",
    "records/s",
)  # fmt: skip
#: Figures of a file, what is wanted, and whether it is the most.
WANTED = (
    (f"a record of {FIELDS} fields : llama.cpp's prefill", 1.8, True),
    ("records/s against its grammar", 1.9, False),
    ("passes a record", 23, True),
)


def fields_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema with its first fields outside of lists."""
    flat = {name: own for name, own in schema["properties"].items() if own.get("type") not in ("array", "object")}
    return {**schema, "properties": dict(list(flat.items())[:FIELDS]), "required": []}


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns what llama.cpp's grammar takes of it: names, types and options."""
    known = ("type", "enum", "const", "anyOf", "oneOf")
    own = {name: {key: one[key] for key in known if key in one} for name, one in schema["properties"].items()}
    return {"type": "object", "properties": own}


def texts_of(folder: Path, model: LanguageModel) -> list[str]:
    """Returns the longest documents of the set, one more than are timed, cut at `TOKENS` tokens."""
    texts = [document.passage.text for document in labelled_documents(folder)]
    tokenizer = model.tokenizer
    longest = sorted(texts, key=lambda text: len(tokenizer.encode(text)), reverse=True)[: DOCUMENTS + 1]
    return [tokenizer.decode(tokenizer.encode(text)[:TOKENS]).decode("utf-8", "ignore") for text in longest]


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Returns the arguments of a bench of GGUF files on the documents of a set."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--set", type=Path, default=Path("data/samples/event"))
    return parser


class Llama:
    """llama.cpp with a model of one file."""

    def __init__(self, file: str, threads: int) -> None:
        from xllamacpp import CommonParams, Server

        params = CommonParams()
        params.model.path, params.n_ctx, params.n_parallel, params.verbosity = file, 4096, 1, 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        self._server = Server(params)

    def seconds(self, text: str, **asked: object) -> float:
        """Returns the seconds of reading this text, and of writing if `asked` says so.

        A record's prompt goes on where it equals that of the one before, as its fields do.
        """
        begun = time.process_time()
        reply = self._server.handle_completions({"prompt": text, "temperature": 0, **asked})
        assert "choices" in reply, reply
        return time.process_time() - begun


def prompt_of(form: Form, text: str) -> str:
    """Returns the prompt of a record as one text, in the marks of Qwen."""
    said = (f"<|im_start|>{one['role']}\n{one['content']}<|im_end|>\n" for one in messages(form, {}, text))
    return "".join(said) + "<|im_start|>assistant\n"


def figures(file: str, documents: Path, threads: int) -> tuple[list[str], list[float]]:
    """Returns the row of the table of a file, and its figures: see `WANTED`."""
    schema = fields_of(json.loads((documents / "schema.json").read_text("utf-8")))
    form = compile_schema(schema).form
    model = load_language_model(file, "cpu")
    engine, llama = LanguageEngine(model), Llama(file, threads)
    reader = Engine(load_model("default", "cpu"))

    def fill(*texts: str) -> tuple[float, list[int]]:
        begun = time.process_time()
        asked = [Request(str(number), form, text_passage(text)) for number, text in enumerate(texts)]
        read = [one for one in reader.fill(asked) if isinstance(one, Filled)]
        passages = (replace(one.passage, draft=draft) for one, draft in zip(asked, read, strict=True))
        results = engine.fill([replace(one, passage=own) for one, own in zip(asked, passages, strict=True)])
        return time.process_time() - begun, [one.steps for one in results if isinstance(one, Filled)]

    own, alone, whole, passes = [], [], [], []
    texts = texts_of(documents, model)
    for text in texts:
        seconds, steps = fill(text)
        own.append(seconds)
        passes += steps
        alone.append(llama.seconds(text, n_predict=1, cache_prompt=False))
        whole.append(llama.seconds(prompt_of(form, text), n_predict=1000, json_schema=plain(schema)))
    batch = fill(*texts[1:])[0] / (len(texts) - 1)
    # The first one reads the fields too.
    first, other, third, many = (statistics.mean(one[1:]) for one in (own, alone, whole, passes))
    name, ratio, faster = Path(file).parent.name, first / other, third / batch
    line = [name, *(f"{one:.2f}" for one in (first, many, batch, other, third, ratio, faster))]
    return line, [ratio, faster, many]


def main() -> None:
    """Prints the figures of the files, and with `--record` keeps them."""
    parser = arguments(__doc__)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    lines, found = [], []
    for file in asked.files:
        line, own = figures(file, asked.set, asked.threads)
        lines.append(line)
        found.append(own)
    print(machine_line(torch.device("cpu"), f"{asked.threads} threads"), "", table(HEAD, lines), sep="\n")
    if asked.record:
        command = "python -m bench.engine.beside_llama"
        rows = [
            Row(f"{what}, {name}", f"{wanted:g}", f"{own[place]:.2f}", (own[place] > wanted) == is_most)
            for place, (what, wanted, is_most) in enumerate(WANTED)
            for name, own in zip((Path(file).parent.name for file in asked.files), found, strict=True)
        ]
        record("beside_llama", "records beside llama.cpp", command, rows, precision="int8")


if __name__ == "__main__":
    main()
