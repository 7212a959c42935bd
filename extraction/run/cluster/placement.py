"""Places engines and parsers on a cluster: an engine for each GPU, or for each share of the processors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cinnabar.schemas.errors import UsageError

# Bytes that an engine needs on a machine without a GPU: PyTorch, the weights, and a batch of long documents.
_ENGINE_MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class EngineSlot:
    """Room for one engine on a machine: its share of the processors (`threads`) and of the GPUs."""

    machine: str
    threads: int
    gpus: int = 0


def seats(machines: Sequence[Mapping[str, Any]], device: str = "auto", weights: int = 0) -> list[EngineSlot]:
    """Returns the seats of a cluster's engines, taking machines in turn.

    machines: the value of `ray.nodes()`. A machine whose GPUs Ray offers gets one engine for each GPU and no other;
    `cpu` ignores GPUs, `cuda` ignores machines without. Any other machine gets one engine with one thread for each
    processor, which yields most documents a second; with little memory it gets fewer engines with more threads.
    weights: bytes of weights that each engine holds beyond the default model's. Raises UsageError if there is no seat.
    """
    by_machine: list[list[EngineSlot]] = []
    for machine in machines:
        offered = machine["Resources"] if machine["Alive"] else {}
        gpus, processors = int(offered.get("GPU", 0)), int(offered.get("CPU", 0))
        if gpus and device != "cpu":
            by_machine.append([EngineSlot(machine["NodeID"], max(1, processors // gpus), 1)] * gpus)
        elif processors and device != "cuda":
            room = int(offered.get("memory", 0)) // (_ENGINE_MEMORY + weights)
            engines = max(1, min(processors, room))
            by_machine.append([EngineSlot(machine["NodeID"], processors // engines)] * engines)
    turns = max(map(len, by_machine), default=0)
    if not turns:
        wanted = "a GPU" if device == "cuda" else "a processor"
        raise UsageError(f"--ray: expected a machine that offers {wanted}, got {len(machines)} without")
    return [one[turn] for turn in range(turns) for one in by_machine if turn < len(one)]


def parser_machines(machines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the machines that parse: all that have a processor."""
    return [m["NodeID"] for m in machines if m["Alive"] and m["Resources"].get("CPU", 0) >= 1]
