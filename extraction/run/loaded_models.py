"""The models of a run in its own process: loaded by the first batch, asked for their use, and closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cinnabar.engine.request import Metered
from cinnabar.extraction.filling.model_sources import LanguageSource, RemoteSource, name_of
from cinnabar.extraction.run.commits import Commits
from cinnabar.extraction.run.work.assignment import Assignment

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Job


class LoadedModels:
    """The models of a run, which the first batch loads.

    The progress of `commits` is told what the user may not expect, such as the memory that a language model takes.
    """

    def __init__(self, assignment: Assignment, commits: Commits) -> None:
        self.assignment, self._commits = assignment, commits
        self._job: Job | None = None

    @property
    def server(self) -> RemoteSource | None:
        """Returns the source behind a server that the run asks, None if there is none."""
        return next((one for one in self.assignment.sources if isinstance(one, RemoteSource)), None)

    @property
    def seconds(self) -> dict[str, float]:
        """Returns the seconds of a model's own steps, as stages that are named `fill/STEP`."""
        timings = getattr(self._job.engine, "timings", {}) if self._job is not None else {}
        return {f"fill/{step}": seconds for step, seconds in timings.items()}

    def load(self) -> Job:
        """Returns the job; the first call loads its models."""
        if self._job is None:
            for note in self.assignment.memory_notes():
                self._commits.progress.note(note)
            self._job = self.assignment.job()
        return self._job

    def usage(self) -> Mapping[str, Any] | None:
        """Returns the use of the one model behind a server, or of a local model for escalated fields, else None."""
        metered, escalation, commits = self._metered(), self.assignment.escalation, self._commits
        raised = {"escalated_documents": commits.escalated_documents, "escalated_fields": commits.escalated_fields}
        if escalation is not None and isinstance(escalation.source, LanguageSource):
            return raised | {"model": name_of(escalation.source), "left": 0}
        if not metered:
            return None
        usage: dict[str, Any] = dict(metered[-1].usage()) | {"left": commits.without_budget}
        return usage | raised if escalation is not None else usage

    def _metered(self) -> list[Metered]:
        """Returns the loaded fillers that ask a server."""
        if self._job is None:
            return []
        fillers = [self._job.engine, *(self._job.tier.loaded_fillers if self._job.tier else ())]
        return [filler for filler in fillers if isinstance(filler, Metered)]
