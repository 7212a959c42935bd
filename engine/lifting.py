"""Lifts automata over bytes to a tokenizer's tokens; tokens that an automaton cannot tell apart form one class.

A token is a text, so from each state it leads to at most one state: running every token from every state gives the
automaton over tokens (Willard and Louf 2023, arXiv 2307.09702). Tokens that lead to the same states from everywhere
form one class; an automaton has a few hundred classes, whatever the size of the vocabulary. After acceptance PAD fills
the slot up to its end. MORE at the last position says that the value continues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cinnabar.engine.canvas import PAD
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.errors import ModelError

Ints = npt.NDArray[np.int64]

#: Cells of the table of states by distinct tokens that are computed at a time.
CELLS = 4_000_000


class Vocabulary:
    """The bytes of each token of a tokenizer, and its tokens PAD and MORE.

    `texts` has the bytes of each token, None for a token without text; PAD and MORE must be two of these.
    Raises ModelError if they are not, or if a token's text is empty.
    """

    def __init__(self, texts: Sequence[bytes | None], pad: int, more: int) -> None:
        if texts[pad] is not None or texts[more] is not None or pad == more:
            raise ModelError(f"tokens {pad} and {more}: expected two that spell no text, PAD and MORE")
        if b"" in texts:
            raise ModelError(f"token {texts.index(b'')}: expected a text of a byte or more, or None")
        self.size, self.pad, self.more = len(texts), pad, more
        spelling = [(len(text), token) for token, text in enumerate(texts) if text is not None]
        order = sorted(spelling)
        #: The tokens with a text, the shortest first, and their lengths in bytes.
        self.tokens: Ints = np.array([token for _, token in order], np.int64)
        self.lengths: Ints = np.array([length for length, _ in order], np.int64)
        self.longest = int(self.lengths.max(initial=0))
        self.bytes = np.zeros((len(order), self.longest), np.uint8)
        for row, (length, token) in enumerate(order):
            self.bytes[row, :length] = np.frombuffer(texts[token] or b"", np.uint8)


#: The slot alphabet of a byte model.
BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [None, None], PAD, PAD + 1)


@dataclass(frozen=True, eq=False)
class Lifted:
    """An automaton over a vocabulary of V tokens.

    source, target, label: [E] int64, its edges in any order. final: [N] bool. tokens: [T] int64, the allowed tokens
    by class. token_class: [V] int64, -1 for a token that is never allowed. PAD's class is the last but one, MORE's
    the last.
    """

    source: Ints
    target: Ints
    label: Ints
    final: npt.NDArray[np.bool_]
    tokens: Ints
    token_class: Ints
    classes: int


def lift(automaton: Automaton, vocabulary: Vocabulary = BYTES, without_null: bool = False) -> Lifted:
    """Returns the automaton over a vocabulary with PAD and MORE.

    `without_null` removes the text `null`, because absence is a choice of its own. No other JSON text begins with `n`,
    so removing that byte's edge at the start removes `null` alone.
    """
    columns, class_of = _columns(automaton, vocabulary, without_null)
    source, kind = np.nonzero(columns < automaton.states)
    target = columns[source, kind].astype(np.int64)
    number, accepting = _useful(automaton, source, target)
    kept = (number[source] >= 0) & (number[target] >= 0)
    source, target, kind = number[source[kept]], number[target[kept]], kind[kept]
    live = np.unique(kind)
    renamed = np.full(columns.shape[1] + 1, -1, np.int64)
    renamed[live] = np.arange(len(live))
    pad, more = len(live), len(live) + 1
    token_class = np.full(vocabulary.size, -1, np.int64)
    token_class[vocabulary.tokens] = renamed[class_of]
    token_class[vocabulary.pad], token_class[vocabulary.more] = pad, more
    states = len(accepting)
    done, beyond = states, states + 1
    padded = np.append(np.flatnonzero(accepting), done)
    # A state without edges cannot continue, so it has no MORE.
    goes_on = np.unique(source)
    allowed = np.flatnonzero(token_class >= 0)
    return Lifted(
        source=np.concatenate([source, padded, goes_on]).astype(np.int64),
        target=np.concatenate([target, np.full_like(padded, done), np.full_like(goes_on, beyond)]),
        label=np.concatenate([renamed[kind], np.full_like(padded, pad), np.full_like(goes_on, more)]),
        final=np.concatenate([accepting, [True, True]]),
        tokens=allowed[np.argsort(token_class[allowed], kind="stable")],
        token_class=token_class,
        classes=len(live) + 2,
    )


def _columns(automaton: Automaton, vocabulary: Vocabulary, without_null: bool) -> tuple[Ints, Ints]:
    """Returns (state after each class of tokens, class of each token): [S, K], S where there is none, and [T].

    The class of a token that leads nowhere is K. All tokens run at once, byte by byte: beginnings of tokens that lead
    to the same states run on as one, which is a hundredth of the work of running each token.
    """
    states, kinds_of_bytes = automaton.states, automaton.transitions.shape[1]
    if not states:
        return np.zeros((0, 0), np.int64), np.zeros(len(vocabulary.tokens), np.int64)
    # One more row, the dead state; it leads only to itself.
    table = np.full((states + 1, kinds_of_bytes), states, np.int32)
    table[:states] = np.where(automaton.transitions < 0, states, automaton.transitions)
    begin = table.copy()
    if without_null:
        begin[0, automaton.byte_class[ord("n")]] = states
    # `going`: the tokens that lead somewhere so far. `now`: [S, F] states after their bytes. `which`: column of each.
    going = np.arange(len(vocabulary.tokens))
    now, which = np.arange(states, dtype=np.int32)[:, None], np.zeros(len(going), np.int64)
    after: list[npt.NDArray[np.int32]] = []
    column_of = np.full(len(going), -1, np.int64)
    for at in range(vocabulary.longest):
        pair = which * kinds_of_bytes + automaton.byte_class[vocabulary.bytes[going, at]]
        met = np.zeros(now.shape[1] * kinds_of_bytes, np.bool_)
        met[pair] = True
        pairs = np.flatnonzero(met)
        now, next_of = _onward(table if at else begin, now, *np.divmod(pairs, kinds_of_bytes))
        which = next_of[np.cumsum(met)[pair] - 1]
        alive = np.asarray((now < states).any(0))[which]
        going, which = going[alive], which[alive]
        ended = vocabulary.lengths[going] == at + 1
        column_of[going[ended]] = which[ended] + sum(part.shape[1] for part in after)
        after.append(now)
        going, which = going[~ended], which[~ended]
        if not len(going):
            break
    ended_at = np.flatnonzero(column_of >= 0)
    if not len(ended_at):
        return np.zeros((states, 0), np.int64), np.zeros(len(vocabulary.tokens), np.int64)
    used, place = np.unique(column_of[ended_at], return_inverse=True)
    reached = np.concatenate(after, 1)[:, used]
    column, same = _distinct(reached)
    # Classes in the order of their first tokens.
    first, kind = _distinct(same[place][None])
    class_of = np.full(len(vocabulary.tokens), len(first), np.int64)
    class_of[ended_at] = kind
    return reached[:, column[same[place[first]]]].astype(np.int64), class_of


def _onward(
    table: npt.NDArray[np.int32], now: npt.NDArray[np.int32], column: Ints, kind: Ints
) -> tuple[npt.NDArray[np.int32], Ints]:
    """Returns (the states after one byte more, without repeated columns, and the column of each pair).

    table: [S + 1, B]; now: [S, F]; column, kind: [P], pairs of a column of `now` and the class of the next byte.
    """
    parts: list[npt.NDArray[np.int32]] = []
    places: list[Ints] = []
    step = max(1, CELLS // len(now))
    for begin in range(0, len(column), step):
        onward = table[now[:, column[begin : begin + step]], kind[begin : begin + step]]
        first, same = _distinct(onward)
        places.append(same + sum(part.shape[1] for part in parts))
        parts.append(onward[:, first])
    if len(parts) == 1:
        return parts[0], places[0]
    first, same = _distinct(whole := np.concatenate(parts, 1))
    return whole[:, first], same[np.concatenate(places)]


def _distinct(columns: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Returns (the indices of the distinct columns, in order; the number of each column among these)."""
    weights = np.random.default_rng(0).integers(1, 2**63, len(columns), dtype=np.uint64) | np.uint64(1)
    mixed = np.zeros(columns.shape[1], np.uint64)
    for row, weight in zip(columns, weights, strict=True):
        mixed += (row.astype(np.uint64) + np.uint64(1)) * weight
    _, first, kind = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(columns[:, first[kind]], columns):
        # Two different columns have the same hash of 64 bits.
        _, first, kind = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[kind.reshape(-1)]


def _useful(automaton: Automaton, source: Ints, target: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Returns (new number of each useful state, -1 for the others; which of them accept).

    A state is useful if tokens reach it and lead from it to acceptance; the start always counts. Bytes reach all states
    of an automaton; tokens need not if their vocabulary lacks some bytes.
    """
    states = max(automaton.states, 1)
    accepting = np.zeros(states, np.bool_)
    accepting[: automaton.states] = automaton.accepting
    start = np.zeros(states, np.bool_)
    start[0] = True
    useful = _spread(start, source, target) & _spread(accepting, target, source)
    useful[0] = True
    return np.where(useful, np.cumsum(useful) - 1, -1), accepting[useful]


def _spread(marked: npt.NDArray[np.bool_], source: Ints, target: Ints) -> npt.NDArray[np.bool_]:
    """Returns the marked states and all states that edges reach from them."""
    found = marked.copy()
    while True:
        new = np.unique(target[found[source] & ~found[target]])
        if not len(new):
            return found
        found[new] = True
