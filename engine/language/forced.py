"""The text that a record must go on with: written without a pass of the model, and spelled as the tokenizer would.

A graph allows every tokenisation of a record. Where only one text can follow, such as the name of a field, all but the
tokenizer's own tokenisation are noise: a model has hardly seen the others, and its share of the right one is split
among them. A trained small model (60 pages, effort medium) read .89 of the values in 10.6 passes when names were
spelled in any way and anew in each block, and .95 in 9.6 passes when they were spelled as in its training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from cinnabar.engine.language.record_graph import RecordGraph, distances
from cinnabar.engine.models.language.arrays import Bools, Ints
from cinnabar.engine.models.language.lifting import Vocabulary, steps_from
from cinnabar.schemas.automata.automaton import Automaton


class TokenTexts:
    """The bytes of each token, and the tokens that begin with given bytes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.texts = {
            int(token): vocabulary.bytes[row, :length].tobytes()
            for row, (token, length) in enumerate(zip(vocabulary.tokens, vocabulary.lengths, strict=True))
        }
        self.token = {text: token for token, text in reversed(self.texts.items())}
        self.longest = vocabulary.longest

    def text(self, tokens: Sequence[int]) -> bytes:
        """Returns the bytes of these tokens; tokens without a text have none."""
        return b"".join(self.texts.get(token, b"") for token in tokens)

    def spell(self, text: bytes) -> list[int]:
        """Returns tokens that spell these bytes up to one without a token, each the longest one."""
        tokens, at = list[int](), 0
        while at < len(text):
            sizes = range(min(self.longest, len(text) - at), 0, -1)
            size = next((size for size in sizes if text[at : at + size] in self.token), 0)
            if not size:
                break
            tokens.append(self.token[text[at : at + size]])
            at += size
        return tokens


@dataclass(frozen=True, slots=True)
class Forced:
    """Tokens that are forced from a state on, and the state after each."""

    tokens: tuple[int, ...]
    states: tuple[int, ...]


class ForcedText:
    """The forced tokens of a graph's states, each found once.

    A token is forced where no other may follow. In a graph from `spelled_graph` these are the tokenizer's own tokens of
    text that must follow, but for a last one in whose place a longer one may stand.
    """

    def __init__(self, graph: RecordGraph) -> None:
        self._forced: dict[int, Forced] = {}
        one = np.bincount(graph.source, minlength=graph.states) == 1
        sizes = np.bincount(graph.token_class[graph.token_class >= 0], minlength=graph.classes)
        edge = np.minimum(np.searchsorted(graph.source, np.arange(graph.states)), len(graph.source) - 1)
        one &= sizes[graph.label[edge]] == 1
        token_of = np.zeros(graph.classes, np.int64)
        token_of[graph.token_class[graph.tokens]] = graph.tokens
        self._done = graph.done
        #: The only token that may follow each state, -1 if there are several or none; and the state after it.
        self._token = np.where(one, token_of[graph.label[edge]], -1).tolist()
        self._next = graph.target[edge].tolist()

    def after(self, state: int) -> Forced:
        """Returns the forced tokens from this state on."""
        forced = self._forced.get(state)
        if forced is None:
            tokens, states, at = list[int](), list[int](), state
            while at != self._done and self._token[at] >= 0:
                tokens.append(self._token[at])
                at = self._next[at]
                states.append(at)
            forced = self._forced[state] = Forced(tuple(tokens), tuple(states))
        return forced


#: Bytes before forced text that the tokenizer is shown, where all texts share them.
_BEFORE = 24


class TokenSpelling(Protocol):
    """A tokenizer that is hashable, spells texts, and tells the bytes of its tokens."""

    def __hash__(self) -> int: ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of each token."""
        ...

    @property
    def end(self) -> int:
        """The token that ends an answer."""
        ...

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text; what spells a special token is plain text."""
        ...


def spelled_graph(graph: RecordGraph, tokenizer: TokenSpelling) -> RecordGraph:
    """Returns the graph without the edges that spell forced text otherwise than the tokenizer does.

    A token that begins in forced text and goes on behind its end stays. The numbers of the states are the same; from
    those that can no longer be reached no edge leads away.
    """
    spelled = _Spelled(graph, tokenizer)
    first = np.arange(graph.states) == 0
    entered = first.copy()
    entered[graph.target[~spelled.forced[graph.source]]] = True
    fresh = np.flatnonzero(entered & spelled.forced)
    while True:
        for state in fresh.tolist():
            spelled.follow(state)
        kept = spelled.kept()
        reached = steps_from(first, graph.source[kept], graph.target[kept]) >= 0
        # A tokenisation that the graph lacks leaves all edges of its state, so that more states are reached.
        fresh = np.flatnonzero(reached & spelled.forced & ~spelled.seen)
        if not len(fresh):
            break
    kept &= reached[graph.source] | (graph.source == graph.done)
    source, target, label = graph.source[kept], graph.target[kept], graph.label[kept]
    live = np.zeros(graph.classes + 1, np.bool_)
    live[label] = True
    number = np.where(live, np.cumsum(live) - 1, -1)
    token_class = number[graph.token_class]
    tokens = graph.tokens[token_class[graph.tokens] >= 0]
    return replace(
        graph,
        source=source,
        target=target,
        label=number[label],
        distance=distances(graph.states, source, target),
        tokens=tokens,
        token_class=token_class,
        classes=int(live.sum()),
        end_class=int(number[graph.end_class]),
    )


class _Spelled:
    """The edges of a graph that spell forced text as a tokenizer does.

    forced: [N] bool, states that only one byte can follow. seen: [N] bool, those whose edges were judged.
    """

    def __init__(self, graph: RecordGraph, tokenizer: TokenSpelling) -> None:
        self._graph, self._tokenizer = graph, tokenizer
        automaton = graph.automaton
        going = automaton.transitions >= 0
        sizes = np.bincount(automaton.byte_class, minlength=going.shape[1])
        kind = going.argmax(1)
        alone = (going.sum(1) == 1) & ~automaton.accepting & (sizes[kind] == 1)
        byte_of = np.zeros(going.shape[1], np.int64)
        byte_of[automaton.byte_class] = np.arange(256)
        self.forced = np.append(alone, False)
        self.seen = np.zeros(graph.states, np.bool_)
        self._byte = byte_of[kind].tolist()
        self._next = automaton.transitions[np.arange(len(kind)), kind].tolist()
        self._came, self._from = _arrivals(automaton, byte_of, sizes)
        self._begin = np.searchsorted(graph.source, np.arange(graph.states + 1)).tolist()
        self._dropped = np.zeros(len(graph.source), np.bool_)
        vocabulary = tokenizer.vocabulary
        self._row = np.full(vocabulary.size, -1, np.int64)
        self._row[vocabulary.tokens] = np.arange(len(vocabulary.tokens))
        # The zeros at the end of a number go round in one state: behind `5.` the token `00` ends where `0` does.
        self._longest = np.zeros(graph.classes + 1, np.int64)
        np.maximum.at(self._longest, graph.token_class[vocabulary.tokens], vocabulary.lengths)

    def kept(self) -> Bools:
        """[E] bool, the edges that were not dropped."""
        return ~self._dropped

    def follow(self, state: int) -> None:
        """Drops other tokenisations of the text that is forced from this state on."""
        graph = self._graph
        way, text = [state], bytearray()
        while self.forced[way[-1]]:
            text.append(self._byte[way[-1]])
            way.append(self._next[way[-1]])
        at = 0
        for token in self._tokens(self._before(state), bytes(text)):
            begin, end = self._begin[way[at]], self._begin[way[at] + 1]
            if self.seen[way[at]]:
                return
            self.seen[way[at]] = True
            own = begin + np.flatnonzero(graph.label[begin:end] == graph.token_class[token])
            if not len(own):
                return
            within = self._longest[graph.label[begin:end]] < len(way) - at
            self._dropped[begin:end] |= within & np.isin(graph.target[begin:end], way[at:])
            self._dropped[own] = False
            at += int(self._tokenizer.vocabulary.lengths[self._row[token]])
        if self.forced[way[at]]:
            self.seen[way[at]] = True

    def _before(self, state: int) -> bytes:
        """Returns the bytes that all texts share before they reach this state."""
        shared = bytearray()
        while state >= 0 and self._came[state] >= 0 and len(shared) < _BEFORE:
            shared.append(self._came[state])
            state = self._from[state]
        return bytes(reversed(shared))

    def _tokens(self, before: bytes, text: bytes) -> list[int]:
        """Returns the tokenizer's tokens of this text behind the bytes before it, as far as they spell it."""
        while before and before[0] & 0xC0 == 0x80:
            before = before[1:]  # The rest of a character.
        behind = self._spell(before + text)
        size = 0
        for count, (token, length) in enumerate(behind):
            if size == len(before):
                return [token for token, _ in behind[count:]]
            size += length
        # A token would reach from what stands before into the text; but the model has ended one there.
        return [token for token, _ in self._spell(text)]

    def _spell(self, text: bytes) -> list[tuple[int, int]]:
        """Returns the tokenizer's tokens of this text with their lengths in bytes, as far as they spell it."""
        try:
            whole = text.decode()
        except UnicodeDecodeError as error:
            # Forced bytes may end within a character.
            whole = text[: error.start].decode()
        vocabulary = self._tokenizer.vocabulary
        spelling, at = list[tuple[int, int]](), 0
        for token in self._tokenizer.encode(whole) if whole else []:
            row = int(self._row[token])
            length = int(vocabulary.lengths[row]) if row >= 0 else 0
            if not length or vocabulary.bytes[row, :length].tobytes() != text[at : at + length]:
                break
            spelling.append((token, length))
            at += length
        return spelling


def _arrivals(automaton: Automaton, byte_of: Ints, sizes: Ints) -> tuple[list[int], list[int]]:
    """Returns the only byte that leads to each state, and the only state before it; -1 where there are more."""
    source, kind = np.nonzero(automaton.transitions >= 0)
    target = automaton.transitions[source, kind]
    came, last = np.full(automaton.states, -1, np.int64), np.full(automaton.states, -1, np.int64)
    byte = np.where(sizes[kind] == 1, byte_of[kind], -1)
    # The first state has the empty text before it, too.
    for value, of in ((byte, came), (source, last)):
        low, high = np.full(automaton.states, 1 << 40), np.full(automaton.states, -1, np.int64)
        np.minimum.at(low, target, value)
        np.maximum.at(high, target, value)
        of[:] = np.where(low == high, high, -1)
    came[0] = last[0] = -1
    return came.tolist(), last.tolist()
