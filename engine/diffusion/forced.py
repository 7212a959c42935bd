"""The text that a record must go on with: written without a pass of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cinnabar.engine.diffusion.record_graph import RecordGraph
from cinnabar.engine.lifting import Vocabulary


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
        """Returns tokens that spell these bytes, each time the longest one; a byte without a token is left out."""
        tokens, at = list[int](), 0
        while at < len(text):
            sizes = range(min(self.longest, len(text) - at), 0, -1)
            size = next((size for size in sizes if text[at : at + size] in self.token), 0)
            tokens += [self.token[text[at : at + size]]] if size else []
            at += max(size, 1)
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
