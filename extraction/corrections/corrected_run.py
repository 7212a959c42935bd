"""The stage `revise` of a run: brings the corrections in force into its outcomes, before they are committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from cinnabar.errors import NotAccepted
from cinnabar.extraction.corrections.changes import (
    EXCLUDING,
    counting_units,
    in_force,
    renamed_corrections,
    renamed_record,
    renames_between,
)
from cinnabar.extraction.corrections.revising import Rules, corrected, other_kind_outcome, with_units
from cinnabar.extraction.corrections.state import Reviewed
from cinnabar.extraction.corrections.stored import CorrectionRows, base_table, correction_rows, states
from cinnabar.extraction.corrections.units import HUMAN, CorrectedPlace, RecordDraft, text_at
from cinnabar.extraction.corrections.waiting_commits import commit_waiting, corrected_rows
from cinnabar.extraction.store.records import Outcome, Record
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import Key
from cinnabar.schemas.pointers import lies_within


class Revision:
    """Brings corrections into the outcomes of a run under one schema, before they are committed.

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

    def revise(self, outcomes: Sequence[Outcome]) -> tuple[Sequence[Outcome], Mapping[str, Reviewed]]:
        """Returns the outcomes with the corrections in force; the caller holds the store until their commit.

        One that was made while they were filled counts, too: it is committed first.
        The states are those before of the corrected documents, by digest; their base is what the run made of them.
        """
        commit_waiting(self._store)
        rows, name, here = self._rows(), self._rules.source.name, self._rules.source.fingerprint
        if not rows.identities:
            return outcomes, {}
        wanted = {(one.digest, name) for one in outcomes if one.digest and in_force(rows.of((one.digest, name)))}
        out = self._store.out
        stored = states(out, self._store.commits(), wanted, rows)[0] if wanted else {}
        # They have the names of the version that is stored; here those of this run's version count.
        before = {
            pair: replace(state, corrections=renamed_corrections(out, rows.of(pair), name, here))
            for pair, state in stored.items()
        }
        bases: dict[str, Reviewed] = {}
        revised = [self._revise(one, before.get((one.digest, name)), bases) for one in outcomes]
        made = {
            digest: replace(before[digest, name], schema_fingerprint=here, base=base) for digest, base in bases.items()
        }
        return revised, made

    def tables_of(
        self, before: Mapping[str, Reviewed], accepted: Sequence[Outcome], key: Key
    ) -> Iterable[Mapping[str, pa.Table]]:
        """Yields the tables that the commit of these outcomes takes in addition, by their folders."""
        own = [
            before[one.digest].with_outcome(one)
            for one in accepted
            if one.status != "skipped" and one.digest in before
        ]
        if own:
            yield {"uncorrected": base_table(own, key)}
        # Of a run that was begun before the last correction of a document the record comes once more, as that of a run
        # that begins now: else the record before would stay the latest one.
        if later := [state for state in own if state.run_id > key.run_id]:
            run_id = self._store.new_run_id()
            yield corrected_rows(self._store, key.schema_name, key.schema_fingerprint, later, run_id)

    def _revise(self, outcome: Outcome, state: Reviewed | None, bases: dict[str, Reviewed]) -> Outcome:
        if state is None or outcome.status == "skipped":
            return outcome
        if state.other_kind:
            return other_kind_outcome(outcome.path, outcome.digest, outcome.schema)
        if outcome.record is None:
            return outcome
        base = state.with_outcome(outcome)
        if self._keeps and state.uncorrected.record is not None:
            kept = [unit for unit in counting_units(state.in_force) if _has(outcome.record, unit)]
            # What the person said is no work of the model.
            base = replace(base, record=self._made(outcome.record, state.uncorrected.record, state, kept))
        bases[outcome.digest] = base
        return corrected(outcome, state.in_force, base, self._rules)

    def _made(self, record: Record, made: Record, state: Reviewed, kept: Sequence[CorrectedPlace]) -> Record:
        """Returns a record with what models had made of these places before."""
        own, older = self._rules.source, state.schema_fingerprint
        before = RecordDraft(renamed_record(made, renames_between(self._store.out, own.name, older, own.fingerprint)))
        places = [self._rules.carry(before.unit(unit.pointer), record, older).unit for unit in kept]
        with suppress(NotAccepted):
            return with_units(record, places, self._rules)
        return record


def _has(record: Record, unit: CorrectedPlace) -> bool:
    """Returns True if a record has a value of a person at this place already."""
    leaves = [leaf for leaf in record.leaves if lies_within(leaf.pointer, unit.pointer)]
    if leaves:
        return any(leaf.origin == HUMAN for leaf in leaves)
    return text_at(record.value, unit.pointer) == unit.text
