"""Lifts automata over bytes to a tokenizer's tokens; tokens that an automaton cannot tell apart form one class.

A token is a text, so from each state it leads to at most one state: running every token from every state gives the
automaton over tokens (Willard and Louf 2023, arXiv 2307.09702). Tokens that lead to the same states from everywhere
form one class; an automaton has a few hundred classes, whatever the size of the vocabulary. After acceptance
the end token may follow, as often as there is room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.language.arrays import Bools, Ints
from cinnabar.errors import ModelError
from cinnabar.schemas.automata.automaton import Automaton

#: Pairs of a state and a distinct beginning of a token that are computed at a time.
CELLS = 4_000_000


class Vocabulary:
    """The bytes of each token of a tokenizer, and the token that ends an answer.

    `texts` has the bytes of each token, None for a token without text; `end` must be one of these.
    Raises ModelError if it is not, or if a token's text is empty.
    """

    def __init__(self, texts: Sequence[bytes | None], end: int) -> None:
        if texts[end] is not None:
            raise ModelError(f"token {end}: expected an end token that spells no text, got {texts[end]!r}")
        if b"" in texts:
            raise ModelError(f"token {texts.index(b'')}: expected a text of a byte or more, or None")
        self.size, self.end = len(texts), end
        spelling = [(len(text), token) for token, text in enumerate(texts) if text is not None]
        order = sorted(spelling)
        #: The tokens with a text, the shortest first, and their lengths in bytes.
        self.tokens: Ints = np.array([token for _, token in order], np.int64)
        self.lengths: Ints = np.array([length for length, _ in order], np.int64)
        self.longest = int(self.lengths.max(initial=0))
        self.bytes = np.zeros((len(order), self.longest), np.uint8)
        for row, (length, token) in enumerate(order):
            self.bytes[row, :length] = np.frombuffer(texts[token] or b"", np.uint8)


@dataclass(frozen=True, eq=False)
class Lifted:
    """An automaton over a vocabulary of V tokens.

    source, target, label: [E] int64, its edges in any order. tokens: [T] int64, the allowed tokens by class.
    token_class: [V] int64, -1 for a token that is never allowed. The end token's class is the last one. states: [N]
    int64, the state of the automaton over bytes that each state stands for; the state after the end token comes behind
    these, and only there a text may end.
    """

    source: Ints
    target: Ints
    label: Ints
    tokens: Ints
    token_class: Ints
    classes: int
    states: Ints


def lift(automaton: Automaton, vocabulary: Vocabulary) -> Lifted:
    """Returns the automaton over a vocabulary with the end token."""
    columns, class_of = _columns(automaton, vocabulary)
    source, target, kind = columns.source, columns.state, columns.owner()
    number, accepting = _useful(automaton, source, target)
    kept = (number[source] >= 0) & (number[target] >= 0)
    source, target, kind = number[source[kept]], number[target[kept]], kind[kept]
    live = np.unique(kind)
    renamed = np.full(columns.count + 1, -1, np.int64)
    renamed[live] = np.arange(len(live))
    token_class = np.full(vocabulary.size, -1, np.int64)
    token_class[vocabulary.tokens] = renamed[class_of]
    states, classes = len(accepting), len(live) + 1
    token_class[vocabulary.end] = len(live)
    ending = np.append(np.flatnonzero(accepting), states)
    ends = (ending, np.full_like(ending, states), np.full_like(ending, len(live)))
    edges = ((source, target, renamed[kind]), ends)
    allowed = np.flatnonzero(token_class >= 0)
    source, target, label = (np.concatenate(part).astype(np.int64) for part in zip(*edges, strict=True))
    return Lifted(
        source=source,
        target=target,
        label=label,
        tokens=allowed[np.argsort(token_class[allowed], kind="stable")],
        token_class=token_class,
        classes=classes,
        states=np.flatnonzero(number >= 0),
    )


@dataclass(frozen=True, eq=False)
class _Columns:
    """For each of F texts, the states from which it leads somewhere, and the states that it leads to.

    begin: [F + 1] int64, where the entries of each column begin. source, state: [M], the entries, sources ascending.
    """

    begin: Ints
    source: Ints
    state: Ints

    @property
    def count(self) -> int:
        """The number of columns."""
        return len(self.begin) - 1

    def sizes(self) -> Ints:
        """The number of entries of each column."""
        return np.diff(self.begin)

    def owner(self) -> Ints:
        """The column of each entry."""
        return np.repeat(np.arange(self.count), self.sizes())

    def entries(self, columns: Ints) -> Ints:
        """The places of the entries of these columns, one column behind another."""
        sizes = self.sizes()[columns]
        shift = self.begin[columns] - (np.cumsum(sizes) - sizes)
        return np.repeat(shift, sizes) + np.arange(int(sizes.sum()))

    def take(self, columns: Ints) -> _Columns:
        """These columns, in this order."""
        at = self.entries(columns)
        begin = np.append(0, np.cumsum(self.sizes()[columns]))
        return _Columns(begin, self.source[at], self.state[at])

    def distinct(self) -> tuple[Ints, Ints]:
        """Returns (the indices of the distinct columns, in order; the number of each column among these)."""
        states = int(self.source.max(initial=0)) + 1
        weights = np.random.default_rng(0).integers(1, 2**63, states, dtype=np.uint64) | np.uint64(1)
        mixed = np.zeros(len(self.source) + 1, np.uint64)
        # Sums over columns are differences of running sums, also where these overflow.
        np.cumsum(weights[self.source] * (self.state.astype(np.uint64) + np.uint64(1)), out=mixed[1:])
        hashes = mixed[self.begin[1:]] - mixed[self.begin[:-1]]
        _, first, kind = np.unique(hashes, return_index=True, return_inverse=True)
        alike = self.take(first[kind])
        if not all(np.array_equal(a, b) for a, b in zip(_arrays(alike), _arrays(self), strict=True)):
            # Two different columns have the same hash of 64 bits.
            texts = [
                self.source[low:high].tobytes() + self.state[low:high].tobytes()
                for low, high in zip(self.begin[:-1].tolist(), self.begin[1:].tolist(), strict=True)
            ]
            _, first, kind = np.unique(np.array(texts, object), return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return first[order], rank[kind.reshape(-1)]


def _arrays(columns: _Columns) -> tuple[Ints, Ints, Ints]:
    return columns.begin, columns.source, columns.state


def _join_columns(parts: Sequence[_Columns]) -> _Columns:
    """All columns of these parts."""
    begin = np.append(0, np.cumsum(np.concatenate([part.sizes() for part in parts])))
    source = np.concatenate([part.source for part in parts])
    return _Columns(begin, source, np.concatenate([part.state for part in parts]))


def _columns(automaton: Automaton, vocabulary: Vocabulary) -> tuple[_Columns, Ints]:
    """Returns (one column for each class of tokens, [T] the class of each token with a text).

    The class of a token that leads nowhere is the number of classes. All tokens run at once, byte by byte: beginnings
    of tokens that lead to the same states run on as one, which is a hundredth of the work of running each token.
    """
    states, kinds_of_bytes = automaton.states, automaton.transitions.shape[1]
    # `going`: the tokens that lead somewhere so far. `which`: the column in `now` of each of them.
    going = np.arange(len(vocabulary.tokens))
    now, which = _Columns(np.array([0, states]), np.arange(states), np.arange(states)), np.zeros_like(going)
    after: list[_Columns] = [now.take(np.zeros(0, np.int64))]
    columns, column_of = 0, np.full(len(going), -1, np.int64)
    for at in range(vocabulary.longest):
        pair = which * kinds_of_bytes + automaton.byte_class[vocabulary.bytes[going, at]]
        met = np.zeros(now.count * kinds_of_bytes, np.bool_)
        met[pair] = True
        pairs = np.flatnonzero(met)
        now, next_of = _onward(automaton.transitions, now, *np.divmod(pairs, kinds_of_bytes))
        which = next_of[np.cumsum(met)[pair] - 1]
        alive = (now.sizes() > 0)[which]
        going, which = going[alive], which[alive]
        ended = vocabulary.lengths[going] == at + 1
        column_of[going[ended]] = which[ended] + columns
        after.append(now)
        columns += now.count
        going, which = going[~ended], which[~ended]
        if not len(going):
            break
    ended_at = np.flatnonzero(column_of >= 0)
    used, place = np.unique(column_of[ended_at], return_inverse=True)
    reached = _join_columns(after).take(used)
    column, same = reached.distinct()
    # Classes in the order of their first tokens.
    kinds, first, kind = np.unique(same[place], return_index=True, return_inverse=True)
    order = np.argsort(first)
    class_of = np.full(len(vocabulary.tokens), len(kinds), np.int64)
    class_of[ended_at] = np.argsort(order)[kind]
    return reached.take(column[kinds[order]]), class_of


def _onward(
    table: npt.NDArray[np.int32], now: _Columns, column: Ints, kind: Ints
) -> tuple[_Columns, Ints]:
    """Returns (the columns after one byte more, without repeated ones, and the column of each pair).

    table: [S, B]; column, kind: [P], pairs of a column of `now` and the class of the next byte.
    """
    parts: list[_Columns] = []
    places: list[Ints] = []
    pieces = np.cumsum(now.sizes()[column]) // CELLS
    for piece in range(int(pieces.max(initial=0)) + 1):
        low, high = np.searchsorted(pieces, [piece, piece + 1])
        own = column[low:high]
        at, sizes = now.entries(own), now.sizes()[own]
        state = table[now.state[at], np.repeat(kind[low:high], sizes)].astype(np.int64)
        alive = state >= 0
        ends = np.append(0, np.cumsum(alive))[np.append(0, np.cumsum(sizes))]
        onward = _Columns(ends, now.source[at[alive]], state[alive])
        first, same = onward.distinct()
        places.append(same + sum(part.count for part in parts))
        parts.append(onward.take(first))
    if len(parts) == 1:
        return parts[0], places[0]
    whole = _join_columns(parts)
    first, same = whole.distinct()
    return whole.take(first), same[np.concatenate(places)]


def _useful(automaton: Automaton, source: Ints, target: Ints) -> tuple[Ints, Bools]:
    """Returns (new number of each useful state, -1 for the others; which of them accept).

    A state is useful if tokens reach it and lead from it to acceptance; the start always counts. Bytes reach all states
    of an automaton; tokens need not if their vocabulary lacks some bytes.
    """
    states = max(automaton.states, 1)
    accepting = np.zeros(states, np.bool_)
    accepting[: automaton.states] = automaton.accepting
    start = np.arange(states) == 0
    useful = start | ((steps_from(start, source, target) >= 0) & (steps_from(accepting, target, source) >= 0))
    return np.where(useful, np.cumsum(useful) - 1, -1), accepting[useful]


def steps_from(marked: Bools, source: Ints, target: Ints) -> Ints:
    """Returns the fewest edges by which each state is reached from the marked ones, -1 where no way leads: [N]."""
    order = np.argsort(source, kind="stable")
    begin, ahead = np.searchsorted(source[order], np.arange(len(marked) + 1)), target[order]
    steps = np.where(marked, 0, -1)
    reached, count = np.flatnonzero(marked), 0
    while len(reached):
        count += 1
        reached = np.unique(ahead[edges_from(reached, begin)])
        reached = reached[steps[reached] < 0]
        steps[reached] = count
    return steps


def edges_from(states: Ints, begin: Ints) -> Ints:
    """Returns the numbers of the edges that leave these states; begin: [N + 1], where the edges of each state begin."""
    sizes = begin[states + 1] - begin[states]
    found: Ints = np.repeat(begin[states] - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    return found
