"""A tokenizer of 150,000 tokens and the graphs of records over it, at the size of a real model, made from nothing here.

It is a byte-level BPE that is trained on Python's own sources and on generated words, once, into runs/.
"""

from __future__ import annotations

import json
import random
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from cinnabar.engine.language.graph_cache import cached_graph
from cinnabar.engine.language.record_graph import RecordGraph
from cinnabar.engine.language.sequences import Task
from cinnabar.engine.models.identity import SHIPPED
from cinnabar.engine.models.language.lifting import Vocabulary
from cinnabar.schemas import compile_schema, load_schema

TOKENS = 150_000
TRAINED = Path("runs") / "record_graphs" / "tokenizer.json"
#: Characters of Python's sources and words that it is trained on.
SOURCES, WORDS = 40_000_000, 3_000_000
END = "<|end|>"
#: Positions of a block.
BLOCK = 32


@dataclass(frozen=True, slots=True)
class Spelled:
    """A tokenizer of 150,000 tokens. Its mask token is one more."""

    vocabulary: Vocabulary
    backend: Tokenizer

    @property
    def end(self) -> int:
        """The token that ends an answer."""
        return self.vocabulary.end

    @property
    def mask(self) -> int:
        """The mask token."""
        return self.vocabulary.size

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text."""
        return [int(token) for token in self.backend.encode(text, add_special_tokens=False).ids]


def large_tokenizer() -> Spelled:
    """Returns the tokenizer, which is trained if it is not there yet."""
    path = trained(TRAINED)
    return Spelled(vocabulary_of(path), Tokenizer.from_file(str(path)))


def graph_of_kind(kind: str, tokenizer: Spelled) -> RecordGraph:
    """The graph of a schema of the library."""
    form = compile_schema(load_schema(kind).schema).form
    return cached_graph(form, tokenizer)


def task_of(graph: RecordGraph, prompt: Sequence[int]) -> Task:
    """A task with a prompt of any tokens and room for two blocks."""
    return Task(prompt, graph, int(graph.distance[0]) + 2 * BLOCK, None, b"")


class Stop(Exception):
    """Ends a decoding after enough passes."""


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
