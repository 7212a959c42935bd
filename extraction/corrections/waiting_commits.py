"""Commits corrections that wait.

Whoever holds the folder's lock does it: the person's own process if no run is going, else the run, with its batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from cinnabar.extraction.corrections import journal
from cinnabar.extraction.corrections.changes import in_force
from cinnabar.extraction.corrections.corrected_rows import check_stored, corrected_rows, entry_rows
from cinnabar.extraction.corrections.entries import Transition, after_entry, after_waiting_entry
from cinnabar.extraction.corrections.journal import WaitingCorrection
from cinnabar.extraction.corrections.stored import CorrectedState, Pair, correction_rows, states
from cinnabar.extraction.store.files import failures
from cinnabar.extraction.store.store import Store
from cinnabar.schemas.errors import RunError


def open_folder(out: Path, step: Transition | None = None) -> Store:
    """Opens an output folder for writing, and commits the corrections that wait there.

    `step` is that of a waiting entry which this process has judged. Raises what `Store.open` raises.
    """
    store = Store.open(out)
    try:
        if commit_waiting(store, step):
            store.publish()
    except BaseException:
        store.close()
        raise
    return store


def commit_waiting(store: Store, step: Transition | None = None) -> int:
    """Commits the corrections that people made while the folder was locked; returns the number of documents.

    Raises RunError if the disk fails; then they wait on.
    """
    with store.mutex, failures(f"{store.out}: could not commit corrections"):
        return _commit_waiting(store, step)


def _commit_waiting(store: Store, step: Transition | None) -> int:
    entries = journal.waiting_corrections(store.out, None if step is None else step.entry)
    if not entries:
        return 0
    pairs = {(entry.document, entry.schema_name) for entry in entries}
    stored, rows = states(store.out, store.commits(), pairs)
    own: dict[Pair, list[WaitingCorrection]] = defaultdict(list)
    corrected: dict[Pair, CorrectedState] = {}
    done = [entry for entry in entries if entry.identities & rows.identities]
    for entry in entries:
        if entry.identities & rows.identities:
            continue
        pair = entry.document, entry.schema_name
        state = corrected.get(pair, stored[pair])
        try:
            if step is not None and entry is step.entry and state is step.before:
                after = step.after
            else:
                after = after_waiting_entry(store.out, state, entry)
                check_stored(store.out, after, entry)
            if not _version_of(after):
                raise ValueError("there is no outcome of the document under this schema")
        except (RunError, OSError):  # its schema is lost, or the disk fails: it waits on
            continue
        except Exception as error:  # an older version wrote it, or it is damaged: it stops nobody
            journal.set_correction_aside(store.out, entry, state.path, error)
            continue
        own[pair].append(entry)
        corrected[pair] = after
        done.append(entry)
    groups: dict[tuple[str, str], list[CorrectedState]] = defaultdict(list)
    for pair, state in corrected.items():
        groups[pair[1], _version_of(state)].append(state)
    for (name, fingerprint), group in groups.items():
        _commit(store, name, fingerprint, group, own)
    journal.remove_waiting(store.out, done)
    return len(corrected)


def _version_of(state: CorrectedState) -> str:
    # Of a document without an outcome only the corrections are kept, under the schema that they were made under.
    return state.schema_fingerprint or next((one.schema_fingerprint for one in state.corrections), "")


def _commit(
    store: Store,
    name: str,
    fingerprint: str,
    group: Sequence[CorrectedState],
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
        groups: dict[tuple[str, str], list[CorrectedState]] = defaultdict(list)
        for state in states(store.out, store.commits(), wanted, rows)[0].values():
            own = {state.base_run, *rows.runs[state.document, state.schema_name]}
            if state.record is not None and state.run_id not in own:
                corrections = WaitingCorrection("", state.document, state.schema_name, state.in_force)
                after = after_entry(store.out, replace(state, corrections=()), corrections)
                groups[state.schema_name, state.schema_fingerprint].append(after)
        for (name, fingerprint), group in groups.items():
            content = corrected_rows(store, name, fingerprint, group, store.new_run_id())
            store.commit(name, fingerprint, content, revises=True)
        return sum(map(len, groups.values()))
