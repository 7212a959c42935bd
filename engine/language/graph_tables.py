"""The graphs of the present tasks with their tables: forced text, scores by class, posterior and witness."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch

from cinnabar.engine.language.class_scores import ClassScores, DeviceScores, Reduced, TokenClasses
from cinnabar.engine.language.forced import ForcedText
from cinnabar.engine.language.lookahead import KEPT, Constraint, GreedyConstraint, Lookahead, ScanSpan
from cinnabar.engine.language.record_graph import RecordGraph
from cinnabar.engine.language.sequences import Block, OpenSequence
from cinnabar.engine.models.backend import backend_of
from cinnabar.engine.models.language.arrays import Ints
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.kernels.device_tables import upload

#: Graphs whose tables are kept besides those of the present tasks, and the edges of all these tables.
CONSTRAINTS, TABLES = 16, KEPT


@dataclass(frozen=True, slots=True)
class LookaheadQuery:
    """Asks for the lookahead of the positions [begin, stop) of a block; scored: those that have `scores`, absolute."""

    sequence: OpenSequence
    block: Block
    begin: int
    stop: int
    scored: Ints
    scores: ClassScores | DeviceScores

    @property
    def span(self) -> ScanSpan:
        """The positions as they are now."""
        block, sequence = self.block, self.sequence
        state = block.ahead if self.begin == block.front else block.state
        tokens = sequence.tokens[self.begin : self.stop]
        return ScanSpan(state, tokens, self.scored - self.begin, sequence.limit - self.stop)


@dataclass(frozen=True, slots=True)
class _WantedPositions:
    """The wanted positions of the sequences of one graph.

    hidden: [N, D], held: [N]; bans: as for `TokenClasses`.
    """

    classes: TokenClasses
    rows: list[int]
    hidden: torch.Tensor
    held: Ints
    bans: list[tuple[int, int]]


class GraphTables:
    """Keeps what a graph is used by, for the graphs of the present tasks and some before them."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._backend = backend_of(decoder.device)
        self._device = decoder.device if self._backend == "triton" else None
        self._graphs: dict[RecordGraph, tuple[Constraint | GreedyConstraint, ForcedText]] = {}

    def keep(self, present: Iterable[RecordGraph]) -> None:
        """Keeps the tables of these graphs, and drops others, those used longest ago first, down to what is kept."""
        for graph in (used := dict.fromkeys(present)):
            if graph in self._graphs:
                self._graphs[graph] = self._graphs.pop(graph)
        others = [graph for graph in self._graphs if graph not in used]
        edges = sum(constraint.edges for constraint, _ in self._graphs.values())
        while others and (len(others) > CONSTRAINTS or edges > TABLES):
            edges -= self._graphs.pop(others.pop(0))[0].edges

    def forced_text(self, graph: RecordGraph) -> ForcedText:
        """Returns what tells a graph's forced text."""
        return self._tools(graph)[1]

    def scores(
        self, sequences: Sequence[OpenSequence], hidden: torch.Tensor, wanted: Sequence[Ints]
    ) -> Sequence[ClassScores | DeviceScores]:
        """Returns the scores of each sequence's wanted positions; those of one graph are computed together.

        hidden: [P, D], the states of all wanted positions, in the order of the sequences.
        """
        groups = list(self._groups(sequences, hidden, wanted))
        reduced = self._reduce(groups) if self._backend == "triton" else None
        by_row: dict[int, ClassScores | DeviceScores] = {}
        cells = places = 0
        for group in groups:
            begin, many = 0, group.classes.classes
            scores: ClassScores | DeviceScores
            if reduced is None:
                scores = group.classes.scores(self._decoder, group.hidden, group.held, group.bans)
            else:
                at = np.arange(len(group.held))
                scores = DeviceScores(reduced, cells + at * many, places + at)
                cells, places = cells + len(at) * many, places + len(at)
            for row in group.rows:
                by_row[row] = scores.at(slice(begin, begin + len(wanted[row])))
                begin += len(wanted[row])
        return [by_row[row] for row in range(len(sequences))]

    def _groups(
        self, sequences: Sequence[OpenSequence], hidden: torch.Tensor, wanted: Sequence[Ints]
    ) -> Iterator[_WantedPositions]:
        held = [sequence.tokens[at] for sequence, at in zip(sequences, wanted, strict=True)]
        cuts = np.cumsum([0, *map(len, wanted)]).tolist()
        graphs: dict[RecordGraph, list[int]] = {}
        for row, sequence in enumerate(sequences):
            graphs.setdefault(sequence.task.graph, []).append(row)
        for graph, rows in graphs.items():
            part = hidden
            if len(graphs) > 1:
                part = torch.cat([hidden[cuts[row] : cuts[row + 1]] for row in rows])
            bans, begin = list[tuple[int, int]](), 0
            for row in rows:
                for at, token in sequences[row].bans:
                    bans += [(begin + int(place), token) for place in np.flatnonzero(wanted[row] == at)]
                begin += len(held[row])
            classes, tokens = self._tools(graph)[0].classes, np.concatenate([held[row] for row in rows])
            yield _WantedPositions(classes, rows, part, tokens, bans)

    def _reduce(self, groups: Sequence[_WantedPositions]) -> Reduced:
        """Computes the scores of all groups on the device, one group after the other in the same tensors."""
        device = self._decoder.device
        sizes = [len(group.held) * group.classes.classes for group in groups]
        held = upload(np.concatenate([group.held for group in groups]), device)
        out = Reduced(
            torch.empty(sum(sizes), dtype=torch.float32, device=device),
            torch.empty(sum(sizes), dtype=torch.float32, device=device),
            torch.empty(sum(sizes), dtype=torch.int32, device=device),
            torch.empty(len(held), dtype=torch.float32, device=device),
            torch.empty(len(held), dtype=torch.bool, device=device),
        )
        cell = place = 0
        for group, size in zip(groups, sizes, strict=True):
            cells, places = slice(cell, cell + size), slice(place, place + len(group.held))
            part = Reduced(out.total[cells], out.best[cells], out.token[cells], out.own[places], out.finite[places])
            group.classes.reduce(self._decoder, group.hidden, held[places], group.bans, part)
            cell, place = cells.stop, places.stop
        return out

    def lookaheads(self, looks: Sequence[LookaheadQuery]) -> list[Lookahead]:
        """Returns the lookahead of each; the scores are all of one pass, and a GPU scans them together."""
        asked = [(self._tools(look.sequence.task.graph)[0], look) for look in looks]
        if not asked or self._backend == "plain":
            return [constraint.lookahead(look.span, cast(ClassScores, look.scores)) for constraint, look in asked]
        # Cold start: Triton takes 0.2 s, and a CPU runs without it.
        from cinnabar.engine.language.device_lookahead import lookaheads

        scored = [(constraint, look.span, cast(DeviceScores, look.scores)) for constraint, look in asked]
        parts = [(own, span, scores) for own, span, scores in scored if isinstance(own, Constraint)]
        scanned = iter(lookaheads(parts))
        return [
            next(scanned)
            if isinstance(own, Constraint)
            else own.lookahead(span, scores.own_on_host(own.classes.classes))
            for own, span, scores in scored
        ]

    def _tools(self, graph: RecordGraph) -> tuple[Constraint | GreedyConstraint, ForcedText]:
        if graph not in self._graphs:
            made = GreedyConstraint(graph) if graph.free else Constraint(graph, self._device)
            self._graphs[graph] = (made, ForcedText(graph))
        return self._graphs[graph]
