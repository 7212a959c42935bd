"""Tells how a language model fills a form: the values whose tokens a pass committed, and those that it masked again.

A value is committed when all of its tokens are. Tokens of the witness and of a smallest rest are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from cinnabar.engine.diffusion.arrays import Bools, Floats, Ints
from cinnabar.engine.diffusion.forced import TokenTexts
from cinnabar.engine.diffusion.sequences import OpenSequence, Task
from cinnabar.engine.diffusion.value_places import places_of
from cinnabar.engine.fill_progress import FormState, Watcher, notify

# The least posterior that counts in a product.
_LEAST = 1e-12


@dataclass(slots=True)
class _LastState:
    """The last state of an answer: its tokens, -1 where open, their posteriors, and the tokens of each value."""

    tokens: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    posterior: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    values: Mapping[str, Ints] = field(default_factory=dict)
    committed: frozenset[str] = frozenset()


class TokenWatch:
    """Compares the answers to some tasks with their last states."""

    def __init__(self, tasks: Sequence[Task], ids: Sequence[str], texts: TokenTexts, watcher: Watcher) -> None:
        self._tasks, self._ids, self._texts, self._watcher = tasks, ids, texts, watcher
        self._seen = [_LastState() for _ in tasks]
        self._open: dict[int, OpenSequence] = {}

    def note(self, _step: int, sequences: Iterable[OpenSequence]) -> None:
        """Takes the sequences that a pass worked on; `Denoiser.stream` calls it before it shows the states."""
        self._open = {id(sequence.task): sequence for sequence in sequences}

    def begin(self, number: int, record: str, known: Iterable[str]) -> None:
        """Tells the state of a task before the first pass; `known` are the pointers of its frozen values."""
        frozen = tuple(known)
        notify(self._watcher, FormState(self._ids[number], 0, record, frozen, (), dict.fromkeys(frozen, 1.0)))

    def look(self, step: int, number: int, state: bytes, record: str) -> None:
        """Tells the state of a task if the pass worked on it: its record, and the text of that as the model has it."""
        sequence = self._open.get(id(self._tasks[number]))
        if sequence is None:
            return
        part = slice(sequence.begin, sequence.limit)
        tokens, posterior = sequence.tokens[part].copy(), sequence.posterior[part].copy()
        shown = np.where(tokens < 0, sequence.witness[part], tokens)
        chosen, seen = sequence.chosen[part], self._seen[number]
        again = _masked_again(seen, tokens, posterior)
        doubted = tuple(pointer for pointer, at in seen.values.items() if again[at].any())
        values = self._values(state, shown, sequence.end)
        committed = frozenset(p for p, at in values.items() if len(at) and (tokens[at] >= 0).all())
        fresh = tuple(p for p in values if p in committed and (p not in seen.committed or p in doubted))
        confidence = {pointer: _sureness(posterior[at], chosen[at], tokens[at]) for pointer, at in values.items()}
        self._seen[number] = _LastState(tokens, posterior, values, committed)
        notify(self._watcher, FormState(self._ids[number], step, record, fresh, doubted, confidence))

    def _values(self, state: bytes, shown: Ints, end: int) -> dict[str, Ints]:
        """Returns the places of the tokens of each scalar; none for one that lies behind the tokens."""
        stop = np.flatnonzero((shown < 0) | (shown == end))
        tokens = shown[: stop[0]] if len(stop) else shown
        texts = [self._texts.text([token]) for token in tokens.tolist()]
        ends = np.array([*accumulate(map(len, texts))], np.int64)
        if not state.startswith(b"".join(texts)):
            # The judge refused these tokens, and the state is an earlier one.
            return {}
        places: dict[str, Ints] = {}
        for pointer, (first, last) in places_of(state).values.items():
            if state[first : first + 1] in (b"{", b"["):
                continue
            # A number goes on until the token behind it says that it ends.
            number = state[first : first + 1] not in (b'"', b"t", b"f", b"n")
            begin, stop_at = np.searchsorted(ends, [first, last - 1 + number], side="right")
            whole = len(ends) > 0 and last <= ends[-1]
            places[pointer] = np.arange(begin, min(stop_at + 1, len(ends))) if whole else np.zeros(0, np.int64)
        return places


def _masked_again(seen: _LastState, tokens: Ints, posterior: Floats) -> Bools:
    """[T] bool, committed tokens that were masked since, also if they were committed once more meanwhile."""
    if not len(seen.tokens):
        return np.zeros(len(tokens), np.bool_)
    again: Bools = (seen.tokens >= 0) & ((tokens != seen.tokens) | (posterior != seen.posterior))
    return again


def _sureness(posterior: Floats, chosen: Bools, tokens: Ints) -> float:
    """Returns the product of the posteriors of tokens that the model chose, or would choose now; 0 without a token."""
    if not len(tokens):
        return 0.0
    asked = posterior[chosen | (tokens < 0)].tolist()
    return round(math.exp(math.fsum(math.log(max(one, _LEAST)) for one in asked)), 4)
