"""Posterior and witness of the positions of a block of free text.

The likeliest text as a whole is nearly always the shortest one: each further token that the model is not sure of makes
a text less likely, and the end costs one token only. So the tokens of a free text are chosen one by one, from left to
right, each the likeliest that its position allows; a text ends where the end is the likeliest token.
"""

from __future__ import annotations

import numpy as np

from cinnabar.engine.diffusion.arrays import Bools, Floats
from cinnabar.engine.diffusion.class_scores import ClassScores, TokenClasses
from cinnabar.engine.diffusion.lookahead import Lookahead, ScanSpan
from cinnabar.engine.diffusion.record_graph import RecordGraph


class GreedyConstraint:
    """The constraint of the graph of a free text."""

    def __init__(self, graph: RecordGraph) -> None:
        self.graph = graph
        self.classes = TokenClasses(graph.token_class, graph.classes)
        self.edges = len(graph.source)
        self._begin = np.searchsorted(graph.source, np.arange(graph.states + 1))
        #: The states that edges leave, and where these begin.
        self._leaving = np.flatnonzero(np.diff(self._begin))

    def lookahead(self, span: ScanSpan, scores: ClassScores) -> Lookahead:
        """Returns the posterior and the witness of a span, as `Constraint.lookahead` does.

        The posterior of a token is its share of the tokens that the text before it allows. Where that text is not
        settled yet, it is its share of all tokens.
        """
        graph, tokens = self.graph, span.tokens
        length = len(tokens)
        open_ways = self._open_ways(span)
        witness, posterior = tokens.copy(), np.ones(length, np.float32)
        runner_up, choices = np.zeros(length, np.float32), np.ones(length, np.int64)
        row = np.full(length, -1, np.int64)
        row[span.scored] = np.arange(len(span.scored))
        finite, mass, settled, state = bool(scores.finite.all()), 0.0, True, span.state
        if not open_ways[0][state]:
            return Lookahead(0.0, False, finite, witness, posterior, runner_up, choices)
        for at in range(length):
            edges = np.arange(self._begin[state], self._begin[state + 1])
            kinds = graph.label[edges]
            held, own = int(tokens[at]), int(row[at])
            ahead = open_ways[at + 1][graph.target[edges]]
            if own >= 0:
                allowed = kinds[ahead]
                share = _log_sum(scores.total[own, allowed])
                norm = share if settled else 0.0
                best = scores.best[own, allowed]
                chosen = int(best.argmax())
                runner_up[at] = min(float(np.exp(best[chosen] - norm)), 1.0)
                many = int(self.classes.size[allowed].sum())
                # What only an unsettled text forces may still change with it.
                choices[at] = many if settled else max(many, 2)
                if held < 0:
                    kind = int(allowed[chosen])
                    witness[at], posterior[at] = scores.token[own, kind], runner_up[at]
                    mass += min(share, 0.0)
                    settled &= many == 1
                else:
                    kind = int(graph.token_class[held])
                    posterior[at] = min(float(np.exp(scores.own[own] - norm)), 1.0)
            else:
                kind = int(graph.token_class[held])
            (edge,) = edges[kinds == kind]
            state = int(graph.target[edge])
        return Lookahead(mass, True, finite, witness, posterior, runner_up, choices)

    def _open_ways(self, span: ScanSpan) -> list[Bools]:
        """Returns for each position, and the end, the states from which the committed tokens behind can follow."""
        graph, tokens = self.graph, span.tokens
        ways = [(graph.distance >= 0) & (graph.distance <= span.left)]
        for token in tokens[::-1].tolist():
            leads: Bools = ways[-1][graph.target]
            if token >= 0:
                leads &= graph.label == graph.token_class[token]
            states = np.zeros(graph.states, np.bool_)
            states[self._leaving] = np.logical_or.reduceat(leads, self._begin[self._leaving])
            ways.append(states)
        return ways[::-1]


def _log_sum(logs: Floats) -> float:
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).sum()))
