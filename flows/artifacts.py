"""What Prefect shows of a run while it goes on: how far it is, and what became of the documents."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, create_table_artifact, update_progress_artifact

from cinnabar.extraction.progress import OutcomeTally
from cinnabar.extraction.storage.records import Outcome

if TYPE_CHECKING:
    from cinnabar.extraction.cost_estimate import CostEstimate

# The names by which Prefect lists them over all runs.
_PROGRESS, _RESULTS = "cinnabar-progress", "cinnabar-results"
# Seconds between two updates. One takes about 10 ms.
_EVERY = 2.0


class Artifacts(OutcomeTally):
    """A run's `Progress` that Prefect shows. Used in a flow run."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what
        self._progress: UUID | None = None
        self._shown = float("-inf")

    def estimated(self, estimate: CostEstimate) -> None:
        """Say what a server's answers will cost."""
        from prefect import get_run_logger

        get_run_logger().info(str(estimate))

    def note(self, text: str) -> None:
        """Log what a person should know before the run."""
        from prefect import get_run_logger

        get_run_logger().warning(text)

    def begin(self, inputs: int) -> None:
        """So many inputs there are."""
        super().begin(inputs)
        # In a flow that is no coroutine it is the artifact's id, at once.
        made = create_progress_artifact(0.0, _PROGRESS, f"{inputs} documents, {self._what}")
        self._progress = cast(UUID, made)

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """These were committed."""
        super().advance(outcomes)
        if time.monotonic() - self._shown >= _EVERY:
            self._show()

    def end(self, failure: str = "") -> None:
        """Show what became of everything, and why the run failed where it did."""
        if self._progress is None:
            return
        self._show()
        rows: list[dict[str, Any]] = [
            {
                "outcome": reason.outcome,
                "reason": reason.code,
                "documents": reason.documents,
                "the first of them": "\n".join(reason.first),
            }
            for reason in self.reasons()
        ]
        left = self.inputs - self.done
        if failure or left:
            rows.append({"outcome": "not done", "reason": failure, "documents": left})
        create_table_artifact(rows, _RESULTS, f"What became of {self.inputs} documents, {self._what}")

    def _show(self) -> None:
        if self._progress is not None:
            self._shown = time.monotonic()
            share = 100.0 * self.done / self.inputs if self.inputs else 100.0
            update_progress_artifact(self._progress, progress=share)
