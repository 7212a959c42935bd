"""The graphs of the present tasks with their tables: forced text, scores by class, posterior and witness."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from cinnabar.engine.diffusion.arrays import Ints
from cinnabar.engine.diffusion.class_scores import ClassScores
from cinnabar.engine.diffusion.forced import ForcedText
from cinnabar.engine.diffusion.outlook import KEPT, Constraint, Outlook, Span, Unconstrained
from cinnabar.engine.diffusion.record_graph import RecordGraph
from cinnabar.engine.diffusion.sequences import OpenSequence
from cinnabar.engine.models.language.decoder import Decoder

#: Graphs whose tables are kept besides those of the present tasks, and the edges of all these tables.
CONSTRAINTS, TABLES = 16, KEPT


class GraphTables:
    """Keeps what a graph is used by, for the graphs of the present tasks and some before them.

    local: as in `Settings`. Without `constrained` there are no graphs, and each position has its own best token.
    """

    def __init__(self, decoder: Decoder, local: float, constrained: bool) -> None:
        traits = decoder.traits
        self._decoder, self._local = decoder, local
        self._free = None if constrained else Unconstrained(traits.vocabulary, traits.mask)
        self._graphs: dict[RecordGraph, tuple[Constraint, ForcedText]] = {}

    def keep(self, present: Iterable[RecordGraph]) -> None:
        """Keeps the tables of these graphs, and drops others, those used longest ago first, down to what is kept."""
        for graph in (used := dict.fromkeys(present)):
            if graph in self._graphs:
                self._graphs[graph] = self._graphs.pop(graph)
        others = [graph for graph in self._graphs if graph not in used]
        edges = sum(constraint.edges for constraint, _ in self._graphs.values())
        while others and (len(others) > CONSTRAINTS or edges > TABLES):
            edges -= self._graphs.pop(others.pop(0))[0].edges

    def forced(self, graph: RecordGraph) -> ForcedText:
        """Returns what tells a graph's forced text."""
        return self._tools(graph)[1]

    def scores(
        self, sequences: Sequence[OpenSequence], hidden: torch.Tensor, wanted: Sequence[Ints]
    ) -> list[ClassScores]:
        """Returns the scores of each sequence's wanted positions; those of one graph are computed together.

        hidden: [P, D], the states of all wanted positions, in the order of the sequences.
        """
        held = [sequence.tokens[at] for sequence, at in zip(sequences, wanted, strict=True)]
        cuts = np.cumsum([0, *map(len, wanted)]).tolist()
        graphs: dict[RecordGraph | None, list[int]] = {}
        for row, sequence in enumerate(sequences):
            graphs.setdefault(sequence.task.graph if self._free is None else None, []).append(row)
        found: dict[int, ClassScores] = {}
        for graph, rows in graphs.items():
            classes = self._constraint(graph).classes
            part = hidden
            if len(graphs) > 1:
                part = torch.cat([hidden[cuts[row] : cuts[row + 1]] for row in rows])
            bans, begin = list[tuple[int, int]](), 0
            for row in rows:
                for at, token in sequences[row].bans:
                    bans += [(begin + int(place), token) for place in np.flatnonzero(wanted[row] == at)]
                begin += len(held[row])
            scores = classes.scores(self._decoder, part, np.concatenate([held[row] for row in rows]), bans)
            begin = 0
            for row in rows:
                found[row] = scores.at(slice(begin, begin + len(held[row])))
                begin += len(held[row])
        return [found[row] for row in range(len(sequences))]

    def outlook(
        self, sequence: OpenSequence, begin: int, stop: int, scored: Ints, scores: ClassScores
    ) -> Outlook:
        """Returns the outlook of the positions [begin, stop) of a block."""
        block = sequence.checked or sequence.block
        assert block is not None
        state = block.ahead if begin == block.front else block.state
        span = Span(state, sequence.tokens[begin:stop], scored - begin, sequence.limit - stop)
        constraint = self._constraint(sequence.task.graph if self._free is None else None)
        return constraint.outlook(span, scores)

    def _constraint(self, graph: RecordGraph | None) -> Constraint | Unconstrained:
        if graph is not None:
            return self._tools(graph)[0]
        assert self._free is not None
        return self._free

    def _tools(self, graph: RecordGraph) -> tuple[Constraint, ForcedText]:
        if graph not in self._graphs:
            self._graphs[graph] = (Constraint(graph, self._local), ForcedText(graph))
        return self._graphs[graph]
