"""Records without a value: how they are found, marked, and skipped or held back."""

from __future__ import annotations

from dataclasses import replace

from cinnabar.extraction.plan.run_options import OnEmpty
from cinnabar.extraction.store.records import EMPTY, EMPTY_RECORD, Outcome, Record
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_walk import RecordLeaf, walk_record

_DETAIL = "no value was found; `cinnabar quarantine release` writes this record, --on empty=write all such records"
# Values that the document does not state.
_UNSTATED = frozenset(("default", "fact"))
_NOTHING = frozenset((None, "null", '""'))


def is_empty(record: Record, form: Form) -> bool:
    """Returns whether no value of a record comes from its document's text or from a person.

    Constants, defaults and facts say nothing of the text. A record whose places a person all accepted is not empty.
    """
    constant = {
        one.pointer
        for one in walk_record(form, record.value)
        if isinstance(one, RecordLeaf) and len(one.slot.options) == 1 and not one.slot.nullable
    }
    asked = [leaf for leaf in record.leaves if leaf.pointer not in constant and leaf.origin not in _UNSTATED]
    if any(leaf.value not in _NOTHING for leaf in asked) or (not asked and constant and not record.lists):
        return False
    settled = [leaf.origin == "human" for leaf in asked] + [sure == 1.0 for sure in record.lists.values()]
    return not settled or not all(settled)


def mark_empty(record: Record, form: Form) -> Record:
    """Returns the record with the flag `empty` if it is, and without it if it is not."""
    flags = {*record.flags} - {EMPTY} | ({EMPTY} if is_empty(record, form) else set())
    return replace(record, flags=tuple(sorted(flags)))


def settle_empty_record(outcome: Outcome, on_empty: OnEmpty) -> Outcome:
    """Returns the outcome of a record that would be written, if it is empty as `on_empty` says."""
    if outcome.record is None or EMPTY not in outcome.record.flags or on_empty == "write":
        return outcome
    if on_empty == "skip":
        return Outcome(outcome.path, "skipped", EMPTY_RECORD, _DETAIL, outcome.digest, schema=outcome.schema)
    return replace(outcome, status="quarantined", code=EMPTY_RECORD, detail=_DETAIL)
