"""A listener that keeps all that a run tells while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cinnabar.extraction.filling.progress import ProgressListener
from cinnabar.extraction.store.records import Outcome


class Told(ProgressListener):
    """Keeps the number of inputs, the warnings, the outcomes as they are committed, and shares of answered batches."""

    def __init__(self) -> None:
        self.inputs = 0
        self.notes, self.outcomes, self.answered = list[str](), list[Outcome](), list[float]()

    @property
    def names(self) -> list[str]:
        """The names of the documents without their suffixes, in the order of their commits."""
        return [Path(outcome.path).stem for outcome in self.outcomes]

    def on_inputs(self, inputs: int) -> None:
        self.inputs = inputs

    def note(self, text: str) -> None:
        self.notes.append(text)

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes += outcomes

    def within(self, documents: float) -> None:
        self.answered.append(documents)
