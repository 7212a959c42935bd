"""Judges and commits corrections that wait; whoever holds the folder's lock does it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pyarrow as pa

from cinnabar.errors import RunError
from cinnabar.extraction.corrections import journal
from cinnabar.extraction.corrections.changes import in_force, renamed_corrections, taken_back
from cinnabar.extraction.corrections.journal import WaitingCorrection
from cinnabar.extraction.corrections.revising import corrected, rules_of
from cinnabar.extraction.corrections.state import Reviewed
from cinnabar.extraction.corrections.stored import (
    Pair,
    base_table,
    correction_rows,
    row_of,
    states,
    undo_row,
)
from cinnabar.extraction.corrections.units import LEFT_OUT
from cinnabar.extraction.plan.outcomes import OTHER_KIND
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.files import failures
from cinnabar.extraction.store.records import STATUSES, Outcome
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import COMMAND, CORRECT, CORRECTIONS, Key, RecordColumns, table_of
from cinnabar.schemas.columns.arrow import arrow_schema


def commit_waiting(store: Store) -> int:
    """Commits and publishes the corrections that people made while the folder was locked.

    Returns the number of documents. Raises RunError if the disk fails; then they wait on.
    """
    with store.mutex, failures(f"{store.out}: could not commit corrections"):
        entries = journal.waiting_corrections(store.out)
        count = _commit_waiting(store, entries) if entries else 0
    if count:
        store.publish()
    return count


def _commit_waiting(store: Store, entries: Sequence[WaitingCorrection]) -> int:
    pairs = {(entry.document, entry.schema_name) for entry in entries}
    stored, rows = states(store.out, store.commits(), pairs)
    corrected = dict(stored)
    entries_of: dict[Pair, list[WaitingCorrection]] = defaultdict(list)
    done = [entry for entry in entries if entry.identities & rows.identities]
    for entry in entries:
        if entry.identities & rows.identities:
            continue
        pair = entry.document, entry.schema_name
        try:
            after = after_entry(store.out, corrected[pair], entry)
            if not _version_of(after):
                raise ValueError("there is no outcome of the document under this schema")
        except (RunError, OSError):  # its schema is lost, or the disk fails: it waits on
            continue
        except Exception as error:  # an older version wrote it, or it is damaged: it stops nobody
            journal.set_correction_aside(store.out, entry, corrected[pair].path, error)
            continue
        entries_of[pair].append(entry)
        corrected[pair] = after
        done.append(entry)
    groups: dict[tuple[str, str], list[Reviewed]] = defaultdict(list)
    for pair in entries_of:
        groups[pair[1], _version_of(corrected[pair])].append(corrected[pair])
    for (name, fingerprint), group in groups.items():
        _commit(store, name, fingerprint, group, entries_of)
    journal.remove_waiting(store.out, done)
    return len(entries_of)


def _version_of(state: Reviewed) -> str:
    # Of a document without an outcome only the corrections are kept, under the schema that they were made under.
    return state.schema_fingerprint or next((one.schema_fingerprint for one in state.corrections), "")


def _commit(
    store: Store,
    name: str,
    fingerprint: str,
    group: Sequence[Reviewed],
    own: Mapping[Pair, Sequence[WaitingCorrection]],
) -> None:
    """Commits the corrections of documents under one schema, with their records, as one batch."""
    run_id = store.new_run_id()
    rows = [entry_rows(entry, state, run_id) for state in group for entry in own[state.document, name]]
    content = {"corrections": pa.concat_tables(rows).combine_chunks()}
    content |= corrected_rows(store, name, fingerprint, group, run_id)
    store.commit(name, fingerprint, content, revises=True)


def renew_corrected(store: Store) -> int:
    """Brings corrections in force into records that lost them with a broken batch; returns the number of records."""
    if not store.files("corrections"):
        return 0
    with store.mutex:
        rows = correction_rows(store.out, store.commits())
        wanted = [pair for pair in rows.pairs if in_force(rows.of(pair))]
        groups: dict[tuple[str, str], list[Reviewed]] = defaultdict(list)
        for state in states(store.out, store.commits(), wanted, rows)[0].values():
            own = {"" if state.base is None else state.base.run_id, *rows.runs[state.document, state.schema_name]}
            if state.record is not None and state.run_id not in own:
                groups[state.schema_name, state.schema_fingerprint].append(revised(store.out, state))
        for (name, fingerprint), group in groups.items():
            content = corrected_rows(store, name, fingerprint, group, store.new_run_id())
            store.commit(name, fingerprint, content, revises=True)
        return sum(map(len, groups.values()))


def check_stored(out: Path, state: Reviewed, entry: WaitingCorrection) -> None:
    """Asks the columns for a state after an entry. Raises NotStored, with the place, if one cannot hold a value."""
    entry_rows(entry, state, "")
    key = Key("", state.schema_name, state.schema_fingerprint, state.engine_fingerprint)
    base_table([state], key)
    if state.record is not None and not state.other_kind:
        outcome = outcome_of(state)
        tables.outcome_rows([outcome], key)
        if outcome.status == "written":
            record_schema = _columns_of(out, state.schema_name, state.schema_fingerprint)
            tables.record_row(outcome, key, record_schema, RecordColumns.of(record_schema))
            tables.field_rows(outcome, key)


def _columns_of(out: Path, name: str, fingerprint: str) -> pa.Schema:
    return arrow_schema(rules_of(out, name, fingerprint).compiled)


def other_kind_outcome(path: str, document: str, schema: str = "") -> Outcome:
    """Returns the outcome of a document that a person, or its packet, took out of its schema."""
    detail = "a person said that it is not a document of this schema, or its packet has no such document"
    return Outcome(path, "skipped", OTHER_KIND, detail, document, schema=schema)


def outcome_of(state: Reviewed) -> Outcome:
    """Returns the outcome of a corrected document."""
    if state.other_kind or state.record is None:
        return replace(other_kind_outcome(state.path, state.document), engine=state.engine_fingerprint)
    return state.outcome_with(state.record)


def entry_rows(entry: WaitingCorrection, state: Reviewed, run_id: str) -> pa.Table:
    """Returns the rows of an entry in `corrections`."""
    by_identity = {one.identity: one for one in state.corrections}
    rows = [row_of(one, run_id) for one in entry.corrections]
    rows += [undo_row(one, by_identity[one.undoes], run_id) for one in entry.undone if one.undoes in by_identity]
    return table_of(rows, CORRECTIONS)


def corrected_rows(
    store: Store, name: str, fingerprint: str, group: Sequence[Reviewed], run_id: str
) -> dict[str, pa.Table]:
    """Returns the rows of corrected records, as those of a run without a model, by their folders."""
    now, group = manifests.now(), [state for state in group if state.record is not None or state.other_kind]
    engine = group[0].engine_fingerprint if group else ""
    outcomes = [outcome_of(state) for state in group]
    columns = _columns_of(store.out, name, fingerprint) if any(one.status == "written" for one in outcomes) else None
    key = Key(run_id, name, fingerprint, engine)
    # A version of the schema with another column may have come since they were judged.
    stored, content = tables.batch_rows(outcomes, key, columns)
    counts: dict[str, int] = {status: sum(one.status == status for one in stored) for status in STATUSES}
    if (bases := base_table(group, key)).num_rows:
        content["uncorrected"] = bases
    run = {
        "run_id": run_id,
        "started": now,
        "finished": now,
        "schema_name": name,
        "schema_fingerprint": fingerprint,
        "engine_fingerprint": engine,
        "arguments": orjson.dumps({COMMAND: CORRECT}).decode(),
        "inputs": sum(counts.values()),
        **counts,
    }
    return content | {"runs": pa.Table.from_pylist([run], tables.RUNS)}


def after_entry(out: Path, state: Reviewed, entry: WaitingCorrection, new: bool = False) -> Reviewed:
    """Returns a document's state after an entry: what a model made of it, with all corrections that are in force then.

    Raises NotStored, with the place, if a column cannot hold a value; Refused if the entry is `new` and the schema does
    not allow the record then; RunError if the schema is lost.
    """
    made = renamed_corrections(out, entry.corrections, state.schema_name, state.schema_fingerprint)
    after = replace(state, corrections=taken_back((*state.corrections, *made), entry.undone))
    known = after.in_force if LEFT_OUT not in (state.record.flags if state.record else ()) else made
    after = revised(out, after, {one.identity for one in known} if new else ())
    check_stored(out, after, entry)
    return after


def revised(out: Path, state: Reviewed, wanted: Collection[str] = ()) -> Reviewed:
    """Returns a document's state with the record that its base and its corrections in force make (`corrected`)."""
    base = state.uncorrected
    if base.record is None or state.record is None:
        return state
    rules = rules_of(out, state.schema_name, state.schema_fingerprint)
    outcome = corrected(state.outcome_with(base.record), state.in_force, base, rules, wanted)
    return replace(state, base=base).with_outcome(outcome)
