"""Posterior and witness of the positions of a block, under the graph of a record or of free text.

The likeliest text as a whole is nearly always the shortest one: each further token that the model is not sure of makes
a text less likely, and the end costs one token only. So the tokens of a free text are chosen one by one, from left to
right, each the likeliest that its position allows; a text ends where the end is the likeliest token.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import torch

from cinnabar.engine.language.class_scores import ClassScores, TokenClasses
from cinnabar.engine.language.record_graph import GraphPart, RecordGraph
from cinnabar.engine.models.language.arrays import Bools, Floats, Ints
from cinnabar.kernels.block_scan import PartTables, block_scan, part_tables
from cinnabar.kernels.device_tables import DevicePart, device_part
from cinnabar.kernels.score_limits import FLOOR, POSSIBLE

#: Edges of the parts whose tables are kept; the tables have 130 bytes for each.
KEPT = 2_000_000
#: A graph of so few edges is scanned as a whole, and no part has to be cut. A cut for 16 positions takes .3 ms; then
#: a scan of 12 fields (2,400 edges) takes .3 instead of 1.0 ms, one of 4 fields (700) .26 instead of .46.
WHOLE = 600
#: A token weighs as much as its share of the tokens that the record allows behind the text before it, so that forced
#: tokens weigh nothing. With 0, its share of all tokens, a half-trained model (60 values of 12 held-back pages, medium)
#: had 5 values right in 90 passes a record, with 1 it had 11 in 63: strings had no end.
LOCAL = 1.0


@dataclass(frozen=True, slots=True)
class ScanSpan:
    """L positions to scan: the graph's state before them, their tokens (-1 where open), and the tokens that may follow.

    scored: [K] int64, the positions that have scores; all open ones are among them.
    """

    state: int
    tokens: Ints
    scored: Ints
    left: int


@dataclass(frozen=True, slots=True)
class Lookahead:
    """The tokens of a span under the constraint.

    log_mass: log share of the allowed tokens, expected and summed over the open positions. complete: whether a text is
    possible at all; if not, the rest means nothing. finite: whether all scores are numbers; if not, nothing else means
    anything. witness: [L] int64, the most probable text; it agrees with all
    committed tokens. posterior: [L] float32, of the witness's token given the committed tokens at all *other*
    positions, 1 where there are no scores. runner_up: [L] float32, of the likeliest token. choices: [L] int64, how many
    tokens are possible.
    """

    log_mass: float
    complete: bool
    finite: bool
    witness: Ints
    posterior: Floats
    runner_up: Floats
    choices: Ints


@dataclass(frozen=True, slots=True)
class _Part:
    """The tables of a part; `state` and `local` number the graph's states and classes within it, -1 for the others.

    on_device: the tables of the Triton kernels, None where numpy scans.
    """

    tables: PartTables
    classes: Ints
    distance: Ints
    state: Ints
    local: Ints
    size: Ints
    on_device: DevicePart | None


class Constraint:
    """The constraint of one graph; it keeps the tables of the parts that blocks met.

    device: where the tables of the Triton kernels lie, None if numpy scans.
    """

    def __init__(self, graph: RecordGraph, device: torch.device | None = None) -> None:
        self.graph, self.device = graph, device
        self.classes = TokenClasses(graph.token_class, graph.classes)
        self._parts: OrderedDict[tuple[int, int], _Part] = OrderedDict()
        self._edges = 0
        self._all: _Part | None = None

    @property
    def edges(self) -> int:
        """The edges of the tables that are kept."""
        return self._edges + (0 if self._all is None else len(self.graph.source))

    def lookahead(self, span: ScanSpan, scores: ClassScores) -> Lookahead:
        """Returns the posterior and the witness of a span; `scores` has a row for each of its scored positions."""
        graph, tokens = self.graph, span.tokens
        part = self.part(span)
        kinds = part.classes
        free, best = scores.total[:, kinds], scores.best[:, kinds]
        fixed = np.full((len(tokens), len(kinds)), FLOOR, np.float32)
        fixed[span.scored] = free
        sharp = np.full_like(fixed, FLOOR)
        sharp[span.scored] = best
        held = np.flatnonzero(tokens >= 0)
        own = part.local[graph.token_class[tokens[held]]]
        fixed[held], sharp[held] = FLOOR, FLOOR
        possible = own >= 0
        fixed[held[possible], own[possible]] = sharp[held[possible], own[possible]] = 0.0
        final = np.where((part.distance >= 0) & (part.distance <= span.left), 0.0, FLOOR).astype(np.float32)
        start = int(part.state[span.state])
        sums = block_scan(
            part.tables, start, final, fixed, free, sharp, span.scored, tokens[span.scored] < 0, LOCAL
        )

        witness, posterior = tokens.copy(), np.ones(len(tokens), np.float32)
        runner_up, choices = np.zeros(len(tokens), np.float32), np.ones(len(tokens), np.int64)
        row, at = np.arange(len(span.scored)), span.scored
        kind = sums.path[at]
        opened = tokens[at] < 0
        witness[at[opened]] = scores.token[row, kinds[kind]][opened]
        # The share of a token is that of its class times its share within the class.
        within = np.where(opened, best[row, kind], scores.own) - free[row, kind]
        posterior[at] = np.minimum(np.exp(sums.posterior[row, kind] + within), 1.0)
        runner_up[at] = np.minimum(np.exp((sums.posterior + (best - free)).max(1)), 1.0)
        choices[at] = np.where(sums.posterior > POSSIBLE, part.size, 0).sum(1)
        complete, finite = sums.best > POSSIBLE, bool(scores.finite.all())
        return Lookahead(sums.allowed, complete, finite, witness, posterior, runner_up, choices)

    def part(self, span: ScanSpan) -> _Part:
        """Returns the tables of the part of the graph that the span can reach."""
        # A power of two of positions: fewer different parts, and more of them met again.
        key = state, positions = span.state, 1 << (len(span.tokens) - 1).bit_length()
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = self._build(state, positions)
            self._edges += 0 if part is self._all else len(part.tables.source)
            while self._edges > KEPT and len(self._parts) > 1:
                _, old = self._parts.popitem(last=False)
                self._edges -= 0 if old is self._all else len(old.tables.source)
        self._parts.move_to_end(key)
        return part

    def _build(self, state: int, positions: int) -> _Part:
        edges = len(self.graph.source)
        if positions > 1 and edges <= WHOLE:
            return self._whole()
        cut = self.graph.cut(state, positions)
        # Most of the graph is scanned nearly as fast as all of it, whose tables are there once for all states.
        return self._whole() if 2 * len(cut.source) > edges else self._tables(cut)

    def _whole(self) -> _Part:
        if self._all is None:
            graph = self.graph
            states, classes = np.arange(len(graph.distance)), np.arange(graph.classes)
            every = GraphPart(states, graph.source, graph.target, graph.label, classes, graph.distance)
            self._all = self._tables(every)
        return self._all

    def _tables(self, cut: GraphPart) -> _Part:
        state = np.full(len(self.graph.distance), -1, np.int64)
        state[cut.states] = np.arange(len(cut.states))
        local = np.full(self.graph.classes + 1, -1, np.int64)
        local[cut.classes] = np.arange(len(cut.classes))
        tables = part_tables(len(cut.states), len(cut.classes), cut.source, cut.target, cut.label)
        size, on_device = self.classes.size[cut.classes], None
        if self.device is not None:
            on_device = device_part(tables, cut.classes, size, cut.distance, self.device)
        return _Part(tables, cut.classes, cut.distance, state, local, size, on_device)


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
