"""What watches a run beside its own display: events for their receivers, and traces for a collector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.reading.progress import Progress, Several
from cinnabar.extraction.run.events.telling import Carrier, telling
from cinnabar.extraction.run.telemetry import traced


@contextmanager
def watched(plan: RunPlan, progress: Progress, carry: Carrier | None = None) -> Iterator[Progress]:
    """Yields the progress of a run by this plan, which also tells its events and traces it.

    It surrounds the whole run. Raises UsageError, before any work begins, if an address or the collector is unusable.
    """
    model = plan.model or "default"
    model = Path(model).name if Path(model).is_dir() else model
    with traced(model, progress) as trace, telling(plan, progress, carry) as told:
        yield Several(progress, told, trace)
