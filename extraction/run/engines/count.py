"""How many engine processes a run has."""

from __future__ import annotations

import os

from cinnabar.extraction.reading.model_sources import ModelSource, Named, RemoteSource
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.schemas.errors import UsageError


def engines_of(assignment: Assignment) -> int:
    """Returns the number of engines that `--engines` asks for; 1 is the run's own process.

    `auto` is one for each processor that this process may use, and one if a GPU, a server or a language model fills.
    Raises UsageError if several engines would share a model behind a server.
    """
    asked = assignment.options.engines
    remote = any(isinstance(source, RemoteSource) for source in assignment.sources)
    if asked != "auto":
        if remote and int(asked) > 1:
            raise UsageError(
                f"--engines {asked}: expected 1 or auto with a model behind a server: its pace, budget and journal"
                " belong to one process"
            )
        return int(asked)
    plain = all(isinstance(source, ModelSource) for source in assignment.sources)
    return _processors() if plain and not _on_gpu(assignment) else 1


def _processors() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _on_gpu(assignment: Assignment) -> bool:
    load = getattr(assignment.model, "load", None)
    if not isinstance(load, Named) or load.device == "cpu":
        return False
    # Cold start: Torch takes a second.
    import torch

    return torch.cuda.is_available()
