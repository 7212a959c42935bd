"""Deterministic finite automata over bytes, stored by byte class: one for each language.

Every automaton that `from_dfa` makes is minimal, trimmed and numbered in breadth-first order, so that two
automata are equal in all fields exactly when their languages are equal, and `fingerprint` names the language.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import heappop, heappush
from itertools import chain

import numpy as np
import numpy.typing as npt

from cinnabar.errors import TooLarge
from cinnabar.schemas.automata.minimise import (
    Bools,
    Ints,
    bfs_order,
    farthest,
    merge_columns,
    nearest,
    refine,
    reverse_edges,
)

# Larger automata are slow on every denoising step: a bounded string of 3,000 states takes 280 ms a canvas.
MAX_STATES = 20_000


@dataclass(frozen=True, eq=False)
class Automaton:
    """A deterministic automaton over bytes.

    transitions: [S, C] int32, the next state, -1 for no transition. Every state is live: some text leads from it to
        acceptance. State 0 is the start; an empty language has no states.
    byte_class: [256] int32, the class of each byte; bytes of one class are alike in every state.
    accepting: [S] bool.
    """

    transitions: Ints
    byte_class: Ints
    accepting: Bools

    @property
    def states(self) -> int:
        """The number of states."""
        return int(self.transitions.shape[0])

    @property
    def is_empty(self) -> bool:
        """Whether the language holds no text at all."""
        return not self.states

    @cached_property
    def _rows(self) -> list[list[int]]:
        return self.transitions.tolist()  # type: ignore[no-any-return]

    @cached_property
    def _classes(self) -> list[int]:
        return self.byte_class.tolist()  # type: ignore[no-any-return]

    @cached_property
    def distance(self) -> Ints:
        """[S] int32, the fewest bytes from each state to acceptance."""
        return nearest(self.accepting, reverse_edges(self.transitions))

    @cached_property
    def longest(self) -> int | None:
        """Bytes of the longest text of the language; None if the language is empty or has no longest text."""
        if self.is_empty:
            return None
        bound = int(farthest(self.transitions, reverse_edges(self.transitions))[0])
        return None if bound < 0 else bound

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of the canonical form; equal languages have equal fingerprints."""
        digest = hashlib.sha256(repr(self.transitions.shape).encode())
        for array in (self.transitions, self.byte_class, self.accepting):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def accepts(self, text: bytes) -> bool:
        """Whether the language holds this text."""
        end = self.run(text)
        return end >= 0 and bool(self.accepting[end])

    def run(self, text: bytes, state: int = 0) -> int:
        """The state after reading this text from `state`; -1 if no text of the language continues that way."""
        if self.is_empty:
            return -1
        rows, classes = self._rows, self._classes
        for byte in text:
            state = rows[state][classes[byte]]
            if state < 0:
                return -1
        return state

    def shortest(self) -> bytes | None:
        """A shortest text; of several the smallest, with printable ASCII ordered before all other bytes."""
        return None if self.is_empty else self.completion(0)

    def completion(self, state: int) -> bytes:
        """A shortest text from a state to acceptance; of several the smallest, in the order of `shortest`."""
        if state not in self._completions:
            self._completions[state] = self._complete(state)
        return self._completions[state]

    @cached_property
    def _completions(self) -> dict[int, bytes]:
        return {}

    def _complete(self, state: int) -> bytes:
        best: dict[int, int] = {}
        for byte in (*range(0x20, 0x7F), *range(0x20), *range(0x7F, 0x100)):
            best.setdefault(self._classes[byte], byte)
        distance, text = self.distance, bytearray()
        while distance[state]:
            for kind, byte in best.items():
                target = self._rows[state][kind]
                if target >= 0 and distance[target] < distance[state]:
                    text.append(byte)
                    state = target
                    break
        return bytes(text)

    def shortest_texts(self, count: int) -> list[bytes]:
        """Up to `count` different texts, the shortest first, with printable ASCII ordered before other bytes."""
        # The search for a record asks for the same texts many times.
        if count not in self._texts:
            self._texts[count] = self._find_texts(count)
        return self._texts[count]

    @cached_property
    def _texts(self) -> dict[int, list[bytes]]:
        return {}

    def _find_texts(self, count: int) -> list[bytes]:
        if self.is_empty:
            return []
        best: dict[int, int] = {}
        plain, other = (range(0x30, 0x7B), range(0x20, 0x30)), (range(0x7B, 0x100), range(0x20))
        for byte in chain(*plain, *other):
            best.setdefault(self._classes[byte], byte)
        several: dict[int, list[int]] = {}
        for byte in range(0x21, 0x7F):
            if len(several.setdefault(self._classes[byte], [])) < count:
                several[self._classes[byte]].append(byte)
        distance, texts = self.distance.tolist(), list[bytes]()
        waiting: list[tuple[int, bytes, int]] = [(distance[0], b"", 0)]
        taken: dict[int, int] = {}
        while waiting and len(texts) < count:
            _, text, state = heappop(waiting)
            if self.accepting[state]:
                texts.append(text)
            taken[state] = taken.get(state, 0) + 1
            if taken[state] > count:
                continue
            for kind, byte in best.items():
                target = self._rows[state][kind]
                if target >= 0 and taken.get(target, 0) <= count:
                    for one in several.get(kind) or [byte]:
                        further = text + bytes([one])
                        heappush(waiting, (len(further) + distance[target], further, target))
        return texts

    def edges(self) -> tuple[Ints, Ints, Ints]:
        """All transitions as (source, destination, byte class), each [E] int32, sorted by source."""
        source, kind = np.nonzero(self.transitions >= 0)
        return source.astype(np.int32), self.transitions[source, kind], kind.astype(np.int32)


def from_dfa(
    transitions: npt.ArrayLike, byte_class: npt.ArrayLike, accepting: npt.ArrayLike, start: int = 0
) -> Automaton:
    """The minimal automaton of a deterministic table; the table may have dead and unreachable states.

    transitions: [S, C] integers, -1 for no transition; byte_class: [256]; accepting: [S].
    Raises TooLarge if the result has more than `MAX_STATES` states.
    """
    table, final = np.asarray(transitions, np.int32), np.asarray(accepting, np.bool_)
    classes = np.asarray(byte_class, np.int32)
    if not len(table):
        return empty()
    # Columns of no byte would count as transitions.
    table, classes = merge_columns(table, classes)
    order = bfs_order(table, start)
    number = np.full(len(table) + 1, -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    table, final = number[table[order]], final[order]
    back = reverse_edges(table)
    least = nearest(final, back)
    if least[0] < 0:
        return empty()
    if (least < 0).any():
        kept = np.flatnonzero(least >= 0)
        number = np.full(len(table) + 1, -1, np.int32)
        number[kept] = np.arange(len(kept), dtype=np.int32)
        table, final, least = number[table[kept]], final[kept], least[kept]
        back = reverse_edges(table)
    label, count = refine(table, final, least, farthest(table, back))
    if count > MAX_STATES:
        raise TooLarge(count, MAX_STATES)
    first = np.empty(count, np.int64)
    first[label[::-1]] = np.arange(len(label))[::-1]
    table = np.append(label, np.int32(-1))[table[first]]
    table, classes = merge_columns(table, classes)
    order = bfs_order(table, int(label[0]))
    number = np.full(count + 1, -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    result = Automaton(number[table[order]], classes, final[first][order])
    for array in (result.transitions, result.byte_class, result.accepting):
        array.setflags(write=False)
    return result


@lru_cache(maxsize=1)
def empty() -> Automaton:
    """The language without texts."""
    return Automaton(np.zeros((0, 1), np.int32), np.zeros(256, np.int32), np.zeros(0, np.bool_))
