"""Whole records beside llama.cpp: the same GGUF file, documents and fields, on the same threads, in turns in one run.

    npm install --prefix FOLDER --ignore-scripts node-llama-cpp@3.21.1
    python -m bench.engine.beside_llama FILE.gguf ... --node FOLDER [--set SET] [--threads 2] [--record]

llama.cpp reads each document's text alone, then writes the record under its JSON grammar, token by token, behind the
prompt that Cinnabar has. Cinnabar fills them one by one, then all in one batch. Documents are cut at so many tokens,
and schemas at so many fields outside of lists.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import torch
from training.labelled import labelled_documents

from bench.recording import Row, record
from bench.reporting import machine_line, table
from cinnabar.engine.diffusion.engine import DiffusionEngine
from cinnabar.engine.diffusion.prompt import messages
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
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
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--set", type=Path, default=Path("data/samples/event"))
    return parser


class Llama:
    """llama.cpp in a process of its own."""

    def __init__(self, folder: str, file: str, threads: int) -> None:
        command = ["node", str(Path(__file__).with_name("llama.mjs")), str(Path(folder).resolve()), file, str(threads)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe)
        assert self._process.stdout is not None
        while self._process.stdout.readline() != "ready\n":
            assert self._process.poll() is None, "llama.cpp did not start"

    def ask(self, **asked: object) -> dict[str, Any]:
        """Returns the seconds, the tokens of the text, and what was written."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        return answer

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()


def prompt_of(form: Form, text: str) -> str:
    """Returns the prompt of a record as one text, in the marks of Qwen."""
    said = (f"<|im_start|>{one['role']}\n{one['content']}<|im_end|>\n" for one in messages(form, {}, text))
    return "".join(said) + "<|im_start|>assistant\n"


def figures(folder: str, file: str, documents: Path, threads: int) -> tuple[list[str], list[float]]:
    """Returns the row of the table of a file, and its figures: see `WANTED`."""
    schema = fields_of(json.loads((documents / "schema.json").read_text("utf-8")))
    form = compile_schema(schema).form
    model = load_language_model(file, "cpu")
    engine, llama = DiffusionEngine(model), Llama(folder, file, threads)
    own, alone, whole, passes = [], [], [], []
    texts = texts_of(documents, model)
    for number, text in enumerate(texts):
        begun = time.perf_counter()
        (result,) = engine.fill([Request(str(number), form, text_passage(text))])
        own.append(time.perf_counter() - begun)
        assert isinstance(result, Filled), result
        passes.append(result.steps)
        alone.append(llama.ask(text=text)["seconds"])
        whole.append(llama.ask(text=prompt_of(form, text), schema=plain(schema))["seconds"])
    llama.close()
    begun = time.perf_counter()
    engine.fill([Request(str(number), form, text_passage(text)) for number, text in enumerate(texts[1:])])
    batch = (time.perf_counter() - begun) / (len(texts) - 1)
    # The first one reads the fields too.
    first, other, third, many = (statistics.mean(one[1:]) for one in (own, alone, whole, passes))
    name, ratio, faster = Path(file).parent.name, first / other, third / batch
    line = [name, *(f"{one:.2f}" for one in (first, many, batch, other, third, ratio, faster))]
    return line, [ratio, faster, many]


def main() -> None:
    """Prints the figures of the files, and with `--record` keeps them."""
    parser = arguments(__doc__)
    parser.add_argument("--node", required=True, help="the folder in which npm put node-llama-cpp")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    lines, found = [], []
    for file in asked.files:
        line, own = figures(asked.node, file, asked.set, asked.threads)
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
        record("beside_llama", "whole records beside llama.cpp", command, rows, precision="int8")


if __name__ == "__main__":
    main()
