"""Commits corrections that wait, and brings the corrections in force into the records of a run.

Whoever holds the folder's lock does it: the person's own process if no run is going, else the run, with its batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import orjson
import pyarrow as pa

from cinnabar.extraction.corrections import journal
from cinnabar.extraction.corrections.changes import Correction, counting_units, in_force, taken_back
from cinnabar.extraction.corrections.journal import WaitingCorrection
from cinnabar.extraction.corrections.revising import (
    Rules,
    judged_again,
    rules_of,
    spelled_record,
    with_corrections,
    without_units,
)
from cinnabar.extraction.corrections.stored import (
    Base,
    CorrectedState,
    CorrectionRows,
    Pair,
    base_table,
    correction_rows,
    correction_table,
    row_of,
    states,
    undo_row,
)
from cinnabar.extraction.corrections.units import HUMAN, LEFT_OUT, RecordInWork, Unit, lies_within, text_at
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.files import failures
from cinnabar.extraction.store.names import identifier
from cinnabar.extraction.store.records import DocumentInfo, Outcome, Record
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import COMMAND, CORRECT, OTHER_KIND, Key, RecordColumns
from cinnabar.schemas.automata.canonical import parse
from cinnabar.schemas.columns.arrow import arrow_schema
from cinnabar.schemas.errors import NotAccepted, NotStored, RunError

_SAID = "a person said that it is not a document of this schema"


def corrections_after(state: CorrectedState, entry: WaitingCorrection) -> tuple[Correction, ...]:
    """Returns the corrections of a document after an entry, oldest first."""
    return taken_back((*state.corrections, *entry.corrections), entry.undone)


def after_entry(state: CorrectedState, entry: WaitingCorrection, rules: Rules) -> CorrectedState:
    """Returns a document's state after an entry: its corrections and its record, with what becomes of it.

    Raises NotAccepted if corrections are taken back, and the schema does not allow the record without them.
    """
    now = corrections_after(state, entry)
    base, record = state.outcome, state.record
    if base is None or record is None:
        return replace(state, corrections=now)
    gone = {one.undoes for one in entry.undone}
    units = [unit for one in state.in_force if one.identity in gone for unit in one.units]
    corrections: Sequence[Correction] = entry.corrections
    if state.other_kind and base.record is not None:
        # What was corrected or taken back in a document of another kind is not in its stored record.
        record, corrections = base.record, in_force(now)
    elif units:
        record = without_units(record, base.record, units, in_force(now), rules)
    revised = with_corrections(record, corrections, rules)
    outcome = judged_again(_outcome(state, "written", revised.record), base, rules)
    return replace(
        state,
        corrections=now,
        base=base,
        record=outcome.record,
        status=outcome.status,
        code=outcome.code,
        detail="; ".join(filter(None, (outcome.detail, _told(revised.left_out)))),
        pointers=outcome.pointers,
    )


def _outcome(state: CorrectedState, status: Literal["written", "quarantined"], record: Record) -> Outcome:
    info = DocumentInfo(state.document, "", 0, 0, 0, 0)
    code, detail, pointers = (state.code, state.detail, state.pointers) if status == "quarantined" else ("", "", ())
    return Outcome(state.path, status, code, detail, state.document, info, record, pointers=pointers)


def _told(left: Sequence[tuple[Correction, str]]) -> str:
    return "; ".join(f"correction {one.identity} at {one.pointer or '/'} left out: {why}" for one, why in left[:5])


#: A step that is judged and fits its columns already: the state before an entry, and the one after it.
Step = tuple[CorrectedState, CorrectedState]
NO_STEPS: Mapping[str, Step] = MappingProxyType({})


def open_folder(out: Path, known: Mapping[str, Step] = NO_STEPS) -> Store:
    """Opens an output folder for writing, and commits the corrections that wait there.

    `known` are steps by the identities of their entries. Raises what `Store.open` raises.
    """
    store = Store.open(out)
    try:
        if commit_waiting(store, known):
            store.publish()
    except BaseException:
        store.close()
        raise
    return store


def commit_waiting(store: Store, known: Mapping[str, Step] = NO_STEPS) -> int:
    """Commits the corrections that people made while the folder was locked; returns the number of documents.

    Raises RunError if the disk fails; then they wait on.
    """
    with store.mutex, failures(f"{store.out}: could not commit corrections"):
        return _commit_waiting(store, known)


def _commit_waiting(store: Store, known: Mapping[str, Step]) -> int:
    entries = journal.waiting(store.out)
    if not entries:
        return 0
    committed = store.committed()
    documents = {entry.document for entry in entries}
    rows = correction_rows(store.out, committed, documents)
    fresh = [entry for entry in entries if not entry.identities & rows.identities]
    before = states(store.out, committed, {(entry.document, entry.schema_name) for entry in fresh}, rows)
    own: dict[Pair, list[WaitingCorrection]] = defaultdict(list)
    found: dict[Pair, CorrectedState] = {}
    done = [entry for entry in entries if entry.identities & rows.identities]
    for entry in fresh:
        pair = entry.document, entry.schema_name
        state = found.get(pair, before[pair])
        try:
            before_it, after = known.get(entry.identity, (None, state))
            if before_it is not state:
                after = state_after(store.out, state, entry)
                check_stored(store.out, after, entry)
            if not _version_of(after):
                raise ValueError("there is no outcome of the document under this schema")
        except (RunError, OSError):  # its schema is lost, or the disk fails: it waits on
            continue
        except Exception as error:  # an older version wrote it, or it is damaged: it stops nobody
            journal.set_correction_aside(store.out, entry, state.path, error)
            continue
        own[pair].append(entry)
        found[pair] = after
        done.append(entry)
    groups: dict[tuple[str, str], list[CorrectedState]] = defaultdict(list)
    for pair, state in found.items():
        groups[pair[1], _version_of(state)].append(state)
    for (name, fingerprint), group in groups.items():
        _commit(store, name, fingerprint, group, own)
    journal.remove_waiting(store.out, done)
    return len(found)


def _version_of(state: CorrectedState) -> str:
    # Of a document without an outcome only the corrections are kept, under the schema that they were made under.
    return state.schema_fingerprint or next((one.schema_fingerprint for one in state.corrections), "")


def check_stored(out: Path, state: CorrectedState, entry: WaitingCorrection) -> None:
    """Asks the columns for a state after an entry. Raises NotStored, with the place, if one cannot hold a value."""
    _rows_of(entry, state, "")
    if state.base is not None:
        base_table([(state.document, state.schema_name, state.schema_fingerprint, "", state.base)])
    if state.record is not None and not state.other_kind:
        key = Key("", state.schema_name, state.schema_fingerprint, state.engine_fingerprint)
        outcome = outcome_of(state)
        tables.outcome_rows([outcome], key)
        if outcome.status == "written":
            record_schema = _columns_of(out, state.schema_name, state.schema_fingerprint)
            tables.record_row(outcome, key, record_schema, RecordColumns.of(record_schema))
            tables.field_rows(outcome, key)


def _columns_of(out: Path, name: str, fingerprint: str) -> pa.Schema:
    return arrow_schema(rules_of(out, name, fingerprint).compiled)


def state_after(out: Path, state: CorrectedState, entry: WaitingCorrection) -> CorrectedState:
    """Returns a document's state after an entry that waited while the document may have been read again."""
    if state.record is None:
        return replace(state, corrections=corrections_after(state, entry))
    try:
        return after_entry(state, entry, rules_of(out, state.schema_name, state.schema_fingerprint))
    except NotAccepted as problem:
        # A run has written another record since the person asked: its values stay, and the record says so.
        record = replace(state.record, flags=tuple(sorted({*state.record.flags, LEFT_OUT})))
        now = corrections_after(state, entry)
        return replace(
            state, corrections=now, record=record, base=state.outcome, detail=f"could not be taken back: {problem}"
        )


def _commit(
    store: Store,
    name: str,
    fingerprint: str,
    group: Sequence[CorrectedState],
    own: Mapping[Pair, Sequence[WaitingCorrection]],
) -> None:
    """Commits the corrections of documents under one schema, with their records, as one batch."""
    run_id = store.new_run_id()
    rows = [_rows_of(entry, state, run_id) for state in group for entry in own[state.document, name]]
    content = {"corrections": pa.concat_tables(rows).combine_chunks()}
    content |= corrected_rows(store, name, fingerprint, group, run_id)
    store.commit(name, fingerprint, content, revises=True)


def _rows_of(entry: WaitingCorrection, state: CorrectedState, run_id: str) -> pa.Table:
    """Returns the rows of an entry in `corrections`."""
    by_identity = {one.identity: one for one in state.corrections}
    rows = [row_of(one, run_id) for one in entry.corrections]
    rows += [undo_row(one, by_identity[one.undoes], run_id) for one in entry.undone if one.undoes in by_identity]
    return correction_table(rows)


def corrected_rows(
    store: Store, name: str, fingerprint: str, group: Sequence[CorrectedState], run_id: str
) -> dict[str, pa.Table]:
    """Returns the rows of corrected records, as those of a run without a model, by their folders."""
    now, folder = manifests.now(), f"{identifier(name)}/{fingerprint[:12]}"
    by_engine: dict[str, list[CorrectedState]] = defaultdict(list)
    for state in group:
        if state.record is not None or state.other_kind:
            by_engine[state.engine_fingerprint].append(state)
    found: dict[str, list[pa.Table]] = defaultdict(list)
    counts = {"written": 0, "quarantined": 0, "skipped": 0}
    for engine, some in by_engine.items():
        key = Key(run_id, name, fingerprint, engine)
        outcomes = [outcome_of(state) for state in some]
        if any(one.status == "written" for one in outcomes):
            record_schema = _columns_of(store.out, name, fingerprint)
            columns = RecordColumns.of(record_schema)
        for at, one in enumerate(outcomes):
            if one.status == "written":
                try:
                    record = tables.record_row(one, key, record_schema, columns)
                    leaves = tables.field_rows(one, key)
                except NotStored as error:  # a version of the schema with another column has come since
                    outcomes[at] = tables.unstorable(one, error)
                else:
                    found[f"data/{folder}"].append(pa.Table.from_batches([record]))
                    found[f"fields/{folder}"].append(leaves)
        for one in outcomes:
            counts[one.status] += 1
        found["outcomes"].append(tables.outcome_rows(outcomes, key))
        judged = [one for one in outcomes if one.status != "skipped"]
        if (checks := tables.check_rows(judged, key)).num_rows:
            found["checks"].append(checks)
    bases = [
        (state.document, name, fingerprint, run_id, state.base)
        for some in by_engine.values()
        for state in some
        if state.base is not None
    ]
    content = {folder: pa.concat_tables(parts).combine_chunks() for folder, parts in found.items()}
    if bases:
        content["uncorrected"] = base_table(bases)
    run = {
        "run_id": run_id,
        "started": now,
        "finished": now,
        "schema_name": name,
        "schema_fingerprint": fingerprint,
        "engine_fingerprint": next(iter(by_engine), ""),
        "arguments": orjson.dumps({COMMAND: CORRECT}).decode(),
        "inputs": sum(counts.values()),
        **counts,
    }
    return content | {"runs": pa.Table.from_pylist([run], tables.RUNS)}


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
            engine_fingerprint=key.engine_fingerprint,
            status=one.status,
            code=one.code,
            detail=one.detail,
            pointers=one.pointers,
            record=one.record,
        )
        for state, one in later
    ]
    return corrected_rows(store, key.schema_name, key.schema_fingerprint, group, store.new_run_id())


def renew_corrected(store: Store) -> int:
    """Brings corrections in force into records that lost them with a broken batch; returns the number of records."""
    if not store.files("corrections"):
        return 0
    with store.mutex:
        rows = correction_rows(store.out, store.committed())
        wanted = [pair for pair in rows.pairs if in_force(rows.of(pair))]
        groups: dict[tuple[str, str], list[CorrectedState]] = defaultdict(list)
        for state in states(store.out, store.committed(), wanted, rows).values():
            own = {state.base_run, *rows.runs[state.document, state.schema_name]}
            if state.record is not None and state.run_id not in own:
                rules = rules_of(store.out, state.schema_name, state.schema_fingerprint)
                corrections = WaitingCorrection("", state.document, state.schema_name, state.in_force)
                before = replace(state, corrections=())
                groups[state.schema_name, state.schema_fingerprint].append(after_entry(before, corrections, rules))
        for (name, fingerprint), group in groups.items():
            content = corrected_rows(store, name, fingerprint, group, store.new_run_id())
            store.commit(name, fingerprint, content, revises=True)
        return sum(map(len, groups.values()))


def outcome_of(state: CorrectedState) -> Outcome:
    """Returns the outcome of a corrected document."""
    if state.other_kind or state.record is None:
        return Outcome(state.path, "skipped", OTHER_KIND, _SAID, state.document)
    status: Literal["written", "quarantined"] = "written" if state.status == "written" else "quarantined"
    return replace(_outcome(state, status, state.record), detail=state.detail)


@dataclass(frozen=True, slots=True)
class CorrectedRun:
    """Brings corrections into the outcomes of a run under one schema, before they are committed.

    `keeps` is true of a run that fills stored records again: it has frozen their corrected values.
    """

    rules: Rules
    keeps: bool = False

    def revised(
        self, store: Store, outcomes: Sequence[Outcome], rows: CorrectionRows
    ) -> tuple[list[Outcome], dict[str, CorrectedState]]:
        """Returns the outcomes with the corrections in force, and the states before of these documents, by digest.

        The base of such a state is what the run made of the document.
        """
        name = self.rules.source.name
        wanted = {(one.digest, name) for one in outcomes if one.digest and in_force(rows.of((one.digest, name)))}
        before = states(store.out, store.committed(), wanted, rows) if wanted else {}
        bases: dict[str, Base] = {}
        found = [self._revised(one, before.get((one.digest, name)), bases) for one in outcomes]
        return found, {digest: replace(before[digest, name], base=base) for digest, base in bases.items()}

    def _revised(self, outcome: Outcome, state: CorrectedState | None, bases: dict[str, Base]) -> Outcome:
        if state is None or outcome.status == "skipped":
            return outcome
        if state.other_kind:
            return Outcome(outcome.path, "skipped", OTHER_KIND, _SAID, outcome.digest, schema=outcome.schema)
        base = Base.of(outcome)
        if base is None or outcome.record is None:
            return outcome
        if self.keeps and state.outcome is not None:
            kept = [unit for unit in counting_units(state.in_force) if _has(outcome.record, unit)]
            # What the person said is no work of the model.
            base = replace(base, record=self._made(outcome.record, state, kept))
        revised = with_corrections(outcome.record, state.in_force, self.rules)
        bases[outcome.digest] = base
        judged = judged_again(replace(outcome, record=revised.record), base, self.rules)
        return replace(judged, detail="; ".join(filter(None, (judged.detail, _told(revised.left_out)))))

    def _made(self, record: Record, state: CorrectedState, kept: Sequence[Unit]) -> Record:
        """Returns a record with what models had made of these places before."""
        assert state.outcome is not None
        draft, before, form = RecordInWork(record), RecordInWork(state.outcome.record), self.rules.compiled.form
        for unit in kept:
            made = before.unit(unit.pointer)
            draft.put_unit(self.rules.carried(made, record, state.schema_fingerprint).unit, form)
        with suppress(NotAccepted):
            return draft.record(spelled_record(draft, record, self.rules))
        return record


def _has(record: Record, unit: Unit) -> bool:
    """Returns True if a record has a value of a person at this place already."""
    leaves = [leaf for leaf in record.leaves if lies_within(leaf.pointer, unit.pointer)]
    if leaves:
        return any(leaf.origin == HUMAN for leaf in leaves)
    return text_at(parse(record.text), unit.pointer) == unit.text
