"""Measures the cost of a schema: to compile, to lift its records to a large vocabulary, and to find a first text."""

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

import numpy as np
import torch

from cinnabar.engine.language.class_scores import ClassScores, TokenClasses
from cinnabar.engine.language.lookahead import Constraint, ScanSpan
from cinnabar.engine.language.record_graph import RecordGraph, graph_of
from cinnabar.engine.models.identity import model_folder
from cinnabar.engine.models.language.lifting import Vocabulary
from cinnabar.errors import CinnabarError
from cinnabar.kernels.score_limits import FLOOR
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.record_language import record_language

TOKENS = 32_768
#: The positions of the block with which a record begins, and more tokens than any record has behind it.
POSITIONS, ENDLESS = 32, 1 << 30


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor seconds, and the most bytes that the process held; `problem` is the reason if there is no form."""

    seconds: float
    memory: int
    problem: str = ""


@cache
def large_vocabulary() -> Vocabulary:
    """32,768 tokens: all bytes, the word pieces of the default model, and some of these with a capital."""
    words = (model_folder("default") / "vocab.txt").read_text(encoding="utf-8").split("\n")
    pieces = [word.removeprefix("##") for word in words if word and not word.startswith("[")]
    texts = dict.fromkeys([*(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in pieces)])
    capital = (word.title().encode() for word in words if word.isalpha())
    for text in capital:
        if len(texts) < TOKENS - 1:
            texts.setdefault(text)
    return Vocabulary([*texts, *[None] * (TOKENS - len(texts))], TOKENS - 1)


def costs(schemas: Sequence[Any]) -> Iterator[Cost]:
    """The cost of each schema in a process of its own, where nothing is compiled before and nothing kept on disk."""
    # This prepares the tables of the tokens and everything that libraries load at first use.
    _first_text({"const": "x"})
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
    begin = time.process_time()
    try:
        _first_text(schema)
    except CinnabarError as found:
        problem = str(found)
    spent = time.process_time() - begin
    there.send(Cost(spent, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, problem))


def _first_text(schema: Any) -> None:
    """Compiles a schema, lifts the automaton of its records, and finds the tokens with which one may begin."""
    vocabulary = large_vocabulary()
    graph = graph_of(record_language(compile_schema(schema).form), vocabulary)
    constraint, open_tokens, every = Constraint(graph), np.full(POSITIONS, -1), np.arange(POSITIONS)
    found = constraint.lookahead(ScanSpan(0, open_tokens, every, ENDLESS), _alike(graph, vocabulary))
    if not found.complete or graph.run(found.witness.tolist()) < 0:
        raise CinnabarError("no text was found")


def _alike(graph: RecordGraph, vocabulary: Vocabulary) -> ClassScores:
    """Scores of a block under which all tokens are equally likely."""
    classes, share = TokenClasses(graph.token_class, graph.classes), np.float32(-np.log(vocabulary.size))
    first = np.searchsorted(graph.token_class[graph.tokens], np.arange(graph.classes))
    row = (np.log(classes.size).astype(np.float32) + share, np.full(graph.classes, share), graph.tokens[first])
    total, best, token = (np.tile(one, (POSITIONS, 1)) for one in row)
    return ClassScores(total, best, token, np.full(POSITIONS, FLOOR, np.float32), np.ones(POSITIONS, np.bool_))
