"""Who watches a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cinnabar.extraction.storage.records import Outcome
from cinnabar.extraction.storage.tables import printable

if TYPE_CHECKING:
    from cinnabar.extraction.cost_estimate import CostEstimate

# Documents that a tally names for each reason, and characters of what it says of one.
_NAMED, _SAID = 5, 200


class Progress(Protocol):
    """Is told how a run goes."""

    def estimated(self, estimate: CostEstimate) -> None:
        """A model behind a server will be asked, at about this cost; called before it is."""

    def note(self, text: str) -> None:
        """A person should know this before the run."""

    def begin(self, inputs: int) -> None:
        """So many inputs there are."""

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """These were committed."""


class Silent:
    """Progress that nobody watches."""

    def estimated(self, estimate: CostEstimate) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def begin(self, inputs: int) -> None:
        """Nothing."""

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Reason:
    """So many documents came to this outcome for this reason; `first` are some of them, and what was said."""

    outcome: str
    code: str
    documents: int
    first: tuple[str, ...]


class OutcomeTally(Silent):
    """Counts what became of the documents, by outcome and reason."""

    def __init__(self) -> None:
        self.inputs = self.done = 0
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], list[str]] = defaultdict(list)

    def begin(self, inputs: int) -> None:
        """So many inputs there are."""
        self.inputs = inputs

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """These were committed."""
        self.done += len(outcomes)
        for outcome in outcomes:
            reason = outcome.status, outcome.code
            self._counts[reason] += 1
            if len(first := self._first[reason]) < _NAMED:
                about = outcome.detail or outcome.duplicate_of
                first.append(printable(f"{outcome.path}: {about}" if about else outcome.path)[:_SAID])

    def reasons(self) -> list[Reason]:
        """So far: what was written, what is in quarantine, what was skipped; many before few."""
        order = {"written": 0, "quarantined": 1, "skipped": 2}
        ranked = sorted(self._counts.items(), key=lambda item: (order[item[0][0]], -item[1], item[0][1]))
        return [Reason(*reason, count, tuple(self._first[reason])) for reason, count in ranked]
