"""Demanded values: the schema refuses the record without them, so a model that has none makes one up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from cinnabar.engine.request import Filled, Leaf, Origin
from cinnabar.schemas.automata.canonical import parse
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import unescape

# A demanded choice that is less probable than this is missing.
_LEAST_CHOICE = 0.5
_CHOICES: tuple[Origin, ...] = ("chosen",)


def without_made_up_choices(form: Form, filled: Filled, origins: Collection[Origin] = _CHOICES) -> Filled:
    """Returns the record, its demanded choices that are rather wrong than right flagged as missing.

    Only the model's word stands behind a chosen option; `origins` names further values of that kind. A choice is
    demanded if the schema refuses the record without it: as a required property, in the branch of a union, or as one
    of the least items. A slot of one option has no choice.
    """
    doubtful: dict[int, list[str]] = {}
    for pointer, leaf in filled.leaves.items():
        if leaf.origin in origins and not leaf.missing and leaf.confidence < _LEAST_CHOICE:
            doubtful.setdefault(leaf.slot, []).append(pointer)
    made_up: dict[str, Leaf] = {}
    for slot, pointers in doubtful.items():
        if len(form.slots[slot].options) != 1 and not form.slots[slot].nullable:
            demanded = [pointer for pointer in pointers if filled.leaves[pointer].demanded]
            if len(demanded) < len(pointers) and _are_demanded(form, filled.record, pointers):
                demanded = pointers
            made_up |= {pointer: replace(filled.leaves[pointer], missing=True) for pointer in demanded}
    return replace(filled, leaves=dict(filled.leaves) | made_up) if made_up else filled


def _are_demanded(form: Form, record: str, pointers: Sequence[str]) -> bool:
    """Returns True if the schema refuses the record without the values at these pointers, all of one slot.

    One judgement for all rows of a list keeps long lists linear.
    """
    if form.judge is None or "" in pointers:
        return "" in pointers
    whole = parse(record)
    # Later items of a list go first, so that the others keep their places.
    for pointer in reversed(pointers):
        above, _, last = pointer.rpartition("/")
        part = whole
        for step in above.split("/")[1:]:
            part = part[int(step)] if isinstance(part, list) else part[unescape(step)]
        if isinstance(part, list):
            del part[int(last)]
        else:
            part.pop(unescape(last), None)
    return not form.judge.accepts(whole)
