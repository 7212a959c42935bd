"""The automaton of a record's text over the tokens of a language model, and the part of it that a block can reach.

A block of some positions reaches only a part of the graph; the scan of a block runs over that part alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cinnabar.engine.models.language.arrays import Ints
from cinnabar.engine.models.language.lifting import Vocabulary, edges_from, lift, steps_from
from cinnabar.schemas.automata.automaton import Automaton


@dataclass(frozen=True, eq=False)
class GraphPart:
    """The part of a graph that some tokens reach from a state.

    states: [N] int64, their numbers in the graph; the first one is the state itself. source, target, label: [E] int64,
    edges in the part's own numbers, sources ascending. classes: [C] int64, their numbers in the graph. distance: [N]
    int64, the fewest tokens from each state to the end of the record.
    """

    states: Ints
    source: Ints
    target: Ints
    label: Ints
    classes: Ints
    distance: Ints


@dataclass(frozen=True, eq=False)
class RecordGraph:
    """A record's automaton over V tokens, with N states.

    automaton: the automaton over bytes; its states are the graph's states 0 to N - 2. The last state is `done`.
    source, target, label: [E] int64, edges by token class, sources ascending. The end token leads from accepting states
        to done, and from done to done.
    distance: [N] int64, the fewest tokens from each state to done, with the end token; -1 if there are none, and then
        no edge leads there.
    tokens: [T] int64, the allowed tokens by class. token_class: [V] int64, -1 for a token that is never allowed.
        The end token's class is `end_class`; other tokens may be of it, too (`ended_by`).
    free: its texts are free, so that their tokens are chosen one by one (lookahead.py).
    """

    automaton: Automaton
    source: Ints
    target: Ints
    label: Ints
    distance: Ints
    tokens: Ints
    token_class: Ints
    classes: int
    end_class: int
    free: bool = False

    @property
    def states(self) -> int:
        """The number of states, N."""
        return len(self.distance)

    @property
    def done(self) -> int:
        """The state after the end token."""
        return len(self.distance) - 1

    @cached_property
    def _begin(self) -> Ints:
        """[N + 1] int64, where the edges of each state begin."""
        return np.searchsorted(self.source, np.arange(self.states + 1))

    @cached_property
    def _key(self) -> Ints:
        """[E] int64, ascending: state and class of each edge as one number."""
        return self.source * self.classes + self.label

    def cut(self, state: int, positions: int) -> GraphPart:
        """Returns the part that this many tokens, one or more, reach from a state."""
        number = np.full(self.states, -1, np.int64)
        number[state] = 0
        reached, edges = [np.array([state])], [np.zeros(0, np.int64)]
        count = 1
        for _ in range(positions):
            edges.append(edges_from(reached[-1], self._begin))
            fresh = np.zeros(self.states, np.bool_)
            fresh[self.target[edges[-1]]] = True
            fresh[number >= 0] = False
            fresh_states = np.flatnonzero(fresh)
            if not len(fresh_states):
                break
            number[fresh_states] = np.arange(count, count + len(fresh_states))
            count += len(fresh_states)
            reached.append(fresh_states)
        states, every = np.concatenate(reached), np.concatenate(edges)
        met = np.zeros(self.classes, np.bool_)
        met[self.label[every]] = True
        return GraphPart(
            states,
            number[self.source[every]],
            number[self.target[every]],
            (np.cumsum(met) - 1)[self.label[every]],
            np.flatnonzero(met),
            self.distance[states],
        )

    def run(self, token_ids: Iterable[int], state: int = 0) -> int:
        """Returns the state after these tokens, -1 if a token is not allowed where it stands."""
        for token in token_ids:
            kind = int(self.token_class[token])
            if kind < 0 or state < 0:
                return -1
            wanted = state * self.classes + kind
            at = int(self._key.searchsorted(wanted))
            state = int(self.target[at]) if at < len(self._key) and self._key[at] == wanted else -1
        return state


def graph_of(automaton: Automaton, vocabulary: Vocabulary) -> RecordGraph:
    """Returns the graph of an automaton over a vocabulary, with the vocabulary's end token."""
    lifted = lift(automaton, vocabulary)
    # A state that no token reaches stays a state of the graph, without edges.
    number = np.append(lifted.states, automaton.states)
    source, target = number[lifted.source], number[lifted.target]
    order = np.lexsort((lifted.label, source))
    source, target, label = source[order], target[order], lifted.label[order]
    distance = distances(automaton.states + 1, source, target)
    return RecordGraph(
        automaton, source, target, label, distance, lifted.tokens, lifted.token_class,
        lifted.classes, lifted.classes - 1,
    )  # fmt: skip


def ended_by(graph: RecordGraph, tokens: Iterable[int]) -> RecordGraph:
    """Returns the graph in which these tokens, which no text of it has, end a text as the end token does.

    They are of its class, so that their probabilities count as the end's; the end token is written in their place.
    """
    token_class, others = graph.token_class.copy(), np.array([*tokens], np.int64)
    others = others[token_class[others] < 0]
    token_class[others] = graph.end_class
    return replace(graph, token_class=token_class, tokens=np.append(graph.tokens, others))


def distances(states: int, source: Ints, target: Ints) -> Ints:
    """Returns the fewest edges from each state to the last one, -1 if there is no way."""
    return steps_from(np.arange(states) == states - 1, target, source)
