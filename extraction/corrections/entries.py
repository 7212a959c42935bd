"""What an entry of the journal makes of a document: its corrections, and its record, judged again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cinnabar.extraction.corrections.changes import Correction, in_force, taken_back
from cinnabar.extraction.corrections.journal import WaitingCorrection
from cinnabar.extraction.corrections.renaming import renamed_corrections
from cinnabar.extraction.corrections.revising import judged_again, rules_of, with_corrections, without_units
from cinnabar.extraction.corrections.stored import CorrectedState
from cinnabar.extraction.corrections.units import LEFT_OUT
from cinnabar.extraction.store.records import DocumentInfo, Outcome, Record
from cinnabar.schemas.errors import NotAccepted


@dataclass(frozen=True, slots=True)
class Transition:
    """An entry that is judged and fits its columns, with the states of its document before and after it."""

    entry: WaitingCorrection
    before: CorrectedState
    after: CorrectedState


def after_entry(out: Path, state: CorrectedState, entry: WaitingCorrection) -> CorrectedState:
    """Returns a document's state after an entry: its corrections and its record, with what becomes of it.

    Raises NotAccepted if corrections are taken back, and the schema does not allow the record without them; RunError if
    the schema is lost.
    """
    known = renamed_corrections(out, entry.corrections, state.schema_name, state.schema_fingerprint)
    entry = replace(entry, corrections=known)
    now = _corrections_after(state, entry)
    base, record = state.outcome, state.record
    if base is None or record is None:
        return replace(state, corrections=now)
    rules = rules_of(out, state.schema_name, state.schema_fingerprint)
    gone = {one.undoes for one in entry.undone}
    units = [unit for one in state.in_force if one.identity in gone for unit in one.units]
    corrections: Sequence[Correction] = entry.corrections
    if state.other_kind and base.record is not None:
        # What was corrected or taken back in a document of another kind is not in its stored record.
        record, corrections = base.record, in_force(now)
    elif units:
        record = without_units(record, base.record, units, in_force(now), rules)
    revised = with_corrections(record, corrections, rules)
    outcome = judged_again(uncommitted_outcome(state, "written", revised.record), base, rules)
    return replace(
        state,
        corrections=now,
        base=base,
        record=outcome.record,
        status=outcome.status,
        code=outcome.code,
        detail=revised.detail(outcome.detail),
        pointers=outcome.pointers,
    )


def after_waiting_entry(out: Path, state: CorrectedState, entry: WaitingCorrection) -> CorrectedState:
    """Returns a document's state after an entry that waited while the document may have been read again."""
    try:
        return after_entry(out, state, entry)
    except NotAccepted as problem:
        # A run has written another record since the person asked: its values stay, and the record says so.
        assert state.record is not None
        return replace(
            state,
            corrections=_corrections_after(state, entry),
            record=replace(state.record, flags=tuple(sorted({*state.record.flags, LEFT_OUT}))),
            base=state.outcome,
            detail=f"could not be taken back: {problem}",
        )


def _corrections_after(state: CorrectedState, entry: WaitingCorrection) -> tuple[Correction, ...]:
    return taken_back((*state.corrections, *entry.corrections), entry.undone)


def uncommitted_outcome(
    state: CorrectedState, status: Literal["written", "quarantined"], record: Record
) -> Outcome:
    """Returns the outcome of a document with this record, before it is judged or written."""
    info = DocumentInfo(state.document, "", 0, 0, 0, 0)
    code, detail, pointers = (state.code, state.detail, state.pointers) if status == "quarantined" else ("", "", ())
    return Outcome(state.path, status, code, detail, state.document, info, record, pointers=pointers)
