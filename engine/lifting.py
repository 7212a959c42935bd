"""Automata over bytes lifted to a tokenizer's tokens; tokens that they cannot tell apart are one class.

A token is a text, so from each state it leads to at most one state: running every token from every state
gives the automaton over tokens (Willard and Louf 2023, arXiv 2307.09702). Tokens that lead to the same states
from everywhere are one class; an automaton knows a few hundred, whatever the size of the vocabulary. After
acceptance PAD fills the slot up to its end, and at the last position MORE says that the value goes on.
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
    """What each token of a tokenizer spells, and which tokens end a value.

    `texts` has the bytes of each token, None for those that stand for no text; PAD and MORE are two of these.
    Raises ModelError where they are not, or where a token is empty.
    """

    def __init__(self, texts: Sequence[bytes | None], pad: int, more: int) -> None:
        if texts[pad] is not None or texts[more] is not None or pad == more:
            raise ModelError(f"tokens {pad} and {more}: expected two that spell no text, PAD and MORE")
        if b"" in texts:
            raise ModelError(f"token {texts.index(b'')}: expected a text of a byte or more, or None")
        self.size, self.pad, self.more = len(texts), pad, more
        spelling = [(len(text), token) for token, text in enumerate(texts) if text is not None]
        order = sorted(spelling)
        #: The tokens that spell something, the shortest first, and their lengths in bytes.
        self.tokens: Ints = np.array([token for _, token in order], np.int64)
        self.lengths: Ints = np.array([length for length, _ in order], np.int64)
        self.longest = int(self.lengths.max(initial=0))
        self.bytes = np.zeros((len(order), self.longest), np.uint8)
        for row, (length, token) in enumerate(order):
            self.bytes[row, :length] = np.frombuffer(texts[token] or b"", np.uint8)


#: The slot alphabet of a model of bytes.
BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [None, None], PAD, PAD + 1)


@dataclass(frozen=True, eq=False)
class Lifted:
    """An automaton over a vocabulary of V tokens.

    source, target, label: [E] int64, its edges in no order that matters. final: [N] bool. tokens: [T] int64,
    the allowed tokens by class. token_class: [V] int64, -1 where a token is never allowed. PAD's class is the
    last but one, MORE's the last.
    """

    source: Ints
    target: Ints
    label: Ints
    final: npt.NDArray[np.bool_]
    tokens: Ints
    token_class: Ints
    classes: int


def lift(automaton: Automaton, vocabulary: Vocabulary = BYTES, without_null: bool = False) -> Lifted:
    """The automaton over a vocabulary, PAD and MORE; `without_null` leaves out the text `null`: "absent".

    No other JSON text begins with `n`, so the start without that byte is the language without `null`.
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
    # A state that nothing can follow has no MORE.
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
    """(states after each class of tokens, class of each token): [S, K], S where there is none, and [T].

    The class of a token that leads nowhere is K. All tokens are run at once, byte by byte: what an automaton
    cannot tell apart by then goes on as one, which is a hundredth of the work of running each.
    """
    states, kinds_of_bytes = automaton.states, automaton.transitions.shape[1]
    if not states:
        return np.zeros((0, 0), np.int64), np.zeros(len(vocabulary.tokens), np.int64)
    # One more row, in which what is dead stays.
    table = np.full((states + 1, kinds_of_bytes), states, np.int32)
    table[:states] = np.where(automaton.transitions < 0, states, automaton.transitions)
    begin = table.copy()
    if without_null:
        begin[0, automaton.byte_class[ord("n")]] = states
    # The tokens that lead somewhere so far, and which of `now` says where from each state: [S, F].
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
    """(the states after one byte more, each column once, which of them each pair comes to).

    table: [S + 1, B]; now: [S, F]; column, kind: [P], which of `now` is followed by which kind of byte.
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
    """(which columns are the first of their kind, in order; the kind of each column)."""
    weights = np.random.default_rng(0).integers(1, 2**63, len(columns), dtype=np.uint64) | np.uint64(1)
    mixed = np.zeros(columns.shape[1], np.uint64)
    for row, weight in zip(columns, weights, strict=True):
        mixed += (row.astype(np.uint64) + np.uint64(1)) * weight
    _, first, kind = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(columns[:, first[kind]], columns):
        # Two columns met in 64 bits.
        _, first, kind = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[kind.reshape(-1)]


def _useful(automaton: Automaton, source: Ints, target: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """(new numbers of the states that tokens reach and can end from, -1 for the others; which accept).

    The start is always one of them. Bytes reach all states of an automaton; the tokens of a vocabulary that
    lacks some bytes need not.
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
    """The marked states and all that edges lead to from them."""
    found = marked.copy()
    while True:
        new = np.unique(target[found[source] & ~found[target]])
        if not len(new):
            return found
        found[new] = True
