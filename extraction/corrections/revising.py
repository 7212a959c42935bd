"""Puts corrections into the record that a model made, and decides what becomes of it then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import pyarrow as pa

from cinnabar.errors import NotAccepted, Refused, RunError
from cinnabar.extraction.corrections.carrying import Carried, carry_over
from cinnabar.extraction.corrections.changes import Correction, counting_of, renamed_corrections, taken_back
from cinnabar.extraction.corrections.journal import WaitingCorrection
from cinnabar.extraction.corrections.state import Reviewed, is_settled, unsettled
from cinnabar.extraction.corrections.stored import entry_rows
from cinnabar.extraction.corrections.units import LEFT_OUT, CorrectedPlace, RecordDraft
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.extraction.filling.checks.judgement import CODE as CHECK_FAILED
from cinnabar.extraction.filling.checks.judgement import apply_checks
from cinnabar.extraction.filling.checks.validation import RecordViolation, Validator
from cinnabar.extraction.filling.evidence.emptiness import mark_empty
from cinnabar.extraction.plan.outcomes import OTHER_KIND
from cinnabar.extraction.plan.run_options import OnCheck
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.records import EMPTY, EMPTY_RECORD, LIST_INCOMPLETE, Outcome, Record
from cinnabar.extraction.store.stored_records import source_of
from cinnabar.extraction.store.tables import UNSTORABLE, Key, RecordColumns
from cinnabar.schemas import SchemaSource, compile_schema
from cinnabar.schemas.automata.strings import json_text
from cinnabar.schemas.columns.arrow import arrow_schema
from cinnabar.schemas.compiling.compile import CompiledSchema

#: The codes of documents whose record is in quarantine for its values.
_VALUE_CODES = frozenset(
    {"missing", "invalid", "low_confidence", "refused_fact", CHECK_FAILED, EMPTY_RECORD, LIST_INCOMPLETE, UNSTORABLE}
)


@dataclass(frozen=True)
class Rules:
    """A schema with all that judges its records."""

    source: SchemaSource
    compiled: CompiledSchema
    #: The folder, in which other versions of the schema are found.
    out: Path
    on_check: OnCheck = "flag"

    @cached_property
    def validator(self) -> Validator:
        """The judge of its records."""
        return Validator(self.source)

    @cached_property
    def checks(self) -> Checks:
        """The checks of its records."""
        return Checks(self.source, self.compiled)

    @property
    def columns(self) -> pa.Schema:
        """Returns the columns of its records."""
        return arrow_schema(self.compiled)

    def carry(self, unit: CorrectedPlace, record: Record, fingerprint: str) -> Carried:
        """Returns a place that was fixed under the version with this fingerprint as this one can hold it."""
        if fingerprint == self.source.fingerprint:
            return Carried(unit)
        older = None
        # Without the version that the person saw, what is left out of a record counts as not known.
        with suppress(RunError):
            older = rules_of(self.out, self.source.name, fingerprint).compiled.form
        return carry_over(unit, RecordDraft(record).unit(unit.pointer), self.compiled.form, older)


def rules_of(out: Path, name: str, fingerprint: str) -> Rules:
    """Returns the rules of a stored schema; the process keeps the last ones. Raises RunError if it is lost."""
    return _rules(out.absolute(), name, fingerprint)


@lru_cache(maxsize=32)
def _rules(out: Path, name: str, fingerprint: str) -> Rules:
    source = source_of(out, name, fingerprint)
    return Rules(source, compile_schema(source.schema), out)


def after_entry(out: Path, state: Reviewed, entry: WaitingCorrection, new: bool = False) -> Reviewed:
    """Returns a document's state after an entry: what a model made of it, with all corrections that are in force then.

    Raises NotStored, with the place, if a column cannot hold a value; Refused if the entry is `new` and the schema does
    not allow the record then; RunError if the schema is lost.
    """
    made = renamed_corrections(out, entry.corrections, state.schema_name, state.schema_fingerprint)
    after = replace(state, corrections=taken_back((*state.corrections, *made), entry.undone))
    known = after.in_force if LEFT_OUT not in (state.record.flags if state.record else ()) else made
    after = apply_corrections(out, after, {one.identity for one in known} if new else ())
    if not after.version:
        raise ValueError("there is no outcome of the document under this schema")
    check_stored(out, after, entry)
    return after


def after_waiting(
    out: Path,
    state: Reviewed,
    entries: Iterable[WaitingCorrection],
    refuse: Callable[[WaitingCorrection, Exception], object] | None = None,
) -> tuple[Reviewed, list[WaitingCorrection]]:
    """Returns a document's state after entries that waited, and those of them that count in it.

    An entry whose schema is lost waits on. One that can never count, as an older version wrote it or it is damaged,
    stops nobody: `refuse` is called with it.
    """
    counting = list[WaitingCorrection]()
    for entry in entries:
        try:
            state = after_entry(out, state, entry)
        except (RunError, OSError):
            continue
        except Exception as error:
            if refuse is not None:
                refuse(entry, error)
            continue
        counting.append(entry)
    return state, counting


def apply_corrections(out: Path, state: Reviewed, wanted: Collection[str] = ()) -> Reviewed:
    """Returns a document's state with the record that its base and its corrections in force make (`corrected`)."""
    base = state.uncorrected
    if base.record is None or state.record is None:
        return state
    rules = rules_of(out, state.schema_name, state.schema_fingerprint)
    outcome = corrected(state.outcome_with(base.record), state.in_force, base, rules, wanted)
    return replace(state, base=base).with_outcome(outcome)


def check_stored(out: Path, state: Reviewed, entry: WaitingCorrection) -> None:
    """Asks the columns for a state after an entry. Raises NotStored, with the place, if one cannot hold a value."""
    entry_rows(entry, state, "")
    key = Key("", state.schema_name, state.schema_fingerprint, state.engine_fingerprint)
    if state.record is not None and not state.other_kind:
        outcome = outcome_of(state)
        tables.outcome_rows([outcome], key)
        if outcome.status == "written":
            record_schema = rules_of(out, state.schema_name, state.schema_fingerprint).columns
            tables.record_row(outcome, key, record_schema, RecordColumns.of(record_schema))
            tables.field_rows(outcome, key)


def other_kind_outcome(path: str, document: str, schema: str = "") -> Outcome:
    """Returns the outcome of a document that a person, or its packet, took out of its schema."""
    detail = "a person said that it is not a document of this schema, or its packet has no such document"
    return Outcome(path, "skipped", OTHER_KIND, detail, document, schema=schema)


def outcome_of(state: Reviewed) -> Outcome:
    """Returns the outcome of a corrected document."""
    if state.other_kind:
        return replace(other_kind_outcome(state.path, state.document), engine=state.engine_fingerprint)
    return state.outcome_with(state.record)


def corrected(
    outcome: Outcome,
    corrections: Sequence[Correction],
    base: Reviewed,
    rules: Rules,
    wanted: Collection[str] = (),
) -> Outcome:
    """Returns the outcome that a model made with these corrections in its record, oldest first, and what becomes of it.

    Those that its schema cannot hold are left out, and the detail tells which and why. `base` tells the reasons for
    which a model's record was held back: a place counts until a person has settled it. Raises Refused if one of the
    corrections with the `wanted` identities would be left out.
    """
    assert outcome.record is not None
    record, left = _with_corrections(outcome.record, corrections, rules)
    if places := [(one.pointer, why) for one, why in left if one.identity in wanted]:
        raise Refused(outcome.path, places)
    if left:
        record = replace(record, flags=tuple(sorted({*record.flags, LEFT_OUT})))
    judged = _judged_again(replace(outcome, record=record), record, base, rules)
    reasons = [f"correction {one.identity} at {one.pointer or '/'} left out: {why}" for one, why in left[:5]]
    return replace(judged, detail="; ".join(filter(None, (judged.detail, *reasons))))


def _with_corrections(
    record: Record, corrections: Sequence[Correction], rules: Rules
) -> tuple[Record, list[tuple[Correction, str]]]:
    """Returns a record with these corrections, and those that its schema cannot hold, with the reasons.

    A record that breaks its schema, as in quarantine, may break it afterwards where it did before.
    """
    before = rules.validator.check(record.text)
    counting: list[tuple[Correction, CorrectedPlace]] = []
    left: dict[str, tuple[Correction, str]] = {}
    for one, unit in counting_of(corrections):
        fitting = rules.carry(unit, record, one.schema_fingerprint)
        counting.append((one, fitting.unit))
        if fitting.lost:
            left[one.identity] = one, f"the schema has no place for the value of {', '.join(fitting.lost[:5])}"
    try:
        revised = with_units(record, [unit for _, unit in counting], rules)
        if not _new(before, revised.text, rules):
            return revised, [*left.values()]
    except NotAccepted:
        pass
    for one, unit in counting:
        reason = ""
        for way in _ways(unit):
            try:
                revised = with_units(record, [way], rules)
            except NotAccepted as problem:
                reason = reason or str(problem)
                continue
            wrong = _new(before, revised.text, rules)
            if not wrong:
                record, before, reason = revised, rules.validator.check(revised.text), ""
                break
            reason = reason or f"{wrong[0].pointer or '/'}: {wrong[0].message}"
        if reason:
            left[one.identity] = one, reason
    return record, [*left.values()]


def _ways(unit: CorrectedPlace) -> list[CorrectedPlace]:
    """Returns a unit as it is and, if it says that there is no value, in the other spelling of that."""
    if unit.text not in (None, "null"):
        return [unit]
    other = None if unit.text == "null" else "null"
    return [unit, replace(unit, text=other, leaves=tuple(replace(leaf, value=other) for leaf in unit.leaves))]


def with_units(record: Record, units: Iterable[CorrectedPlace], rules: Rules) -> Record:
    """Returns a record with these places, and all that is known of their values. Raises as `spelled_record` does."""
    draft = RecordDraft(record)
    for unit in units:
        draft.put_unit(unit, rules.compiled.form)
    return draft.record(spelled_record(draft, record, rules))


def spelled_record(draft: RecordDraft, record: Record, rules: Rules) -> str:
    """Returns the canonical text of a changed record.

    Raises NotAccepted if the schema does not allow it, unless it did not allow the record before.
    """
    try:
        return rules.compiled.canonical(draft.value)
    except NotAccepted:
        if not rules.validator.check(record.text):
            raise
        return json_text(draft.value)


def _new(before: Sequence[RecordViolation], text: str, rules: Rules) -> list[RecordViolation]:
    """Returns the violations of this text that were not there before."""
    return [one for one in rules.validator.check(text) if one not in before]


def _judged_again(outcome: Outcome, record: Record, base: Reviewed, rules: Rules) -> Outcome:
    """Returns the outcome of a corrected record: written, or in quarantine while a reason for it is left."""
    held = base.outcome == "quarantined"
    if held and base.code not in _VALUE_CODES:
        return _held(outcome, base.code, base.detail, base.pointers, rules)
    violations = rules.validator.check(record.text)
    if violations:
        detail = "; ".join(f"{v.pointer or '/'}: {v.message}" for v in violations[:5])
        pointers = tuple(dict.fromkeys(v.pointer for v in violations))
        return _held(outcome, "invalid", detail, pointers, rules)
    record = mark_empty(record, rules.compiled.form)
    outcome = replace(outcome, record=record)
    if held and base.code == EMPTY_RECORD and EMPTY in record.flags:
        return _held(outcome, base.code, base.detail, base.pointers, rules)
    left = unsettled(record, base) if held else ()
    if left and base.code not in ("invalid", CHECK_FAILED):
        return _held(outcome, base.code, f"{base.detail}; left: {', '.join(left[:5])}", left, rules)
    outcome = replace(outcome, status="written", code="", detail="", pointers=())
    (judged,) = apply_checks([outcome], rules.checks, "quarantine" if base.code == CHECK_FAILED else rules.on_check)
    if judged.status == "quarantined" and all(is_settled(record, pointer) for pointer in judged.pointers):
        return apply_checks([outcome], rules.checks, "flag")[0]
    return judged


def _held(outcome: Outcome, code: str, detail: str, pointers: tuple[str, ...], rules: Rules) -> Outcome:
    held = replace(outcome, status="quarantined", code=code, detail=detail, pointers=pointers)
    return apply_checks([held], rules.checks, "flag")[0]
