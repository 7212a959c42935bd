"""The subset construction, done only at the states where a byte leads to several places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cinnabar.schemas.automata.automaton import MAX_STATES, Automaton, from_dfa
from cinnabar.schemas.automata.minimise import Bools, Ints
from cinnabar.schemas.errors import TooLarge


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
