"""What the model made of the places that people corrected."""

from __future__ import annotations

from cinnabar.extraction.corrections.stored import CorrectedState
from cinnabar.extraction.corrections.units import HUMAN, text_at
from cinnabar.schemas.automata.canonical import parse


def first_values(state: CorrectedState) -> dict[str, tuple[str | None, float | None]]:
    """Returns the model's value of each place that a correction names, as JSON text, with its confidence.

    The value is None if the model left the place out, the confidence where it is not known.
    """
    base = state.outcome
    pointers = {one.pointer for one in state.corrections if one.pointer}
    if base is None or not pointers:
        return {}
    leaves = {leaf.pointer: leaf for leaf in base.record.leaves}
    # Of a record in quarantine no confidence is stored, and a person's value has none of the model.
    known = base.record.lists | {one: leaf.confidence for one, leaf in leaves.items() if leaf.origin != HUMAN}
    if base.status == "quarantined":
        known = {}
    record = parse(base.record.text)
    return {pointer: (text_at(record, pointer), known.get(pointer)) for pointer in sorted(pointers)}
