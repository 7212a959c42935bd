"""The graph of a form over a tokenizer: made once, and kept on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cinnabar.engine import lifting
from cinnabar.engine.diffusion import forced, record_graph
from cinnabar.engine.diffusion.forced import TokenSpelling, spelled_graph
from cinnabar.engine.diffusion.record_graph import RecordGraph, graph_of
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.cache import Arrays, arrays_of, automaton_of, cached_arrays
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_language import left_to_judge, record_language

#: Graphs that are kept in memory.
GRAPHS = 32
#: The files with the code that makes graphs, beside that of the automata.
CODE = (record_graph.__file__, forced.__file__, lifting.__file__, __file__)
#: The fields of a graph that are arrays of numbers.
_NUMBERS = ("source", "target", "label", "distance", "tokens", "token_class")


class NamedSpelling(TokenSpelling, Protocol):
    """A tokenizer with the hash that identifies it."""

    @property
    def fingerprint(self) -> str:
        """The hash of its files."""
        ...


@lru_cache(maxsize=GRAPHS)
def cached_graph(form: Form, tokenizer: NamedSpelling) -> RecordGraph:
    """Returns the graph of a form over a tokenizer, from memory, from disk or built.

    Whatever no automaton expresses is left to the form's judge. Raises TooLarge if the form's records need too many
    states.
    """
    return cached_graph_of(
        ("record", form.fingerprint), lambda: record_language(form), tokenizer, lambda: left_to_judge(form)
    )


def cached_graph_of(
    key: tuple[str, ...],
    language: Callable[[], Automaton],
    tokenizer: NamedSpelling,
    left_out: Callable[[], tuple[str, ...]] = tuple,
) -> RecordGraph:
    """Returns the graph of a language over a tokenizer, from disk or built; the key must name the language."""

    def build() -> Arrays:
        made = spelled_graph(graph_of(language(), tokenizer.vocabulary), tokenizer)
        numbers = {field: getattr(made, field).astype(np.int32) for field in _NUMBERS}
        sizes = np.array([made.classes, made.end_class])
        return {**arrays_of(made.automaton), **numbers, "sizes": sizes, "left": np.array(left_out(), str)}

    arrays = cached_arrays((*key, tokenizer.fingerprint, _code()), build)
    classes, end_class = arrays["sizes"].tolist()
    numbers: dict[str, Any] = {field: arrays[field].astype(np.int64) for field in _NUMBERS}
    left = tuple(arrays["left"].tolist())
    return RecordGraph(automaton_of(arrays), **numbers, classes=classes, end_class=end_class, left_to_judge=left)


@lru_cache(maxsize=GRAPHS)
def fresh_graph(form: Form, tokenizer: TokenSpelling) -> RecordGraph:
    """Returns the graph of a form that no disk keeps, such as one without the frozen places of a document.

    It takes less than a tenth of a second with 150,000 tokens, and each document may have its own.
    """
    return spelled_graph(graph_of(record_language(form), tokenizer.vocabulary), tokenizer)


@cache
def _code() -> str:
    """A digest of the code that makes graphs; that of the automata is part of every entry's name."""
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in CODE)).hexdigest()
