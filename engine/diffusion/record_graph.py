"""The automaton of a record's text over the tokens of a language model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from cinnabar.engine.lifting import Ints, Vocabulary, lift
from cinnabar.schemas.automata.automaton import Automaton


@dataclass(frozen=True, eq=False)
class GraphPart:
    """The part of a graph that some tokens reach from a state."""

    states: Ints
    source: Ints
    target: Ints
    label: Ints
    classes: Ints
    distance: Ints


@dataclass(frozen=True, eq=False)
class RecordGraph:
    """The record's automaton over a tokenizer's tokens."""

    automaton: Automaton
    source: Ints
    target: Ints
    label: Ints
    distance: Ints
    tokens: Ints
    token_class: Ints
    classes: int
    end_class: int
    texts: tuple[bytes | None, ...] = ()
    _parts: OrderedDict[tuple[int, int], GraphPart] = field(default_factory=OrderedDict)

    def cut(self, state: int, positions: int) -> GraphPart:
        """Returns the part that this many tokens reach from a state."""
        key = (state, positions)
        if key in self._parts:
            return self._parts[key]
        reached = np.zeros(len(self.distance), np.bool_)
        reached[state] = True
        for _ in range(positions - 1):
            more = reached.copy()
            more[self.target[reached[self.source]]] = True
            if (more == reached).all():
                break
            reached = more
        edges = np.flatnonzero(reached[self.source])
        reached[self.target[edges]] = True
        states = np.flatnonzero(reached)
        classes = np.unique(self.label[edges])
        part = GraphPart(
            states,
            np.searchsorted(states, self.source[edges]),
            np.searchsorted(states, self.target[edges]),
            np.searchsorted(classes, self.label[edges]),
            classes,
            self.distance[states],
        )
        self._parts[key] = part
        return part

    def run(self, token_ids: Iterable[int], state: int = 0) -> int:
        """Returns the state after these tokens, -1 if there is none."""
        done = len(self.distance) - 1
        for token in token_ids:
            kind = self.token_class[token]
            if kind < 0:
                return -1
            found = self.target[(self.source == state) & (self.label == kind)]
            if not len(found):
                return -1
            state = int(found[0])
            if state == done:
                break
        return state


def graph_of(automaton: Automaton, vocabulary: Vocabulary) -> RecordGraph:
    """Returns the graph of an automaton all of whose states tokens reach."""
    lifted = lift(automaton, vocabulary)
    more = lifted.classes - 1
    kept = lifted.label != more
    source, target, label = lifted.source[kept], lifted.target[kept], lifted.label[kept]
    token_class = lifted.token_class.copy()
    token_class[vocabulary.more] = -1
    done = automaton.states
    distance = np.full(done + 1, -1, np.int64)
    distance[done] = 0
    while True:
        behind = np.where(distance[target] >= 0, distance[target] + 1, np.iinfo(np.int64).max)
        best = np.full(done + 1, np.iinfo(np.int64).max)
        np.minimum.at(best, source, behind)
        better = (best < np.iinfo(np.int64).max) & ((distance < 0) | (best < distance))
        better[done] = False
        if not better.any():
            break
        distance[better] = best[better]
    return RecordGraph(
        automaton, source, target, label, distance,
        lifted.tokens[lifted.tokens != vocabulary.more], token_class, more, more - 1,
    )  # fmt: skip
