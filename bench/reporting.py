"""Parts of measurement reports: the description of the machine, and tables in Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from bench.recording import commit, processor
from cinnabar.engine.model import Model

if TYPE_CHECKING:
    import torch


def machine(model: Model) -> str:
    """The machine, commit, versions and model of a measurement, with its date."""
    return machine_line(model.device, model.fingerprint)


def machine_line(on: torch.device, model: str) -> str:
    """The same for a model of this fingerprint on this device."""
    import torch

    device = torch.cuda.get_device_name() if on.type == "cuda" else "cpu"
    return (
        f"{date.today()}, commit {commit()}, {processor()}, {os.cpu_count()} cores, "
        f"{torch.get_num_threads()} threads, device {device}, torch {torch.__version__}, "
        f"Python {platform.python_version()}, model {model}"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, with numbers aligned to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
