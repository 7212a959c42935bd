"""Reads corrections, and the present record of a document, from the files of an output folder.

It reads only the files that can hold the document, because opening all views takes longer than a correction may.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cinnabar.extraction.corrections.changes import (
    Action,
    Correction,
    Undo,
    renamed_corrections,
    taken_back,
)
from cinnabar.extraction.corrections.journal import WaitingCorrection
from cinnabar.extraction.corrections.state import Reviewed
from cinnabar.extraction.corrections.units import record_from, record_json, scalars
from cinnabar.extraction.store.files import explain_broken_file
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.records import LeafRow, Record
from cinnabar.extraction.store.stored_records import stored_of
from cinnabar.extraction.store.tables import CORRECTIONS, UNCORRECTED, Key, evidence_columns, evidence_in, table_of
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.pointers import MISSING, value_at

# Files of so many bytes are kept in memory, the last used ones: each look reads hundreds; opening one takes 3 ms.
_SMALL, _KEPT = 1 << 17, 2048

#: A document under one schema: its digest and the schema's name.
Pair = tuple[str, str]


@dataclass(slots=True)
class CorrectionRows:
    """The rows of the table `corrections`, of all documents or of some."""

    corrections: dict[Pair, list[Correction]] = field(default_factory=lambda: defaultdict(list))
    undone: dict[Pair, list[Undo]] = field(default_factory=lambda: defaultdict(list))
    runs: dict[Pair, set[str]] = field(default_factory=lambda: defaultdict(set))
    identities: set[str] = field(default_factory=set)

    def of(self, pair: Pair) -> tuple[Correction, ...]:
        """Returns the corrections of a document, oldest first, with the times at which they were taken back."""
        return taken_back(self.corrections.get(pair, ()), self.undone.get(pair, ()))

    def add(self, entry: WaitingCorrection) -> None:
        """Adds an entry that waits, unless its rows are there."""
        if entry.identities & self.identities:
            return
        self.corrections[entry.pair] += entry.corrections
        self.undone[entry.pair] += entry.undone
        self.identities |= entry.identities

    @property
    def pairs(self) -> list[Pair]:
        """Returns the documents that have rows, each with its schema."""
        return list({**self.corrections, **self.undone})


def correction_rows(
    out: Path, committed: Iterable[Manifest], documents: Collection[str] | None = None
) -> CorrectionRows:
    """Returns the stored corrections of these documents, or of all."""
    stored = CorrectionRows()
    for row in _rows(out, committed, "corrections", documents):
        pair = row["document"], row["schema_name"]
        stored.identities.add(row["identity"])
        stored.runs[pair].add(row["run_id"])
        if row["undoes"]:
            stored.undone[pair].append(Undo(row["identity"], row["undoes"], row["who"], row["made"]))
        else:
            stored.corrections[pair].append(_correction(row))
    return stored


# What a correction and its row have by the same name.
_ALIKE = ("identity", "document", "schema_name", "schema_fingerprint", "pointer", "before", "after", "who", "made")


def _correction(row: dict[str, Any]) -> Correction:
    same = {name: row[name] for name in _ALIKE}
    return Correction(**same, action=Action(row["action"]), evidence=evidence_in(row), fixed=row["units"] or "[]")


def _row_of(one: Correction, run_id: str) -> dict[str, Any]:
    """Returns the row of a correction."""
    own = {"action": one.action.value, "units": one.fixed, "run_id": run_id}
    return {name: getattr(one, name) for name in _ALIKE} | evidence_columns(one.evidence) | own


def _undo_row(one: Undo, of: Correction, run_id: str) -> dict[str, Any]:
    """Returns the row that takes back a correction."""
    step = {"identity": one.identity, "undoes": one.undoes, "who": one.who, "made": one.made, "run_id": run_id}
    turned = {"action": of.action.value, "before": of.after, "after": of.before}
    return {name: getattr(of, name) for name in _ALIKE} | turned | step


def entry_rows(entry: WaitingCorrection, state: Reviewed, run_id: str) -> pa.Table:
    """Returns the rows of an entry in `corrections`."""
    by_identity = {one.identity: one for one in state.corrections}
    rows = [_row_of(one, run_id) for one in entry.corrections]
    rows += [_undo_row(one, by_identity[one.undoes], run_id) for one in entry.undone if one.undoes in by_identity]
    return table_of(rows, CORRECTIONS)


def _rows(
    out: Path, committed: Iterable[Manifest], table: str, documents: Collection[str] | None
) -> Iterator[dict[str, Any]]:
    condition = None if documents is None else pc.field("document").isin(pa.array(documents, pa.string()))
    for entry in committed:
        for file in entry.files:
            if file.table == table and file.rows:
                yield from _rows_in(out / file.path, condition)


def _rows_in(path: Path, condition: pc.Expression | None) -> list[dict[str, Any]]:
    with explain_broken_file(path):
        stat = path.stat()
        if stat.st_size > _SMALL:
            return pq.read_table(path, filters=condition).to_pylist()
        kept = _kept(path, (stat.st_ino, stat.st_mtime_ns))
        return (kept if condition is None else kept.filter(condition)).to_pylist()


@lru_cache(_KEPT)
def _kept(path: Path, _: tuple[int, int]) -> pa.Table:
    return pq.read_table(path)


@dataclass(slots=True)
class _Last:
    """The last answer, and the commits that it is of: a correction is looked at, made and committed in turn."""

    # One object, because threads share it.
    answer: tuple[tuple[Any, ...], Mapping[Pair, Reviewed], CorrectionRows] = ((), {}, CorrectionRows())


_LAST = _Last()


def states(
    out: Path, committed: Sequence[Manifest], pairs: Collection[Pair], rows: CorrectionRows | None = None
) -> tuple[dict[Pair, Reviewed], CorrectionRows]:
    """Returns the states of these documents, and their stored corrections.

    A document without an outcome of the schema has no record. `rows` are the stored corrections, if they are read
    already.
    """
    commits = str(out), *((entry.number, entry.created) for entry in committed)
    last, known, known_rows = _LAST.answer
    if commits == last and all(pair in known for pair in pairs):
        return {pair: known[pair] for pair in pairs}, known_rows
    documents = {document for document, _ in pairs}
    rows = rows or correction_rows(out, committed, documents)
    bases = _bases(out, committed, documents)
    by_pair = {pair: Reviewed(*pair, corrections=rows.of(pair)) for pair in pairs}
    for name in {name for _, name in pairs}:
        own = [entry for entry in committed if entry.schema_name == name]
        for state in _outcomes(out, own, {document for document, other in pairs if other == name}, name):
            pair = state.document, name
            renamed = renamed_corrections(out, rows.of(pair), name, state.schema_fingerprint)
            whole = replace(state, corrections=renamed)
            base = bases.get((*pair, state.schema_fingerprint))
            # A later run may have written the record anew while no correction was in force.
            if base is not None and (base.run_id >= state.run_id or state.run_id in rows.runs[pair]):
                whole = replace(whole, base=base)
            by_pair[pair] = whole
    _LAST.answer = commits, by_pair, rows
    return by_pair, rows


def _bases(
    out: Path, committed: Iterable[Manifest], documents: Collection[str]
) -> dict[tuple[str, str, str], Reviewed]:
    """Returns what models made of corrected documents, by document, schema and fingerprint."""
    latest: dict[tuple[str, str, str], tuple[str, str]] = {}
    for row in _rows(out, committed, "uncorrected", documents):
        key = row["document"], row["schema_name"], row["schema_fingerprint"]
        latest[key] = max(latest.get(key, ("", "")), (row["run_id"], row["record"]))
    return {key: _base_from(key, *last) for key, last in latest.items()}


def _base_from(key: tuple[str, str, str], run_id: str, text: str) -> Reviewed:
    document, name, fingerprint = key
    said = orjson.loads(text)
    return Reviewed(
        document,
        name,
        "",
        fingerprint,
        run_id=run_id,
        outcome=said["status"],
        code=said["code"],
        detail=said["detail"],
        pointers=tuple(said["pointers"]),
        record=record_from(said["record"]),
    )


def _outcomes(
    out: Path, committed: Sequence[Manifest], documents: Collection[str], name: str
) -> Iterator[Reviewed]:
    """Yields the latest outcome of each of these documents, with its record."""
    wanted = pc.field("document").isin(pa.array(documents, pa.string())) & (pc.field("outcome") != "skipped")
    latest: dict[str, tuple[dict[str, Any], Manifest]] = {}
    for entry in committed:
        for file in entry.files:
            for row in _rows_in(out / file.path, wanted) if file.table == "outcomes" else ():
                document = row["document"]
                if document not in latest or row["run_id"] >= latest[document][0]["run_id"]:
                    latest[document] = row, entry
    for document, (row, entry) in latest.items():
        names = ("path", "schema_fingerprint", "engine_fingerprint", "run_id", "code", "detail")
        said: dict[str, Any] = {one: row[one] or "" for one in names}
        pointers = tuple(row.get("pointers") or ())  # older files lack it
        held = row["outcome"] == "quarantined"
        record = _held(row["record_json"], pointers) if held else _written(out, entry, document, row["run_id"])
        yield Reviewed(document, name, **said, outcome=row["outcome"], pointers=pointers, record=record)


def _held(text: str | None, pointers: Sequence[str]) -> Record | None:
    """Returns the record of a document in quarantine; nothing is stored of its values but in its base.

    A place that was a reason and that the record leaves out has a leaf, too: a person can accept that it is left out.
    """
    if text is None:
        return None
    try:
        value = parse(text)
    except ValueError:
        return None
    leaves = [LeafRow(pointer, part, 0.0, "known") for pointer, part in scalars(value, "")]
    out = [pointer for pointer in pointers if pointer and value_at(value, pointer) is MISSING]
    leaves += [LeafRow(pointer, None, 0.0, "known", missing=True) for pointer in out]
    return Record(text, tuple(leaves), 0.0)


def _written(out: Path, entry: Manifest, document: str, run_id: str) -> Record | None:
    """Returns a record from the batch of its outcome."""
    mine = (pc.field("document") == document) & (pc.field("run_id") == run_id)
    rows: dict[str, list[dict[str, Any]]] = {"data": [], "fields": []}
    for file in entry.files:
        if file.table in rows:
            path = out / file.path
            with explain_broken_file(path):
                columns = ["record_json", "confidence", "flags"] if file.table == "data" else None
                rows[file.table] += pq.read_table(path, columns=columns, filters=mine).to_pylist()
    if not rows["data"]:
        return None
    written = rows["data"][0]
    # Older files lack these columns.
    older: dict[str, Any] = {"flags": [], "row_confidence": None, "place": None}
    leaves = [older | row for row in rows["fields"]]
    return stored_of(written["record_json"], written["confidence"], written["flags"], leaves)


def base_table(states: Iterable[Reviewed], key: Key) -> pa.Table:
    """Returns the rows of the table `uncorrected` of these states under one key: what models made of them."""
    rows = []
    for state in states:
        if (base := state.base) is not None and base.record is not None:
            said = {"status": base.outcome, "code": base.code, "detail": base.detail, "pointers": base.pointers}
            text = orjson.dumps(said | {"record": record_json(base.record)}).decode()
            names = key.schema_name, key.schema_fingerprint, key.run_id
            rows.append(dict(zip(UNCORRECTED.names, (state.document, *names, text), strict=True)))
    return table_of(rows, UNCORRECTED)
