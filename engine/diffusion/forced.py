"""The text that a record must go on with: written without a pass of the model."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cinnabar.engine.diffusion.record_graph import RecordGraph
from cinnabar.engine.lifting import Vocabulary


class Spelling(Protocol):
    """A tokenizer."""

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


class TokenTexts:
    """The bytes of each token, and the tokens that begin with given bytes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._texts = {
            int(token): vocabulary.bytes[row, :length].tobytes()
            for row, (token, length) in enumerate(zip(vocabulary.tokens, vocabulary.lengths, strict=True))
        }
        self._token = {text: token for token, text in reversed(self._texts.items())}
        self._longest = vocabulary.longest
        self._sorted = sorted(self._texts.values())

    def text(self, tokens: Sequence[int]) -> bytes:
        """Returns the bytes of these tokens; tokens without a text have none."""
        return b"".join(self._texts.get(token, b"") for token in tokens)

    def spell(self, text: bytes) -> list[int]:
        """Returns tokens that spell these bytes, each time the longest one; a byte without a token is left out."""
        found, at = list[int](), 0
        while at < len(text):
            sizes = range(min(self._longest, len(text) - at), 0, -1)
            size = next((size for size in sizes if text[at : at + size] in self._token), 0)
            found += [self._token[text[at : at + size]]] if size else []
            at += max(size, 1)
        return found

    def longer(self, text: bytes) -> list[bytes]:
        """Returns the texts of the tokens that begin with this text and go on."""
        begin = bisect_left(self._sorted, text)
        # No byte of UTF-8 is 255, and one behind `text` would sort behind all that go on.
        end = bisect_left(self._sorted, text + b"\xff" * 2, begin)
        return [found for found in self._sorted[begin:end] if len(found) > len(text)]


@dataclass(frozen=True, slots=True)
class Forced:
    """Tokens that are forced from a state on, and the state after each."""

    tokens: tuple[int, ...]
    states: tuple[int, ...]


class ForcedText:
    """The forced tokens of a graph's states, each found once."""

    def __init__(self, graph: RecordGraph, tokenizer: Spelling, texts: TokenTexts) -> None:
        self._graph, self._tokenizer, self._texts = graph, tokenizer, texts
        self._found: dict[int, Forced] = {}
        automaton = graph.automaton
        going = automaton.transitions >= 0
        sizes = np.bincount(automaton.byte_class, minlength=going.shape[1])
        alone = (going.sum(1) == 1) & ~automaton.accepting
        kind = going.argmax(1)
        alone &= sizes[kind] == 1
        byte_of = np.zeros(going.shape[1], np.int64)
        byte_of[automaton.byte_class] = np.arange(256)
        #: The only byte that may follow each state, -1 if there are several or the text may end.
        self._byte = np.where(alone, byte_of[kind], -1).tolist()
        self._next = automaton.transitions[np.arange(len(kind)), kind].tolist()
        self._over = (automaton.accepting & ~going.any(1)).tolist()

    def after(self, state: int) -> Forced:
        """Returns the forced tokens from this state on."""
        found = self._found.get(state)
        if found is None:
            found = self._found[state] = self._find(state)
        return found

    def _find(self, begin: int) -> Forced:
        done = len(self._byte)
        text, state = bytearray(), begin
        while state < done and self._byte[state] >= 0:
            text.append(self._byte[state])
            state = self._next[state]
        tokens = self._spelled(bytes(text))
        states, ahead = [], begin
        for token in tokens:
            ahead = self._graph.run([token], ahead)
            states.append(ahead)
        if -1 in states:  # A token of this spelling is not in the graph, such as one that the model never writes.
            tokens, states = tokens[: states.index(-1)], states[: states.index(-1)]
        end = tokens and states[-1] == state
        if (end or not text) and state < done and self._over[state]:
            return Forced((*tokens, self._tokenizer.end), (*states, done))
        if end and self._bridged(self._texts.text(tokens[-1:]), states[-2] if len(states) > 1 else begin):
            tokens, states = tokens[:-1], states[:-1]
        return Forced(tuple(tokens), tuple(states))

    def _spelled(self, text: bytes) -> list[int]:
        """Returns the tokenizer's own tokens of this text, as far as they spell it."""
        try:
            whole = text.decode()
        except UnicodeDecodeError as error:
            # Forced bytes may begin or end within a character.
            whole = text[: error.start].decode()
        tokens = self._tokenizer.encode(whole) if whole else []
        at = 0
        for count, token in enumerate(tokens):
            spelled = self._texts.text([token])
            if not spelled or not text.startswith(spelled, at):
                return tokens[:count]
            at += len(spelled)
        return tokens

    def _bridged(self, last: bytes, state: int) -> bool:
        """Whether a longer token that begins like the last one may stand in its place."""
        run = self._graph.automaton.run
        return any(run(text, state) >= 0 for text in self._texts.longer(last))
