"""Brings the corrections in force into the records that a run writes, in the same commit.

The record of a model is stored as that of the run, the record with the corrections as that of a run of corrections
which begins after it: so the views show the corrected one, and what the model made is at hand when somebody takes a
correction back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from cinnabar.errors import NotAccepted
from cinnabar.extraction.corrections.changes import (
    EXCLUDING,
    Correction,
    counting_units,
    in_force,
    renamed_corrections,
    renamed_record,
    renames_between,
)
from cinnabar.extraction.corrections.revising import Rules, corrected, other_kind_outcome, with_units
from cinnabar.extraction.corrections.state import Reviewed
from cinnabar.extraction.corrections.stored import CorrectionRows, correction_rows, states
from cinnabar.extraction.corrections.units import HUMAN, CorrectedPlace, RecordDraft, text_at
from cinnabar.extraction.corrections.waiting_commits import commit_waiting
from cinnabar.extraction.store.records import Outcome, Record
from cinnabar.extraction.store.store import Store
from cinnabar.schemas.pointers import lies_within


class Revision:
    """The corrections in force of the documents of a run under one schema.

    `keeps` is true of a run that fills stored records again: it has frozen their corrected values.
    """

    def __init__(self, store: Store, rules: Rules, keeps: bool) -> None:
        self._store, self._rules, self._keeps = store, rules, keeps
        self._read: tuple[list[Path], CorrectionRows] = [], CorrectionRows()

    def _rows(self) -> CorrectionRows:
        """Returns all corrections that the folder stores, read again when others were committed."""
        files = self._store.files("corrections")
        if files != self._read[0]:
            self._read = files, correction_rows(self._store.out, self._store.commits())
        return self._read[1]

    def is_refused(self, digest: str) -> bool:
        """Returns True if a person, or its packet, took this document out of the schema."""
        with self._store.mutex:
            rows = self._rows()
        return any(one.action in EXCLUDING for one in in_force(rows.of((digest, self._rules.source.name))))

    def states_before(self, outcomes: Sequence[Outcome], run_id: str) -> dict[str, Reviewed]:
        """Returns the states of the corrected documents among these, by digest, with the names of this run's version.

        Corrections that were made, or taken back, since this run began count, too: they are committed first. The caller
        holds the store until the commit.
        """
        commit_waiting(self._store)
        rows, name, out = self._rows(), self._rules.source.name, self._store.out
        digests = (one.digest for one in outcomes if one.digest and one.status != "skipped")
        wanted = {(digest, name) for digest in digests if rows.of((digest, name))}
        stored = states(out, self._store.commits(), wanted, rows)[0] if wanted else {}
        here = self._rules.source.fingerprint
        return {
            pair[0]: replace(state, corrections=renamed_corrections(out, rows.of(pair), name, here))
            for pair, state in stored.items()
            if in_force(rows.of(pair)) or state.run_id > run_id
        }

    def made_by_model(self, outcome: Outcome, before: Mapping[str, Reviewed]) -> Outcome:
        """Returns an outcome without what a person said: where a backfill kept that, with what models had made of it.
        """
        state = before.get(outcome.digest)
        return outcome if state is None else self._without(outcome, state, state.corrections)

    def _without(self, outcome: Outcome, state: Reviewed, corrections: Sequence[Correction]) -> Outcome:
        """Returns an outcome with what models had made of the places that these corrections fixed."""
        if not self._keeps or outcome.record is None or state.uncorrected.record is None:
            return outcome
        own, older = self._rules.source, state.schema_fingerprint
        renames = renames_between(self._store.out, own.name, older, own.fingerprint)
        draft = RecordDraft(renamed_record(state.uncorrected.record, renames))
        kept = [unit for unit in counting_units(corrections) if _has(outcome.record, unit)]
        places = [self._rules.carry(draft.unit(unit.pointer), outcome.record, older).unit for unit in kept]
        with suppress(NotAccepted):
            return replace(outcome, record=with_units(outcome.record, places, self._rules))
        return outcome

    def revise(
        self, accepted: Sequence[Outcome], filled: Sequence[Outcome], before: Mapping[str, Reviewed]
    ) -> list[Reviewed]:
        """Returns the states of the corrected documents of a run once their corrections are in their records.

        `accepted` are the outcomes of models as they are stored, `filled` the same ones with what a backfill kept.
        """
        kept = {one.path: one for one in filled}
        return [
            self._revise(one, kept[one.path], before[one.digest])
            for one in accepted
            if one.status != "skipped" and one.digest in before
            if one.record is not None or before[one.digest].other_kind
        ]

    def _revise(self, outcome: Outcome, filled: Outcome, state: Reviewed) -> Reviewed:
        own = replace(state, schema_fingerprint=self._rules.source.fingerprint)
        base = own.with_outcome(outcome)
        if state.other_kind:
            made = other_kind_outcome(outcome.path, outcome.digest, outcome.schema)
        else:
            # What a backfill kept and a person took back meanwhile is the model's again.
            gone = [one for one in state.corrections if one.undone is not None]
            record = self._without(filled, state, gone).record or outcome.record
            made = corrected(replace(outcome, record=record), state.in_force, base, self._rules)
        return replace(own, base=base).with_outcome(made)


def _has(record: Record, unit: CorrectedPlace) -> bool:
    """Returns True if a record has a value of a person at this place already."""
    leaves = [leaf for leaf in record.leaves if lies_within(leaf.pointer, unit.pointer)]
    if leaves:
        return any(leaf.origin == HUMAN for leaf in leaves)
    return text_at(record.value, unit.pointer) == unit.text
