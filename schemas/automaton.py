"""Deterministic finite automata over bytes, stored by byte class, and the algebra over them.

Every automaton that leaves this file is minimal, trimmed and numbered in breadth-first order, so that two
automata are equal in all fields exactly when their languages are equal, and `fingerprint` names the language.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from heapq import heappop, heappush
from itertools import chain

import numpy as np
import numpy.typing as npt

from cinnabar.schemas.errors import TooLarge
from cinnabar.schemas.minimise import (
    MAX_RAW_STATES,
    bfs_order,
    farthest,
    join_classes,
    merge_columns,
    nearest,
    refine,
    reverse_edges,
)

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

# Larger automata are slow on every denoising step: a bounded string of 3,000 states takes 280 ms a canvas.
MAX_STATES = 20_000


@dataclass(frozen=True, eq=False)
class Automaton:
    """A deterministic automaton over bytes.

    transitions: [S, C] int32, the next state, -1 where none. Every state is live: some text leads from it to
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
        """Bytes of the longest text of the language, None where there is none or no bound."""
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
        """The state after this text from `state`, -1 where no text of the language goes on so."""
        if self.is_empty:
            return -1
        rows, classes = self._rows, self._classes
        for byte in text:
            state = rows[state][classes[byte]]
            if state < 0:
                return -1
        return state

    def shortest(self) -> bytes | None:
        """A shortest text; of those the smallest, where printable ASCII is smaller than all else."""
        return self._shortest

    @cached_property
    def _shortest(self) -> bytes | None:
        if self.is_empty:
            return None
        best: dict[int, int] = {}
        for byte in (*range(0x20, 0x7F), *range(0x20), *range(0x7F, 0x100)):
            best.setdefault(self._classes[byte], byte)
        distance, text, state = self.distance.tolist(), bytearray(), 0
        while distance[state]:
            for kind, byte in best.items():
                target = self._rows[state][kind]
                if target >= 0 and distance[target] < distance[state]:
                    text.append(byte)
                    state = target
                    break
        return bytes(text)

    def shortest_texts(self, count: int) -> list[bytes]:
        """Up to `count` different texts, the shortest first; printable ASCII is smaller than all else."""
        # The search for a record asks again and again for the same ones.
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
        distance, found = self.distance.tolist(), list[bytes]()
        waiting: list[tuple[int, bytes, int]] = [(distance[0], b"", 0)]
        taken: dict[int, int] = {}
        while waiting and len(found) < count:
            _, text, state = heappop(waiting)
            if self.accepting[state]:
                found.append(text)
            taken[state] = taken.get(state, 0) + 1
            if taken[state] > count:
                continue
            for kind, byte in best.items():
                target = self._rows[state][kind]
                if target >= 0 and taken.get(target, 0) <= count:
                    for one in several.get(kind) or [byte]:
                        further = text + bytes([one])
                        heappush(waiting, (len(further) + distance[target], further, target))
        return found

    def edges(self) -> tuple[Ints, Ints, Ints]:
        """All transitions as (source, destination, byte class), each [E] int32, sorted by source."""
        source, kind = np.nonzero(self.transitions >= 0)
        return source.astype(np.int32), self.transitions[source, kind], kind.astype(np.int32)

    def __and__(self, other: Automaton) -> Automaton:
        return intersect(self, other)

    def __or__(self, other: Automaton) -> Automaton:
        return union(self, other)

    def __sub__(self, other: Automaton) -> Automaton:
        return difference(self, other)

    def __invert__(self) -> Automaton:
        """The complement over all byte strings."""
        dead = self.states
        table = np.full((dead + 1, self.transitions.shape[1]), dead, np.int32)
        table[:dead] = np.where(self.transitions < 0, dead, self.transitions)
        return from_dfa(table, self.byte_class, ~np.append(self.accepting, False))

    def concat(self, *others: Automaton) -> Automaton:
        """Texts of this language followed by texts of the others."""
        return concat(self, *others)

    def star(self) -> Automaton:
        """Any number of texts of this language, one after the other."""
        return star(self)


def from_dfa(
    transitions: npt.ArrayLike, byte_class: npt.ArrayLike, accepting: npt.ArrayLike, start: int = 0
) -> Automaton:
    """The minimal automaton of any deterministic table, dead and unreachable states allowed.

    transitions: [S, C] integers, -1 where none; byte_class: [256]; accepting: [S].
    Raises TooLarge past the cap on states.
    """
    table, final = np.asarray(transitions, np.int32), np.asarray(accepting, np.bool_)
    classes = np.asarray(byte_class, np.int32)
    if not len(table):
        return empty()
    # Columns that no byte belongs to would count as moves.
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


def from_nfa(
    states: int,
    edges: Iterable[tuple[int, int, int, int]],
    epsilon: Iterable[tuple[int, int]],
    start: int,
    accepting: Iterable[int],
) -> Automaton:
    """The automaton of a nondeterministic one.

    `edges` are (source, lowest byte, highest byte, destination), both bytes inclusive; `epsilon` are (source,
    destination) without a byte. Raises TooLarge past the cap on states.
    """
    edges = list(edges)
    cuts = sorted({0} | {low for _, low, _, _ in edges} | {high + 1 for _, _, high, _ in edges if high < 255})
    classes = np.searchsorted(np.asarray(cuts), np.arange(256), side="right").astype(np.int32) - 1
    closed = [1 << s for s in range(states)]
    empty_moves = list(epsilon)
    changed = True
    while changed:
        changed = False
        for source, target in empty_moves:
            joined = closed[source] | closed[target]
            changed |= joined != closed[source]
            closed[source] = joined
    table = [[0] * len(cuts) for _ in range(states)]
    for source, low, high, target in edges:
        for kind in range(int(classes[low]), int(classes[high]) + 1):
            table[source][kind] |= closed[target]
    return _subsets(table, classes, closed[start], sum(1 << s for s in set(accepting)))


def _subsets(table: Sequence[Sequence[int]], classes: Ints, start: int, final: int) -> Automaton:
    """The subset construction; sets of states are bit masks, `table[state][class]` is one."""
    number, queue, rows = {start: 0}, [start], []
    for mask in queue:
        row = [0] * len(table[0]) if table else []
        while mask:
            low = mask & -mask
            row = [a | b for a, b in zip(row, table[low.bit_length() - 1], strict=True)]
            mask ^= low
        targets = []
        for target in row:
            if target and target not in number:
                number[target] = len(queue)
                queue.append(target)
                if len(queue) > MAX_STATES:
                    raise TooLarge(len(queue), MAX_STATES)
            targets.append(number[target] if target else -1)
        rows.append(targets)
    return from_dfa(rows, classes, [bool(mask & final) for mask in queue])


@lru_cache(maxsize=1)
def empty() -> Automaton:
    """The language without texts."""
    return Automaton(np.zeros((0, 1), np.int32), np.zeros(256, np.int32), np.zeros(0, np.bool_))


@lru_cache(maxsize=1)
def epsilon() -> Automaton:
    """The language of the empty text alone."""
    return from_dfa([[-1]], np.zeros(256), [True])


@lru_cache(maxsize=1)
def anything() -> Automaton:
    """All byte strings."""
    return from_dfa([[0]], np.zeros(256), [True])


def byte_set(members: Iterable[int]) -> Automaton:
    """The texts of one byte out of these."""
    classes = np.zeros(256, np.int32)
    classes[list(members)] = 1
    return from_dfa([[-1, 1], [-1, -1]], classes, [False, True])


def literal(text: bytes) -> Automaton:
    """The language of this text alone."""
    return literals((text,))


def literals(texts: Iterable[bytes]) -> Automaton:
    """The language of exactly these texts, built as a trie."""
    texts = sorted(set(texts))
    used = sorted(set(b"".join(texts)))
    classes = np.zeros(256, np.int32)
    classes[used] = np.arange(1, len(used) + 1)
    column = classes.tolist()
    rows: list[list[int]] = [[-1] * (len(used) + 1)]
    final = [False]
    for text in texts:
        state = 0
        for byte in text:
            target = rows[state][column[byte]]
            if target < 0:
                target = rows[state][column[byte]] = len(rows)
                if target >= MAX_RAW_STATES:
                    raise TooLarge(target, MAX_RAW_STATES)
                rows.append([-1] * (len(used) + 1))
                final.append(False)
            state = target
        final[state] = True
    return from_dfa(rows, classes, final) if texts else empty()


def _product(a: Automaton, b: Automaton, left: bool, right: bool, both: bool) -> Automaton:
    """Texts by membership: in `a` alone where `left`, in `b` alone where `right`, in both where `both`."""
    classes, in_a, in_b = join_classes(a.byte_class, b.byte_class)
    # The last state of each table stands for "already outside".
    table_a = np.full((a.states + 1, len(in_a)), a.states, np.int64)
    table_a[: a.states] = np.where(a.transitions < 0, a.states, a.transitions)[:, in_a]
    table_b = np.full((b.states + 1, len(in_b)), b.states, np.int64)
    table_b[: b.states] = np.where(b.transitions < 0, b.states, b.transitions)[:, in_b]
    width = b.states + 1
    size = (a.states + 1) * width
    if size > 400 * MAX_RAW_STATES:
        raise TooLarge(size, 400 * MAX_RAW_STATES)
    number = np.full(size, -1, np.int32)
    # Pairs from which nothing can be accepted any more are not followed.
    if not left:
        number.reshape(-1, width)[:, b.states] = -2
    if not right:
        number.reshape(-1, width)[a.states, :] = -2
    number[size - 1] = -2
    # The start of an empty language is its "already outside", which is state 0 too.
    if number[0] == -2:
        return empty()
    frontier = np.zeros(1, np.int64)
    pairs, rows, count = [frontier], [], 1
    number[frontier] = 0
    while len(frontier):
        targets = table_a[frontier // width] * width + table_b[frontier % width]
        rows.append(targets)
        flat = targets.ravel()
        fresh = np.unique(flat[number[flat] == -1])
        number[fresh] = np.arange(count, count + len(fresh), dtype=np.int32)
        count += len(fresh)
        if count > MAX_RAW_STATES:
            raise TooLarge(count, MAX_RAW_STATES)
        pairs.append(fresh)
        frontier = fresh
    every = np.concatenate(pairs)
    table = np.maximum(number[np.concatenate(rows)], -1)
    final_a = np.append(a.accepting, False)[every // width]
    final_b = np.append(b.accepting, False)[every % width]
    final = (final_a & ~final_b & left) | (final_b & ~final_a & right) | (final_a & final_b & both)
    return from_dfa(table, classes, final)


def intersect(a: Automaton, b: Automaton) -> Automaton:
    """Texts of both languages."""
    return _product(a, b, left=False, right=False, both=True)


def difference(a: Automaton, b: Automaton) -> Automaton:
    """Texts of the first language that the second does not hold."""
    return _product(a, b, left=True, right=False, both=False)


def union(*parts: Automaton) -> Automaton:
    """Texts of any of these languages."""
    queue = [part for part in parts if not part.is_empty]
    if not queue:
        return empty()
    while len(queue) > 1:
        a, b, *queue = queue
        queue.append(_product(a, b, left=True, right=True, both=True))
    return queue[0]


def optional(a: Automaton) -> Automaton:
    """The texts of this language, and the empty text."""
    return union(a, epsilon())


def concat(*parts: Automaton) -> Automaton:
    """A text of the first language, then one of the second, and so on."""
    if not parts:
        return epsilon()
    joined = reduce(_joined, parts)
    return from_dfa(joined.transitions, joined.byte_class, joined.accepting)


def _joined(a: Automaton, b: Automaton) -> Automaton:
    """One after the other; not minimised, and dead states are allowed in `a`."""
    if a.is_empty or b.is_empty:
        return empty()
    classes, in_a, in_b = join_classes(a.byte_class, b.byte_class)
    table_a = a.transitions[:, in_a]
    table_b = np.where(b.transitions < 0, -1, b.transitions + a.states)[:, in_b]
    ends = np.flatnonzero(a.accepting)
    if not ((table_a[ends] >= 0) & (table_b[0] >= 0)).any():
        # The first byte after a text of `a` says whether `b` has begun, so the joined table is deterministic.
        table = np.concatenate([table_a, table_b])
        table[ends] = np.maximum(table[ends], table_b[0])
        final = np.concatenate([a.accepting & b.accepting[0], b.accepting])
        return Automaton(table, classes, final)
    start_b = 1 << a.states
    closed = [(1 << s) | (start_b if end else 0) for s, end in enumerate(a.accepting.tolist())]
    closed += [1 << (a.states + s) for s in range(b.states)]
    table_rows = [[closed[t] if t >= 0 else 0 for t in row] for row in [*table_a.tolist(), *table_b.tolist()]]
    marks = [False] * a.states + b.accepting.tolist()
    return _subsets(table_rows, classes, closed[0], sum(1 << s for s, end in enumerate(marks) if end))


def star(a: Automaton) -> Automaton:
    """Any number of texts of this language, one after the other; none gives the empty text."""
    if a.is_empty:
        return epsilon()
    ends = a.accepting.tolist()
    closed = [(1 << s) | (1 if end else 0) for s, end in enumerate(ends)]
    rows = [[closed[t] if t >= 0 else 0 for t in row] for row in a.transitions.tolist()]
    return optional(_subsets(rows, a.byte_class, 1, sum(1 << s for s, end in enumerate(ends) if end)))
