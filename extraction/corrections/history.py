"""The history of each value that a person looked at: what the model made of it, and who changed it to what, when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from cinnabar.extraction.corrections.changes import Correction
from cinnabar.extraction.corrections.stored import CorrectedState
from cinnabar.extraction.corrections.units import HUMAN, text_at
from cinnabar.schemas.automata.canonical import parse


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """One change of a place: who did what, when; the value before and after as JSON texts; who took it back, and when.

    `action` is one of `Action`.
    """

    who: str
    made: datetime
    action: str
    before: str | None
    after: str | None
    undone: datetime | None = None
    undone_by: str = ""


@dataclass(frozen=True, slots=True)
class ValueHistory:
    """The history of one place, "" for the whole record.

    `first` is what the model made of it, as JSON text, None if it left the place out; `confidence` that of the model,
    None where it is not known.
    """

    pointer: str
    first: str | None
    confidence: float | None
    steps: tuple[HistoryStep, ...]

    def as_json(self) -> dict[str, Any]:
        """Returns the history as JSON."""
        return asdict(self) | {"steps": [json.loads(json.dumps(asdict(one), default=str)) for one in self.steps]}


def histories_of(state: CorrectedState) -> list[ValueHistory]:
    """Returns the history of each place that a correction names, the whole record first."""
    by_pointer: dict[str, list[Correction]] = {}
    for one in state.corrections:
        by_pointer.setdefault(one.pointer, []).append(one)
    return [_history(state, pointer, by_pointer[pointer]) for pointer in sorted(by_pointer)]


def _history(state: CorrectedState, pointer: str, made: Sequence[Correction]) -> ValueHistory:
    steps = tuple(
        HistoryStep(one.who, one.made, one.action.value, one.before, one.after, one.undone, one.undone_by)
        for one in made
    )
    base = state.outcome
    if base is None or not pointer:
        return ValueHistory(pointer, None, None, steps)
    first = text_at(parse(base.record.text), pointer)
    leaf = next((one for one in base.record.leaves if one.pointer == pointer), None)
    sure = base.record.lists.get(pointer) if leaf is None else leaf.confidence
    # Of a record in quarantine no confidence is stored, and a person's value has none of the model.
    known = base.status != "quarantined" and (leaf is None or leaf.origin != HUMAN)
    return ValueHistory(pointer, first, sure if known else None, steps)
