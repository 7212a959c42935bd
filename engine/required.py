"""Choices that the document rather does not state: a model without one makes one up where the schema demands it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from cinnabar.engine.request import Filled, Leaf, Origin
from cinnabar.schemas.automata.canonical import json_text, parse
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import unescape

# A choice that is less probable than this is rather wrong than right. Where it may be left out it is, if absence has
# this probability: with less the document states a value, and the reader does not know which.
_LEAST_CHOICE, _ABSENCE = 0.5, 0.1
_CHOICES: tuple[Origin, ...] = ("chosen",)


def drop_unsupported_choices(form: Form, filled: Filled, origins: Collection[Origin] = _CHOICES) -> Filled:
    """Returns the record without choices that are rather wrong than right: null or left out, demanded ones missing.

    Only the model's word stands behind a chosen option; `origins` names further values of that kind. A choice is
    demanded if the schema refuses the record without it: as a required property, in the branch of a union, or as one
    of the least items. Other items of lists stay. A slot of one option has no choice.
    """
    doubtful: dict[int, list[str]] = {}
    for pointer, leaf in filled.leaves.items():
        if leaf.origin in origins and not leaf.missing and leaf.confidence < _LEAST_CHOICE:
            doubtful.setdefault(leaf.slot, []).append(pointer)
    leaves, record = dict(filled.leaves), filled.record
    for slot, pointers in doubtful.items():
        if len(form.slots[slot].options) == 1:
            continue
        nullable = form.slots[slot].nullable
        demanded = [] if nullable else [pointer for pointer in pointers if leaves[pointer].demanded]
        others = [pointer for pointer in pointers if pointer not in demanded]
        if not nullable and _without(form, record, others, False) is None:
            demanded, others = pointers, []
        leaves |= {pointer: replace(leaves[pointer], missing=True) for pointer in demanded}
        closed = len(form.slots[slot].options) > 1
        absent = [p for p in others if closed and p not in filled.rows and leaves[p].absence >= _ABSENCE]
        if absent and (text := _without(form, record, absent, nullable)) is not None:
            record = text
            leaves |= {pointer: _absent(leaves[pointer], nullable) for pointer in absent}
    return replace(filled, record=record, leaves=leaves)


def _absent(leaf: Leaf, nullable: bool) -> Leaf:
    text = "null" if nullable else None
    return replace(leaf, text=text, confidence=leaf.absence, spans=(), origin="absent")


def _without(form: Form, record: str, pointers: Sequence[str], nullable: bool) -> str | None:
    """Returns the record with null or nothing at these pointers, all of one slot; None if its schema refuses that.

    One judgement for all rows of a list keeps long lists linear.
    """
    if not pointers:
        return record
    if "" in pointers:
        return "null" if nullable else None
    whole = parse(record)
    # Later items of a list go first, so that the others keep their places.
    for pointer in reversed(pointers):
        above, _, last = pointer.rpartition("/")
        part = whole
        for step in above.split("/")[1:]:
            part = part[int(step)] if isinstance(part, list) else part[unescape(step)]
        if isinstance(part, list):
            del part[int(last)]
        elif nullable:
            part[unescape(last)] = None
        else:
            part.pop(unescape(last), None)
    return json_text(whole) if form.judge is None or form.judge.accepts(whole) else None
