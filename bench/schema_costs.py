"""Measures the cost of a schema: to compile, to lift to a large vocabulary, and to find a first text of each slot."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import torch
from cinnabar.engine.constraint import LONGEST, Constraint, first_length, shortest

from cinnabar.engine.canvas import MASK
from cinnabar.engine.lifting import Vocabulary
from cinnabar.engine.models.identity import model_folder
from cinnabar.schemas import compile_schema
from cinnabar.schemas.errors import CinnabarError

TOKENS = 32_768
#: The positions of slots that are scored together; their scores take 16 MB.
POSITIONS = 128


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds, and the most bytes that the process held; `problem` is the reason if there is no form."""

    seconds: float
    memory: int
    problem: str = ""


@cache
def large_vocabulary() -> tuple[list[bytes], Vocabulary]:
    """32,768 tokens: all bytes, the word pieces of the default model, and some of these with a capital."""
    words = (model_folder("default") / "vocab.txt").read_text(encoding="utf-8").split("\n")
    pieces = [word.removeprefix("##") for word in words if word and not word.startswith("[")]
    texts = dict.fromkeys([*(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in pieces)])
    capital = (word.title().encode() for word in words if word.isalpha())
    for text in capital:
        if len(texts) < TOKENS - 2:
            texts.setdefault(text)
    rest = TOKENS - len(texts)
    return [*texts, *[b""] * rest], Vocabulary([*texts, *[None] * rest], TOKENS - 2, TOKENS - 1)


def costs(schemas: Sequence[Any]) -> Iterator[Cost]:
    """The cost of each schema in a process of its own, where nothing is compiled before and nothing kept on disk."""
    # This prepares the tables of the tokens and everything that libraries load at first use.
    _first_texts({"const": "x"})
    context = get_context("fork")
    for schema in schemas:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_measured, args=(there, schema))
        process.start()
        there.close()
        try:
            yield here.recv()
        except EOFError:
            yield Cost(0.0, 0, "the process ended")
        finally:
            process.join()


def _measured(there: Connection, schema: Any) -> None:
    torch.set_num_threads(1)
    os.environ["CINNABAR_CACHE"] = ""
    problem = ""
    begin = time.perf_counter()
    try:
        _first_texts(schema)
    except CinnabarError as found:
        problem = str(found)
    spent = time.perf_counter() - begin
    there.send(Cost(spent, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, problem))


def _first_texts(schema: Any) -> None:
    """Compiles a schema, lifts its slots, and finds a text for each of them."""
    form, (texts, vocabulary) = compile_schema(schema).form, large_vocabulary()
    constraint = Constraint(torch.device("cpu"), vocabulary=vocabulary)
    # Slots of one automaton have the same first text.
    kinds = {(slot.automaton.fingerprint, slot.nullable): slot for slot in form.slots}
    slots = [slot for slot in kinds.values() if 0 < (shortest(slot) or 0) <= LONGEST]
    slots.sort(key=first_length)
    while slots:
        together = max(1, POSITIONS // first_length(slots[0]))
        some = [slot for slot in slots[:together] if first_length(slot) == first_length(slots[0])]
        slots = slots[len(some) :]
        length = torch.tensor([first_length(slot) for slot in some])
        shape = (len(some), int(length.max()))
        found = constraint.outlook(
            some, torch.full(shape, MASK), length, torch.zeros(*shape, vocabulary.size)
        )
        for slot, row, whole in zip(some, found.witness.tolist(), found.complete.tolist(), strict=True):
            text = b"".join(texts[token] for token in row)
            if not whole or not slot.automaton.accepts(text):
                raise CinnabarError(f"{slot.path}: no text was found")
