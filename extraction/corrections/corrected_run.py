"""Brings the corrections in force into the records of a run, before they are committed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa

from cinnabar.extraction.corrections.changes import counting_units, in_force
from cinnabar.extraction.corrections.renaming import renamed_corrections, renamed_record, renames_between
from cinnabar.extraction.corrections.revising import Rules, judged_again, spelled_record, with_corrections
from cinnabar.extraction.corrections.stored import CorrectedState, CorrectionRows, ModelResult, states
from cinnabar.extraction.corrections.units import HUMAN, CorrectedPlace, RecordDraft, text_at
from cinnabar.extraction.corrections.waiting_commits import corrected_rows, other_kind_outcome
from cinnabar.extraction.store.records import Outcome, Record
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import Key
from cinnabar.schemas.automata.canonical import parse
from cinnabar.schemas.compiling.changes import Renames
from cinnabar.schemas.errors import NotAccepted
from cinnabar.schemas.pointers import lies_within


@dataclass(frozen=True, slots=True)
class CorrectedRun:
    """Brings corrections into the outcomes of a run under one schema, before they are committed.

    `keeps` is true of a run that fills stored records again: it has frozen their corrected values.
    """

    rules: Rules
    keeps: bool = False

    def revise(
        self, store: Store, outcomes: Sequence[Outcome], rows: CorrectionRows
    ) -> tuple[list[Outcome], dict[str, CorrectedState]]:
        """Returns the outcomes with the corrections in force, and the states before of these documents, by digest.

        The base of such a state is what the run made of the document.
        """
        name = self.rules.source.name
        wanted = {(one.digest, name) for one in outcomes if one.digest and in_force(rows.of((one.digest, name)))}
        stored = states(store.out, store.commits(), wanted, rows)[0] if wanted else {}
        # They have the names of the version that is stored; here those of this run's version count.
        here = self.rules.source.fingerprint
        before = {
            pair: replace(state, corrections=renamed_corrections(store.out, rows.of(pair), name, here))
            for pair, state in stored.items()
        }
        bases: dict[str, ModelResult] = {}
        corrected = [self._revise(one, before.get((one.digest, name)), bases) for one in outcomes]
        return corrected, {digest: replace(before[digest, name], base=base) for digest, base in bases.items()}

    def _revise(self, outcome: Outcome, state: CorrectedState | None, bases: dict[str, ModelResult]) -> Outcome:
        if state is None or outcome.status == "skipped":
            return outcome
        if state.other_kind:
            return other_kind_outcome(outcome.path, outcome.digest, outcome.schema)
        base = ModelResult.of(outcome)
        if base is None or outcome.record is None:
            return outcome
        if self.keeps and state.outcome is not None:
            kept = [unit for unit in counting_units(state.in_force) if _has(outcome.record, unit)]
            # What the person said is no work of the model.
            base = replace(base, record=self._made(outcome.record, state, kept))
        revised = with_corrections(outcome.record, state.in_force, self.rules)
        bases[outcome.digest] = base
        judged = judged_again(replace(outcome, record=revised.record), base, self.rules)
        return replace(judged, detail=revised.detail(judged.detail))

    def _made(self, record: Record, state: CorrectedState, kept: Sequence[CorrectedPlace]) -> Record:
        """Returns a record with what models had made of these places before."""
        assert state.outcome is not None
        draft, form = RecordDraft(record), self.rules.compiled.form
        renames = Renames()
        if self.rules.out is not None:
            own = self.rules.source
            renames = renames_between(self.rules.out, own.name, state.schema_fingerprint, own.fingerprint)
        before = RecordDraft(renamed_record(state.outcome.record, renames))
        for unit in kept:
            made = before.unit(unit.pointer)
            draft.put_unit(self.rules.carry(made, record, state.schema_fingerprint).unit, form)
        with suppress(NotAccepted):
            return draft.record(spelled_record(draft, record, self.rules))
        return record


def _has(record: Record, unit: CorrectedPlace) -> bool:
    """Returns True if a record has a value of a person at this place already."""
    leaves = [leaf for leaf in record.leaves if lies_within(leaf.pointer, unit.pointer)]
    if leaves:
        return any(leaf.origin == HUMAN for leaf in leaves)
    return text_at(parse(record.text), unit.pointer) == unit.text


def corrected_again(
    store: Store, later: Sequence[tuple[CorrectedState, Outcome]], key: Key
) -> dict[str, pa.Table]:
    """Returns the rows of records of a run that was begun before the last correction of their documents.

    They come once more, as a run that begins now: else the record before would stay the latest one.
    """
    group = [
        replace(
            state,
            path=one.path,
            schema_fingerprint=key.schema_fingerprint,
            engine_fingerprint=one.engine or key.engine_fingerprint,
            status=one.status,
            code=one.code,
            detail=one.detail,
            pointers=one.pointers,
            record=one.record,
        )
        for state, one in later
    ]
    return corrected_rows(store, key.schema_name, key.schema_fingerprint, group, store.new_run_id())
