"""Makes the rows of corrections and of corrected records, and asks the columns whether they can hold them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import orjson
import pyarrow as pa

from cinnabar.extraction.corrections.entries import uncommitted_outcome
from cinnabar.extraction.corrections.journal import WaitingCorrection
from cinnabar.extraction.corrections.revising import rules_of
from cinnabar.extraction.corrections.stored import CorrectedState, base_table, correction_table, row_of, undo_row
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.names import identifier
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import COMMAND, CORRECT, OTHER_KIND, Key, RecordColumns
from cinnabar.schemas.columns.arrow import arrow_schema
from cinnabar.schemas.errors import NotStored


def check_stored(out: Path, state: CorrectedState, entry: WaitingCorrection) -> None:
    """Asks the columns for a state after an entry. Raises NotStored, with the place, if one cannot hold a value."""
    entry_rows(entry, state, "")
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


def other_kind_outcome(path: str, document: str, schema: str = "") -> Outcome:
    """Returns the outcome of a document that a person, or its packet, took out of its schema."""
    detail = "a person said that it is not a document of this schema, or its packet has no such document"
    return Outcome(path, "skipped", OTHER_KIND, detail, document, schema=schema)


def outcome_of(state: CorrectedState) -> Outcome:
    """Returns the outcome of a corrected document."""
    if state.other_kind or state.record is None:
        return other_kind_outcome(state.path, state.document)
    status: Literal["written", "quarantined"] = "written" if state.status == "written" else "quarantined"
    return replace(uncommitted_outcome(state, status, state.record), detail=state.detail)


def entry_rows(entry: WaitingCorrection, state: CorrectedState, run_id: str) -> pa.Table:
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
    parts_of: dict[str, list[pa.Table]] = defaultdict(list)
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
                    parts_of[f"data/{folder}"].append(pa.Table.from_batches([record]))
                    parts_of[f"fields/{folder}"].append(leaves)
        for one in outcomes:
            counts[one.status] += 1
        parts_of["outcomes"].append(tables.outcome_rows(outcomes, key))
        judged = [one for one in outcomes if one.status != "skipped"]
        if (checks := tables.check_rows(judged, key)).num_rows:
            parts_of["checks"].append(checks)
    bases = [
        (state.document, name, fingerprint, run_id, state.base)
        for some in by_engine.values()
        for state in some
        if state.base is not None
    ]
    content = {folder: pa.concat_tables(parts).combine_chunks() for folder, parts in parts_of.items()}
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
