"""A run tells its watchers its warnings, inputs and outcomes; a tally counts the outcomes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

# Commands import this module for their help; tables need pyarrow.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.cost_estimate import CostEstimate
    from cinnabar.extraction.filling.time_estimate import TimeEstimate
    from cinnabar.extraction.store.records import Outcome

# Documents that a tally names for each reason, and the most characters about one of them.
_NAMED, _LONGEST = 5, 200


class ProgressListener:
    """Is told what a run does, and shows and keeps nothing. Override only the methods that you need."""

    def on_estimate(self, estimate: CostEstimate) -> None:
        """Notes the estimated cost before a run asks a model behind a server."""
        self.note(str(estimate))

    def on_time(self, estimate: TimeEstimate) -> None:
        """Notes the time that a run takes, before its first document, and again if its documents show another."""
        self.note(str(estimate))

    def note(self, text: str) -> None:
        """Receives a warning."""

    def on_inputs(self, inputs: int) -> None:
        """Receives the number of inputs."""

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Receives the outcomes that were just committed."""

    def within(self, documents: float) -> None:
        """Receives how much of a batch a language model has answered here before any of it is committed."""


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """The number of documents with this outcome and code; `first` holds some of them with their details."""

    outcome: str
    code: str
    documents: int
    first: tuple[str, ...]


class OutcomeTally(ProgressListener):
    """Counts the documents by outcome and reason."""

    def __init__(self) -> None:
        self.inputs = self.done = 0
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], list[str]] = defaultdict(list)

    def on_inputs(self, inputs: int) -> None:
        """Keeps the number of inputs as the whole of the tally."""
        self.inputs = inputs

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Counts the outcomes that were just committed."""
        # Cold start: it imports pyarrow.
        from cinnabar.extraction.store.tables import printable

        self.done += len(outcomes)
        for outcome in outcomes:
            reason = outcome.status, outcome.code
            self._counts[reason] += 1
            if len(first := self._first[reason]) < _NAMED:
                about = outcome.detail or outcome.duplicate_of
                first.append(printable(f"{outcome.path}: {about}" if about else outcome.path)[:_LONGEST])

    def reasons(self) -> list[ReasonCount]:
        """Returns the counts so far: written, then quarantined, then skipped, the largest first in each."""
        order = {"written": 0, "quarantined": 1, "skipped": 2}
        ranked = sorted(self._counts.items(), key=lambda item: (order[item[0][0]], -item[1], item[0][1]))
        return [ReasonCount(*reason, count, tuple(self._first[reason])) for reason, count in ranked]
