"""Measures the making of record graphs, from a form to its automaton over a tokenizer's tokens, on one core.

    .venv/bin/python -m bench.record_graphs [SUITES] [--tokenizer tokenizer.json] [--sample 400]

It composes and lifts the forms of the schema library, and with a folder SUITES the real schemas in its
`jsonschemabench`. Times are of the processor; nothing is read from the cache on disk. The tokenizer is a byte-level
BPE; without one, 150,000 tokens are trained on Python's own sources and on generated words, once, into runs/.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sysconfig
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from bench.reporting import table
from bench.schema_suites import real, spread
from cinnabar.engine.diffusion.record_graph import graph_of
from cinnabar.engine.lifting import Vocabulary
from cinnabar.engine.models.identity import SHIPPED
from cinnabar.errors import CinnabarError, TooLarge
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_language import left_to_judge, record_language
from cinnabar.schemas.library import LIBRARY

TOKENS = 150_000
#: The tokenizer that is trained when none is given.
TRAINED = Path("runs") / "record_graphs" / "tokenizer.json"
#: Characters of Python's sources and words that it is trained on.
SOURCES, WORDS = 40_000_000, 3_000_000
END = "<|end|>"


@dataclass(frozen=True, slots=True)
class Made:
    """A graph: fields of its form, states, edges, classes, CPU seconds of both steps, and bounds left to the judge."""

    fields: int
    states: int
    edges: int
    classes: int
    composing: float
    lifting: float
    left: int

    @property
    def seconds(self) -> float:
        """The seconds of both steps."""
        return self.composing + self.lifting


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", type=Path, nargs="?", help="a folder with jsonschemabench")
    parser.add_argument("--tokenizer", type=Path, help="the tokenizer.json of a byte-level BPE")
    parser.add_argument("--sample", type=int, help="about how many of the real schemas (all of them)")
    told = parser.parse_args(arguments)
    # Slots are compiled before the clock starts; the graphs themselves are made, not read.
    os.environ["CINNABAR_CACHE"] = ""
    vocabulary = vocabulary_of(told.tokenizer or trained(TRAINED))
    print(f"{vocabulary.size:,} tokens\n")
    made = {name: timed(compile_schema(kind.model_json_schema()).form, vocabulary) for name, kind in LIBRARY.items()}
    head = ("form", "fields", "states", "edges", "classes", "compose, ms", "lift, ms")
    print(table(head, [row(name, one) for name, one in made.items()]))
    if told.suites is not None:
        print("\n" + report_of([case.schema for case in spread(real(told.suites), told.sample)], vocabulary))


def timed(form: Form, vocabulary: Vocabulary) -> Made:
    """The graph of a form, made from nothing; raises TooLarge."""
    begun = time.process_time()
    automaton = record_language(form)
    composed = time.process_time()
    graph = graph_of(automaton, vocabulary)
    lifted = time.process_time()
    return Made(
        len(form.slots), automaton.states, len(graph.source), graph.classes, composed - begun, lifted - composed,
        len(left_to_judge(form)),
    )  # fmt: skip


def row(name: str, made: Made) -> tuple[str, ...]:
    """A row of the table."""
    counts = (f"{n:,}" for n in (made.fields, made.states, made.edges, made.classes))
    return (name, *counts, f"{1000 * made.composing:.0f}", f"{1000 * made.lifting:.0f}")


def report_of(schemas: Sequence[Any], vocabulary: Vocabulary) -> str:
    """The table of all these schemas, and how many of them are beyond the limits."""
    found: list[Made] = []
    formless, refused = 0, list[str]()
    for schema in schemas:
        try:
            form = compile_schema(schema).form
        except CinnabarError:
            formless += 1
            continue
        try:
            found.append(timed(form, vocabulary))
        except TooLarge as problem:
            refused.append(f"{len(form.slots)} fields, {problem.states:,} states")
    head = ("real schemas", "median", "95%", "most")
    rows = [
        _spread(name, np.array([getattr(made, name) for made in found]), digits)
        for name, digits in (
            ("fields", 0), ("states", 0), ("edges", 0), ("classes", 0), ("composing", 3), ("lifting", 3),
            ("seconds", 3),
        )
    ]  # fmt: skip
    judged = sum(made.left > 0 for made in found)
    slow = sum(made.seconds >= 2 for made in found)
    lines = [
        f"{len(schemas)} schemas: {formless} without a form; {len(found)} graphs, {slow} of them in 2 s or more; "
        f"{judged} leave bounds to the judge; {len(refused)} refused as too large",
        *(f"refused: {one}" for one in refused),
    ]
    return "\n".join([table(head, rows), "", *lines])


def _spread(name: str, values: np.ndarray[Any, np.dtype[Any]], digits: int) -> tuple[str, ...]:
    return (name, *(f"{np.quantile(values, share):,.{digits}f}" for share in (0.5, 0.95, 1.0)))


def trained(path: Path) -> Path:
    """A tokenizer at this path, trained if it is not there."""
    if not path.is_file():
        print(f"training {TOKENS:,} tokens into {path}", flush=True)
        tokenizer = Tokenizer(BPE())
        tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
        trainer = BpeTrainer(
            vocab_size=TOKENS, special_tokens=[END], initial_alphabet=ByteLevel.alphabet(), show_progress=False,
            max_token_length=128,
        )  # fmt: skip
        tokenizer.train_from_iterator(_texts(), trainer)
        path.parent.mkdir(parents=True, exist_ok=True)
        tokenizer.save(str(path))
    return path


def _texts() -> Iterator[str]:
    """Prose and code of Python's standard library; words of many letters; dates and amounts, in JSON."""
    left = SOURCES
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")[:left]
        left -= len(text)
        yield text
        if not left:
            break
    draw = random.Random(0)
    pieces = (SHIPPED / "vocab.txt").read_text(encoding="utf-8").split("\n")
    begins = [piece for piece in pieces if piece and not piece.startswith(("##", "["))]
    ends = [piece.removeprefix("##") for piece in pieces if piece.startswith("##")]
    written = 0
    while written < WORDS:
        words = [draw.choice(begins) + draw.choice(["", "", draw.choice(ends)]) for _ in range(40)]
        some = [draw.choice([word, word.title(), word.upper()]) for word in words]
        record = {
            draw.choice(begins): f"{draw.randint(1990, 2030)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}",
            draw.choice(begins): round(draw.uniform(0, 10 ** draw.randint(1, 6)), 2),
            "text": " ".join(some), "none": None,
        }  # fmt: skip
        text = json.dumps([record, {"id": draw.getrandbits(40)}], ensure_ascii=False)
        written += len(text)
        yield text


def vocabulary_of(path: Path) -> Vocabulary:
    """The vocabulary of a byte-level tokenizer, with its last token without a text as the end token."""
    said = json.loads(path.read_text(encoding="utf-8"))
    added = {one["id"] for one in said["added_tokens"]}
    spelled = said["model"]["vocab"]
    bytes_of = {char: byte for byte, char in enumerate(_characters())}
    texts: list[bytes | None] = [None] * (max([*spelled.values(), *added]) + 1)
    for text, token in spelled.items():
        if token not in added:
            texts[token] = bytes(bytes_of[char] for char in text)
    return Vocabulary(texts, max(added))


def _characters() -> list[str]:
    """The character that stands for each byte in a byte-level tokenizer."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + others.index(byte)) for byte in range(256)]


if __name__ == "__main__":
    main()
