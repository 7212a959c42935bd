"""Operations on languages: union, intersection, difference, concatenation, and those of given texts.

Products of automata give the first three. Concatenation joins the tables if the next byte decides, else it takes the
subset construction, which is done only at the states where a byte leads to several places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import numpy as np

from cinnabar.errors import TooLarge
from cinnabar.schemas.automata.automaton import MAX_STATES, Automaton, empty, from_dfa
from cinnabar.schemas.automata.minimise import MAX_RAW_STATES, Bools, Ints, join_classes


def _product(a: Automaton, b: Automaton, left: bool, right: bool, both: bool) -> Automaton:
    """The texts in `a` alone if `left`, those in `b` alone if `right`, and those in both if `both`."""
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
    # A pair is not followed when no accepting pair can be reached from it.
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
    """The automaton of the texts that both languages hold."""
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


def concat(first: Automaton, *others: Automaton) -> Automaton:
    """The texts that are a text of the first language, then one of the second, and so on.

    Raises TooLarge if an automaton has more than `MAX_STATES` states.
    """
    joined = reduce(_concatenate, others, first)
    return from_dfa(joined.transitions, joined.byte_class, joined.accepting)


def _concatenate(a: Automaton, b: Automaton) -> Automaton:
    """The concatenation of two languages; not minimised. `a` may have dead states."""
    if a.is_empty or b.is_empty:
        return empty()
    classes, in_a, in_b = join_classes(a.byte_class, b.byte_class)
    table_a = a.transitions[:, in_a]
    table_b = np.where(b.transitions < 0, -1, b.transitions + a.states)[:, in_b]
    ends = np.flatnonzero(a.accepting)
    if not ((table_a[ends] >= 0) & (table_b[0] >= 0)).any():
        # The first byte after a text of `a` tells whether `b` has begun, so the joined table is deterministic.
        table = np.concatenate([table_a, table_b])
        table[ends] = np.maximum(table[ends], table_b[0])
        final = np.concatenate([a.accepting & b.accepting[0], b.accepting])
        return Automaton(table, classes, final)
    table = np.concatenate([table_a, table_b])
    final = np.concatenate([np.zeros(a.states, np.bool_), b.accepting])
    return determinise(table, classes, final, dict.fromkeys(ends.tolist(), (a.states,)))


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


def determinise(
    table: Ints, byte_class: Ints, accepting: Bools, silent: Mapping[int, Sequence[int]], start: int = 0
) -> Automaton:
    """The automaton of a deterministic table with silent edges, which read no byte.

    table: [S, C] int32, -1 for no transition; accepting: [S]. `silent` leads from a state to others. States that
    no silent edge leaves keep their rows, so the work grows with the places where parts meet, and sets of states
    arise only where several parts begin with the same byte.
    Raises TooLarge if there are more than `MAX_STATES` sets or states.
    """
    counts = accepting | (table >= 0).any(1)
    sets = _Sets(len(table), counts.tolist(), silent)
    targets = np.unique(table[table >= 0]).tolist()
    number = np.full(len(table) + 1, -1, np.int32)
    for state in targets:
        number[state] = sets.number_of(sets.closure(state))
    begin = sets.number_of(sets.closure(start))
    # Column by column the number of the set that a byte leads to; a set of one state has that state's number.
    table = number[table]
    rows: dict[int, Ints] = {}
    reached, frontier = np.zeros(len(table), np.bool_), [begin]
    while frontier:
        own = np.array([group for group in frontier if 0 <= group < len(table)], np.int64)
        reached[own] = True
        for group in frontier:
            if group >= len(table):
                rows[group] = _row(table, sets.members(group), sets)
        if len(rows) > MAX_STATES:
            raise TooLarge(len(rows), MAX_STATES)
        behind = [table[own].ravel(), *(rows[group] for group in frontier if group >= len(table))]
        frontier = [
            group
            for group in np.unique(np.concatenate(behind)).tolist()
            if (not reached[group] if 0 <= group < len(table) else group >= 0 and group not in rows)
        ]
    # Sets that are not reached, and a start that leads nowhere, have empty rows.
    whole = np.full((len(table) + sets.count + 1, table.shape[1]), -1, np.int32)
    whole[: len(table)] = table
    final = np.zeros(len(whole), np.bool_)
    final[: len(table)] = accepting
    for group, row in rows.items():
        whole[group], final[group] = row, accepting[list(sets.members(group))].any()
    return from_dfa(whole, byte_class, final, begin % len(whole))


class _Sets:
    """The sets of states that are met; those of several states are numbered behind the single states."""

    def __init__(self, states: int, counts: Sequence[bool], silent: Mapping[int, Sequence[int]]) -> None:
        self._states, self._counts, self._silent = states, counts, silent
        self._numbers: dict[frozenset[int], int] = {}
        self._large: list[tuple[int, ...]] = []

    @property
    def count(self) -> int:
        """The number of sets of several states."""
        return len(self._large)

    def members(self, number: int) -> tuple[int, ...]:
        """The states of a set."""
        return self._large[number - self._states] if number >= self._states else (number,)

    def closure(self, state: int) -> frozenset[int]:
        """The states that silent edges reach and that read a byte or accept."""
        if state not in self._silent:
            return frozenset((state,)) if self._counts[state] else frozenset()
        seen, waiting = {state}, [state]
        for one in waiting:
            fresh = [other for other in self._silent.get(one, ()) if other not in seen]
            seen.update(fresh)
            waiting.extend(fresh)
        return frozenset(one for one in waiting if self._counts[one])

    def number_of(self, members: frozenset[int]) -> int:
        """The number of a set: -1 for none, the state itself for one state."""
        if len(members) < 2:
            return next(iter(members), -1)
        number = self._numbers.get(members)
        if number is None:
            number = self._numbers[members] = self._states + len(self._large)
            self._large.append(tuple(sorted(members)))
        return number

    def together(self, numbers: Sequence[int]) -> int:
        """The number of the union of these sets."""
        return self.number_of(frozenset().union(*(self.members(number) for number in numbers if number >= 0)))


def _row(table: Ints, members: tuple[int, ...], sets: _Sets) -> Ints:
    """The row of a set of states."""
    rows = table[list(members)]
    highest: Ints = rows.max(0)
    lowest = np.where(rows < 0, highest, rows).min(0)
    numbers: dict[bytes, int] = {}
    for column in np.flatnonzero(lowest < highest).tolist():
        targets = rows[:, column]
        key = targets.tobytes()
        if key not in numbers:
            numbers[key] = sets.together(targets.tolist())
        highest[column] = numbers[key]
    return highest
