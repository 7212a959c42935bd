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
from cinnabar.extraction.corrections.units import HUMAN, LEFT_OUT, record_from, scalars, text_at
from cinnabar.extraction.store.files import explain_broken_file
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.model_runs import OF_CORRECTIONS
from cinnabar.extraction.store.records import LeafRow, Record
from cinnabar.extraction.store.stored_records import stored_of
from cinnabar.extraction.store.tables import (
    CORRECTIONS,
    UNCORRECTED,
    evidence_columns,
    evidence_in,
    table_of,
)
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.pointers import MISSING, value_at

# Files of so many bytes are kept in memory, the last used ones: each look reads hundreds; opening one takes 3 ms.
_SMALL, _KEPT = 1 << 17, 2048

# Of the rows of `runs` those that hold corrections alone.
_CORRECTED = pc.field("arguments") == OF_CORRECTIONS

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
    for row in _rows(out, committed, "corrections", None if documents is None else _of(documents)):
        pair = row["document"], row["schema_name"]
        stored.identities.add(row["identity"])
        stored.runs[pair].add(row["run_id"])
        if row["undoes"]:
            stored.undone[pair].append(Undo(row["identity"], row["undoes"], row["who"], row["made"]))
        else:
            same = {name: row[name] for name in _ALIKE}
            made = Correction(
                **same, action=Action(row["action"]), evidence=evidence_in(row), fixed=row["units"] or "[]"
            )
            stored.corrections[pair].append(made)
    return stored


# What a correction and its row have by the same name.
_ALIKE = ("identity", "document", "schema_name", "schema_fingerprint", "pointer", "before", "after", "who", "made")


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
    out: Path, committed: Iterable[Manifest], table: str, condition: pc.Expression | None
) -> Iterator[dict[str, Any]]:
    for entry in committed:
        for file in entry.files:
            if file.table == table and file.rows:
                yield from _rows_in(out / file.path, condition)


def _of(documents: Collection[str]) -> pc.Expression:
    return pc.field("document").isin(pa.array(documents, pa.string()))


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


def told_apart(out: Path, committed: Iterable[Manifest]) -> tuple[Any, ...]:
    """Returns what tells these commits of a folder from all others."""
    return str(out), *((entry.number, entry.created) for entry in committed)


def states(
    out: Path, committed: Sequence[Manifest], pairs: Collection[Pair], rows: CorrectionRows | None = None
) -> tuple[dict[Pair, Reviewed], CorrectionRows]:
    """Returns the states of these documents, and their stored corrections.

    A document without an outcome of the schema has no record. `rows` are the stored corrections, if they are read
    already.
    """
    commits = told_apart(out, committed)
    last, known, known_rows = _LAST.answer
    if commits == last and all(pair in known for pair in pairs):
        return {pair: known[pair] for pair in pairs}, known_rows
    documents = {document for document, _ in pairs}
    rows = rows or correction_rows(out, committed, documents)
    by_pair = {pair: Reviewed(*pair, corrections=rows.of(pair)) for pair in pairs}
    corrected = _runs_of_corrections(out, committed)
    older = _bases_of_0_3(out, committed, documents)
    for name in {name for _, name in pairs}:
        own = [entry for entry in committed if entry.schema_name == name]
        outcomes = _outcomes(out, own, {document for document, other in pairs if other == name})
        for document, stored in outcomes.items():
            of_person, state = stored[-1].run_id in corrected, stored[-1].read(out, name)
            # The last record that a model made under this version: a person corrected that.
            key = document, name, state.schema_fingerprint
            own_version = (one for one in reversed(stored) if one.row["schema_fingerprint"] == key[2])
            of_models = (one for one in own_version if one.run_id not in corrected)
            made = next((one for one in of_models if one.has_record), stored[-1])
            base = older.get((*key, made.run_id), older.get((*key, stored[-1].run_id)))
            if base is None and of_person and made is not stored[-1]:
                base = _with_known(made.read(out, name), state)
            renamed = renamed_corrections(out, rows.of((document, name)), name, state.schema_fingerprint)
            by_pair[document, name] = replace(state, corrections=renamed, base=base)
    _LAST.answer = commits, by_pair, rows
    return by_pair, rows


def _runs_of_corrections(out: Path, committed: Iterable[Manifest]) -> set[str]:
    found = set[str]()
    for path in (out / file.path for entry in committed for file in entry.files if file.table == "runs"):
        with explain_broken_file(path):
            stat = path.stat()
            found |= _corrected_in(path, (stat.st_ino, stat.st_mtime_ns))
    return found


@lru_cache(_KEPT)
def _corrected_in(path: Path, _: tuple[int, int]) -> frozenset[str]:
    return frozenset(map(str, pq.read_table(path, columns=["run_id"], filters=_CORRECTED)["run_id"].to_pylist()))


def _with_known(base: Reviewed, state: Reviewed) -> Reviewed:
    """Returns what a model made with all that the corrected record knows of the same values.

    Of a record in quarantine the text alone is stored.
    """
    if base.outcome != "quarantined" or base.record is None or state.record is None:
        return base
    known = {leaf.pointer: leaf for leaf in state.record.leaves if leaf.origin != HUMAN}
    was, now, record = base.record.value, state.record.value, state.record

    def is_same(pointer: str) -> bool:
        return text_at(was, pointer) == text_at(now, pointer)

    leaves = [known.get(leaf.pointer, leaf) if is_same(leaf.pointer) else leaf for leaf in base.record.leaves]
    flags = {*record.flags} - {flag for leaf in record.leaves for flag in leaf.flags} - {LEFT_OUT}
    rows, lists = ({at: sure for at, sure in own.items() if is_same(at)} for own in (record.rows, record.lists))
    lengths = {at: note for at, note in record.lengths.items() if is_same(at)}
    flags |= {flag for leaf in leaves for flag in leaf.flags}
    return replace(base, record=Record.of(base.record.text, leaves, flags, rows, lists, lengths))


def _bases_of_0_3(
    out: Path, committed: Iterable[Manifest], documents: Collection[str]
) -> dict[tuple[str, str, str, str], Reviewed]:
    """Returns what models made of corrected documents, by document, schema, fingerprint and run.

    Version 0.3 stored a record with its corrections alone, and the model's in this table.
    """
    bases = {}
    for row in _rows(out, committed, "uncorrected", _of(documents)):
        document, name, fingerprint, run_id = (row[one] for one in UNCORRECTED.names[:4])
        said = orjson.loads(row["record"])
        bases[document, name, fingerprint, run_id] = Reviewed(
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
    return bases


@dataclass(frozen=True, slots=True)
class _StoredOutcome:
    """A row of `outcomes`, and the batch that has its record."""

    row: Mapping[str, Any]
    entry: Manifest

    @property
    def run_id(self) -> str:
        return str(self.row["run_id"])

    @property
    def has_record(self) -> bool:
        """Returns True if it is stored with a record."""
        return self.row["outcome"] == "written" or self.row["record_json"] is not None

    def read(self, out: Path, name: str) -> Reviewed:
        """Returns the state that it tells of, with its record."""
        row, document = self.row, self.row["document"]
        names = ("path", "schema_fingerprint", "engine_fingerprint", "run_id", "code", "detail")
        said: dict[str, Any] = {one: row[one] or "" for one in names}
        pointers = tuple(row.get("pointers") or ())  # older files lack it
        held = row["outcome"] == "quarantined"
        record = _held(row["record_json"], pointers) if held else _written(out, self.entry, document, self.run_id)
        parsers = tuple((row.get("parsers") or "").split())
        told = {"outcome": row["outcome"], "pointers": pointers, "parsers": parsers}
        return Reviewed(document, name, **said, **told, record=record)


def _outcomes(
    out: Path, committed: Sequence[Manifest], documents: Collection[str]
) -> dict[str, list[_StoredOutcome]]:
    """Returns the outcomes of each of these documents, the latest last."""
    wanted = _of(documents) & (pc.field("outcome") != "skipped")
    found: dict[str, list[_StoredOutcome]] = defaultdict(list)
    for entry in committed:
        for file in entry.files:
            for row in _rows_in(out / file.path, wanted) if file.table == "outcomes" else ():
                found[row["document"]].append(_StoredOutcome(row, entry))
    return {document: sorted(own, key=lambda one: one.run_id) for document, own in found.items()}


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
