"""Measures the speed of the constrained pass: all slots at once or one by one, classes or masks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from cinnabar.engine.canvas import MASK, VOCABULARY
from cinnabar.engine.constraint import Constraint
from cinnabar.engine.lifting import BYTES, lift
from cinnabar.kernels.class_logits import class_logits
from cinnabar.kernels.tables import LEAST
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Slot

#: Scalars with automata of a hundred edges and more; the second has by far the most, 774.
SCALARS: tuple[dict[str, object], ...] = (
    {"type": "string", "format": "date"},
    {"type": "string", "maxLength": 12},
    {"type": "string", "format": "ipv4"},
    {"type": ["string", "null"], "pattern": "^[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){3,7}$"},
    {"type": "integer", "minimum": -1999, "maximum": 123456, "multipleOf": 7},
    {"enum": ["complaint", "enquiry", "claim", "cancellation", "change of address", "change of vehicle",
              "payment", "refund", "withdrawal of a claim", "none of these"]},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScanSpeed:
    """The measured figures: slots, positions, edges of all slots, edges of the smallest; milliseconds a call."""

    slots: int
    positions: int
    edges: int
    fewest: int
    at_once: float
    one_by_one: float
    classes: float
    masks: float


def scan_speed(
    device: torch.device,
    slots: int = 512,
    positions: int = 16,
    repeat: int = 5,
    scalars: Sequence[dict[str, object]] = SCALARS,
) -> ScanSpeed:
    """The times of posterior and witness for `slots` open slots, each the best of some calls.

    One by one is the same pass over a batch of one slot. Masks are the plain way to reduce the logits of tokens to
    classes: a row of the vocabulary for each class, with a maximum and a log-sum-exp over each.
    """
    kinds = [compile_schema(schema).form.slots[0] for schema in scalars]
    chosen = [kinds[at % len(kinds)] for at in range(slots)]
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(slots, positions, VOCABULARY, generator=generator).to(device)
    tokens = torch.full((slots, positions), MASK, dtype=torch.long, device=device)
    length = torch.full((slots,), positions, dtype=torch.long, device=device)
    constraint = Constraint(device)
    tables = constraint.tables(chosen, length)
    edges = [len(lift(slot.automaton, BYTES, slot.nullable).source) for slot in chosen[: len(kinds)]]
    scores = logits[tables.order].float().log_softmax(-1).clamp_min(LEAST)
    alone = [Constraint(device) for _ in kinds]

    def one_by_one() -> None:
        for at, slot in enumerate(chosen):
            pick = slice(at, at + 1)
            alone[at % len(kinds)].outlook([slot], tokens[pick], length[pick], logits[pick])

    return ScanSpeed(
        slots, positions, int(tables.scan.by_target.source.numel()), min(edges),
        at_once=best_time(lambda: constraint.outlook(chosen, tokens, length, logits), repeat, device),
        one_by_one=best_time(one_by_one, 2, device),
        classes=best_time(lambda: class_logits(scores, tables.classes), repeat, device),
        masks=best_time(lambda: _masked(scores, [chosen[at] for at in tables.order.tolist()]), 2, device),
    )  # fmt: skip


def _masked(scores: torch.Tensor, chosen: list[Slot]) -> None:
    """Computes maximum and log-sum-exp of every class of every slot by a mask over the vocabulary."""
    masks: dict[str, torch.Tensor] = {}
    for own, slot in zip(scores, chosen, strict=True):
        name = slot.automaton.fingerprint
        if name not in masks:
            lifted = lift(slot.automaton, BYTES, slot.nullable)
            kinds = torch.from_numpy(lifted.token_class).to(scores.device)
            masks[name] = kinds == torch.arange(lifted.classes, device=scores.device)[:, None]
        allowed = torch.where(masks[name][None], own[:, None], LEAST)
        allowed.amax(-1), allowed.logsumexp(-1)


def best_time(call: Callable[[], object], repeat: int, device: torch.device) -> float:
    """Milliseconds of the fastest of some calls, after one call to warm up."""
    call()
    times = []
    for _ in range(repeat):
        begun = time.perf_counter()
        call()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return min(times) * 1000
