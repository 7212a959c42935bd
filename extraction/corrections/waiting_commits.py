"""Judges and commits corrections that wait; whoever holds the folder's lock does it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa

from cinnabar.extraction.corrections import journal
from cinnabar.extraction.corrections.changes import in_force
from cinnabar.extraction.corrections.journal import WaitingCorrection
from cinnabar.extraction.corrections.revising import after_waiting, apply_corrections, outcome_of, rules_of
from cinnabar.extraction.corrections.state import Reviewed
from cinnabar.extraction.corrections.stored import Pair, correction_rows, entry_rows, states, told_apart
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.files import failures
from cinnabar.extraction.store.model_runs import OF_CORRECTIONS
from cinnabar.extraction.store.records import STATUSES
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import Key


class Judged(NamedTuple):
    """A document's state after entries that wait, over these commits."""

    over: tuple[Any, ...]
    entries: tuple[str, ...]
    state: Reviewed


def commit_waiting(store: Store, judged: Mapping[Pair, Judged] | None = None) -> int:
    """Commits and publishes the corrections that people made while the folder was locked.

    What is `judged` already over the same commits is not judged again. Returns the number of documents. Raises RunError
    if the disk fails; then they wait on.
    """
    with store.mutex, failures(f"{store.out}: could not commit corrections"):
        entries = journal.waiting_corrections(store.out)
        count = _commit_waiting(store, entries, judged or {}) if entries else 0
    if count:
        store.publish()
    return count


def _commit_waiting(store: Store, entries: Sequence[WaitingCorrection], judged: Mapping[Pair, Judged]) -> int:
    stored, rows = states(store.out, store.commits(), {entry.pair for entry in entries})
    done = [entry for entry in entries if entry.identities & rows.identities]
    waiting: dict[Pair, list[WaitingCorrection]] = defaultdict(list)
    for entry in entries:
        if not entry.identities & rows.identities:
            waiting[entry.pair].append(entry)

    def set_aside(entry: WaitingCorrection, why: Exception) -> None:
        journal.set_correction_aside(store.out, entry, stored[entry.pair].path, why)

    over, after = told_apart(store.out, store.commits()), dict[Pair, tuple[Reviewed, list[WaitingCorrection]]]()
    for pair, own in waiting.items():
        known = judged.get(pair)
        if known is not None and known[:2] == (over, tuple(entry.identity for entry in own)):
            after[pair] = known.state, own
        else:
            after[pair] = after_waiting(store.out, stored[pair], own, set_aside)
    counting = {pair: own for pair, (_, own) in after.items() if own}
    _commit(store, [after[pair][0] for pair in counting], counting)
    journal.remove_waiting(store.out, [*done, *chain.from_iterable(counting.values())])
    return len(counting)


def _commit(
    store: Store, corrected: Iterable[Reviewed], own: Mapping[Pair, Sequence[WaitingCorrection]]
) -> None:
    """Commits these records, and the entries that they are from; those under one schema as one batch."""
    groups: dict[tuple[str, str], list[Reviewed]] = defaultdict(list)
    for state in corrected:
        groups[state.schema_name, state.version].append(state)
    for (name, fingerprint), group in groups.items():
        run_id = store.new_run_id()
        rows = [entry_rows(entry, state, run_id) for state in group for entry in own.get((state.document, name), ())]
        made = {"corrections": pa.concat_tables(rows).combine_chunks()} if rows else {}
        there = [state for state in group if state.outcome]
        written = any(state.outcome == "written" and not state.other_kind for state in there)
        columns = rules_of(store.out, name, fingerprint).columns if written else None
        key = Key(run_id, name, fingerprint, there[0].engine_fingerprint if there else "")
        content = made | corrected_rows(there, key, columns)
        store.commit(name, fingerprint, content, revises=True)


def renew_corrected(store: Store) -> int:
    """Brings corrections in force into records that lost them with a broken batch; returns the number of records."""
    if not store.files("corrections"):
        return 0
    with store.mutex:
        rows = correction_rows(store.out, store.commits())
        wanted = [pair for pair in rows.pairs if in_force(rows.of(pair))]
        lost = list[Reviewed]()
        for state in states(store.out, store.commits(), wanted, rows)[0].values():
            last = max(rows.runs[state.document, state.schema_name])
            if state.record is not None and (state.base is None or state.run_id < last):
                lost.append(apply_corrections(store.out, state))
        _commit(store, lost, {})
        return len(lost)


def corrected_rows(group: Sequence[Reviewed], key: Key, columns: pa.Schema | None) -> dict[str, pa.Table]:
    """Returns the rows of corrected records under one key, as those of a run without a model, by their folders.

    `columns` are those of the records, None if no record is written.
    """
    now, outcomes = manifests.now(), [outcome_of(state) for state in group]
    # A version of the schema with another column may have come since they were judged.
    stored, content = tables.batch_rows(outcomes, key, columns)
    counts: dict[str, int] = {status: sum(one.status == status for one in stored) for status in STATUSES}
    run = {
        "run_id": key.run_id,
        "started": now,
        "finished": now,
        "schema_name": key.schema_name,
        "schema_fingerprint": key.schema_fingerprint,
        "engine_fingerprint": key.engine_fingerprint,
        "arguments": OF_CORRECTIONS,
        "inputs": sum(counts.values()),
        **counts,
    }
    return content | {"runs": pa.Table.from_pylist([run], tables.RUNS)}
