"""Decides what becomes of a record: the reasons to hold one back stand in one list, and the first that holds counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.evidence.emptiness import settle_empty_record
from cinnabar.extraction.filling.evidence.list_notes import settle_incomplete_list
from cinnabar.extraction.filling.overlay.facts import REFUSED
from cinnabar.extraction.plan.run_options import OnEmpty, OnListIncomplete, OnMissing
from cinnabar.extraction.store.records import DocumentInfo, Outcome, Record


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a run demands of a record to write it, as in `Job`."""

    validator: Validator
    on_missing: OnMissing
    on_empty: OnEmpty
    on_list_incomplete: OnListIncomplete
    min_confidence: float


@dataclass(frozen=True, slots=True)
class JudgedRecord:
    """A record that is to be written, with the path of its input, its document and what its run demands.

    `stored` holds the pointers of leaves that an earlier run wrote, guesses among them; they do not count as missing,
    and their record, which was written before, stays even if it is empty. `refusals` are those of demanded facts.
    """

    path: str
    document: Document
    record: Record
    bounds: Bounds
    stored: Collection[str]
    refusals: Mapping[str, str]

    @property
    def written(self) -> Outcome:
        """Returns its outcome if no reason holds."""
        document, info = self.document, DocumentInfo.of(self.document)
        return Outcome(self.path, "written", digest=document.digest, document=info, record=self.record)

    def held(self, code: str, detail: str, pointers: tuple[str, ...]) -> Outcome:
        """Returns its outcome for a reason."""
        return to_quarantine(self.path, self.document, code, detail, self.record, pointers)


def hold_refused_facts(one: JudgedRecord) -> Outcome | None:
    """Holds a record back that lacks a demanded fact which its schema refuses."""
    detail = "; ".join(f"{at}: {reason}" for at, reason in [*one.refusals.items()][:5])
    return one.held(REFUSED, detail, tuple(one.refusals)) if one.refusals else None


def hold_missing_values(one: JudgedRecord) -> Outcome | None:
    """Holds a record back that lacks a demanded value."""
    missing = tuple(leaf.pointer for leaf in one.record.leaves if leaf.missing and leaf.pointer not in one.stored)
    if not missing or one.bounds.on_missing != "quarantine":
        return None
    detail = f"no value found for {', '.join(missing[:5])}{' …' if len(missing) > 5 else ''}"
    return one.held("missing", detail, missing)


def hold_invalid(one: JudgedRecord) -> Outcome | None:
    """Holds a record back that breaks its schema."""
    violations = one.bounds.validator.check(one.record.text)
    detail = "; ".join(f"{v.pointer or '/'}: {v.message}" for v in violations[:5])
    return one.held("invalid", detail, tuple(dict.fromkeys(v.pointer for v in violations))) if violations else None


def drop_empty(one: JudgedRecord) -> Outcome | None:
    """Skips a record without a value, or holds it back, as its run says."""
    return _unless_written(settle_empty_record(one.written, "write" if one.stored else one.bounds.on_empty))


def hold_incomplete_lists(one: JudgedRecord) -> Outcome | None:
    """Holds a record back with a list of another length than its document tells, if its run says so."""
    return None if one.stored else _unless_written(settle_incomplete_list(one.written, one.bounds.on_list_incomplete))


def hold_unsure(one: JudgedRecord) -> Outcome | None:
    """Holds a record back with a leaf, row or list that is not sure enough."""
    unsure = one.record.below(one.bounds.min_confidence)
    if not unsure:
        return None
    detail = ", ".join(f"{at or '/'} {sure:.2f}" for at, sure in unsure[:5])
    more = f" and {len(unsure) - 5} more" if len(unsure) > 5 else ""
    detail = f"confidence below {one.bounds.min_confidence:g}: {detail}{more}"
    return one.held("low_confidence", detail, tuple(at for at, _ in unsure))


#: The reasons in the order in which they count.
REASONS: tuple[Callable[[JudgedRecord], Outcome | None], ...] = (
    hold_refused_facts,
    hold_missing_values,
    hold_invalid,
    drop_empty,
    hold_incomplete_lists,
    hold_unsure,
)


def outcome_of(one: JudgedRecord) -> Outcome:
    """Returns the outcome of a record: written, or what the first reason that holds makes of it."""
    return next(filter(None, (reason(one) for reason in REASONS)), None) or one.written


def _unless_written(outcome: Outcome) -> Outcome | None:
    return None if outcome.status == "written" else outcome


def to_quarantine(
    path: str,
    document: Document,
    code: str,
    detail: str,
    record: Record | None = None,
    pointers: tuple[str, ...] = (),
) -> Outcome:
    """Returns the outcome of a document that is held back."""
    info = DocumentInfo.of(document)
    return Outcome(path, "quarantined", code, detail, document.digest, info, record, pointers=pointers)


def error_text(error: Exception) -> str:
    """Returns an internal error as the detail of its document."""
    return f"{type(error).__name__}: {error}"[:2000]
