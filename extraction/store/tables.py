"""The Arrow tables of an output folder: their columns, and the rows of a batch of outcomes."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from cinnabar.errors import NotStored
from cinnabar.extraction.documents.content.document import Box, Evidence, Span
from cinnabar.extraction.store.names import columns_of, identifier
from cinnabar.extraction.store.records import LIST_INCOMPLETE, LeafRow, ListNote, Outcome, Record
from cinnabar.schemas.automata.strings import json_text, parse
from cinnabar.schemas.columns.arrow import arrow_value
from cinnabar.schemas.facts import FACTS, FactKind, FactValue, column_of
from cinnabar.schemas.pointers import escape, template_of, value_at

_TEXTS = pa.list_(pa.string())
_SPAN = pa.struct([("start", pa.int64()), ("end", pa.int64())])
_BOX = pa.struct([("page", pa.int32()), *((side, pa.float32()) for side in ("x0", "top", "x1", "bottom"))])


def _columns(columns: Sequence[tuple[str, pa.DataType]]) -> pa.Schema:
    return pa.schema([pa.field(name, kind) for name, kind in columns])


#: The columns that every table of records has beside those of its schema.
SYSTEM_COLUMNS = _columns(
    [
        ("path", pa.string()),
        ("document", pa.string()),
        ("confidence", pa.float64()),
        ("flags", _TEXTS),
        ("run_id", pa.string()),
        ("schema_fingerprint", pa.string()),
        ("engine_fingerprint", pa.string()),
        ("record_json", pa.string()),
    ]
)
#: The code of documents with a value that its schema allows and its column cannot hold.
UNSTORABLE = "unstorable"
#: The argument of a run that holds corrections and no work of a model, and its value.
COMMAND, CORRECT = "command", "correct"
#: The argument of a run with the names of its models: the one that reads, then the one for unsure values.
MODELS = "models"
#: The origin of the rows of `fields` that stand for lists: the value is the number of their items.
LIST = "list"
#: The origin of a row of earlier versions: what a language model wrote before the record.
THOUGHTS = "thoughts"
#: The origin of the rows that tell what a document says of the length of a list, and of another reading of a list.
LENGTH, OTHER = "length", "other"
FIELDS = _columns(
    [
        ("document", pa.string()),
        ("schema_name", pa.string()),
        ("pointer", pa.string()),
        ("field", pa.string()),
        ("value_json", pa.string()),
        ("confidence", pa.float64()),
        ("row_confidence", pa.float64()),
        ("origin", pa.string()),
        ("missing", pa.bool_()),
        ("flags", _TEXTS),
        ("page", pa.int32()),
        ("spans", pa.list_(_SPAN)),
        ("evidence_text", pa.string()),
        ("place", pa.string()),
        ("boxes", pa.list_(_BOX)),
        ("run_id", pa.string()),
        ("schema_fingerprint", pa.string()),
        ("engine_fingerprint", pa.string()),
    ]
)
_FACT_TYPES: dict[FactKind, pa.DataType] = {
    "text": pa.string(),
    "texts": _TEXTS,
    "integer": pa.int64(),
    "integers": pa.list_(pa.int64()),
    "moment": pa.timestamp("us", tz="UTC"),
}
_FACT_COLUMNS = {name: column_of(name) for name in FACTS if column_of(name) != "size"}
DOCUMENTS = _columns(
    [
        ("document", pa.string()),
        ("path", pa.string()),
        ("media_type", pa.string()),
        ("size", pa.int64()),
        ("pages", pa.int32()),
        ("parts", pa.int32()),
        ("characters", pa.int64()),
        ("flags", _TEXTS),
        ("run_id", pa.string()),
        *((column, _FACT_TYPES[FACTS[name].kind]) for name, column in _FACT_COLUMNS.items()),
    ]
)
OUTCOMES = _columns(
    [
        ("run_id", pa.string()),
        ("path", pa.string()),
        ("outcome", pa.string()),
        ("code", pa.string()),
        ("detail", pa.string()),
        ("pointers", _TEXTS),
        ("document", pa.string()),
        ("duplicate_of", pa.string()),
        ("schema_name", pa.string()),
        ("schema_fingerprint", pa.string()),
        ("engine_fingerprint", pa.string()),
        ("record_json", pa.string()),
        ("parsers", pa.string()),
    ]
)
CHECKS = _columns(
    [
        ("document", pa.string()),
        ("schema_name", pa.string()),
        ("check_name", pa.string()),
        ("holds", pa.bool_()),
        ("run_id", pa.string()),
        ("schema_fingerprint", pa.string()),
        ("engine_fingerprint", pa.string()),
    ]
)
RUNS = _columns(
    [
        ("run_id", pa.string()),
        ("started", pa.timestamp("us", tz="UTC")),
        ("finished", pa.timestamp("us", tz="UTC")),
        ("schema_name", pa.string()),
        ("schema_fingerprint", pa.string()),
        ("engine_fingerprint", pa.string()),
        ("arguments", pa.string()),
        ("inputs", pa.int64()),
        ("written", pa.int64()),
        ("quarantined", pa.int64()),
        ("skipped", pa.int64()),
        ("input_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cost", pa.decimal128(38, 12)),
        ("usage", pa.string()),
    ]
)
# What people changed: a row for each correction, and one for each that was taken back (`undoes` names it). `units` are
# the places that a correction fixes, with their values and leaves, as JSON (`extraction/corrections/units.py`).
CORRECTIONS = _columns(
    [
        ("identity", pa.string()),
        ("document", pa.string()),
        ("schema_name", pa.string()),
        ("schema_fingerprint", pa.string()),
        ("action", pa.string()),
        ("pointer", pa.string()),
        ("before", pa.string()),
        ("after", pa.string()),
        ("spans", pa.list_(_SPAN)),
        ("evidence_text", pa.string()),
        ("place", pa.string()),
        ("boxes", pa.list_(_BOX)),
        ("who", pa.string()),
        ("made", pa.timestamp("us", tz="UTC")),
        ("undoes", pa.string()),
        ("units", pa.string()),
        ("run_id", pa.string()),
    ]
)
# What models made of documents that people corrected, as version 0.3 stored it: whole records as JSON.
UNCORRECTED = _columns(
    [
        ("document", pa.string()),
        ("schema_name", pa.string()),
        ("schema_fingerprint", pa.string()),
        ("run_id", pa.string()),
        ("record", pa.string()),
    ]
)
#: The columns of each table but `data`, whose columns are those of its schema.
TABLE_COLUMNS = {
    "fields": FIELDS,
    "documents": DOCUMENTS,
    "outcomes": OUTCOMES,
    "runs": RUNS,
    "checks": CHECKS,
    "corrections": CORRECTIONS,
    "uncorrected": UNCORRECTED,
}


@dataclass(frozen=True, slots=True)
class Key:
    """The values that all rows of one run share."""

    run_id: str
    schema_name: str
    schema_fingerprint: str
    engine_fingerprint: str


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """The columns of a table of records.

    `names` maps the columns of the record's Arrow schema to their names in the table: DuckDB ignores case, so a name
    that is taken, or empty, gets underscores after it. `schema` is that of the whole table.
    """

    names: dict[str, str]
    schema: pa.Schema

    @classmethod
    def of(cls, record: pa.Schema) -> RecordColumns:
        """Returns the columns for records of this Arrow schema: the path, the record's own, then the rest."""
        names = columns_of(record.names, SYSTEM_COLUMNS.names)
        own = [record.field(name).with_name(names[name]) for name in record.names]
        system = list(SYSTEM_COLUMNS)
        return cls(names, pa.schema([system[0], *own, *system[1:]]))


def printable(text: str) -> str:
    """Returns this text with control characters, and the stray bytes of a path, as escapes."""
    if text.isprintable():
        return text
    return "".join(_escape(c) if unicodedata.category(c) in ("Cc", "Cs") else c for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def record_row(
    outcome: Outcome, key: Key, record_schema: pa.Schema, columns: RecordColumns
) -> pa.RecordBatch:
    """Returns the row of a written outcome, as a batch of one. Raises NotStored if a value does not fit its column."""
    assert outcome.record is not None
    with _explain_unstorable():
        value = outcome.record.value
    whole = not isinstance(value, dict)
    if whole:
        value = {record_schema.names[0]: value}
    row: dict[str, Any] = {
        columns.names[field.name]: arrow_value(
            value.get(field.name), field.type, "" if whole else f"/{escape(field.name)}"
        )
        for field in record_schema
    }
    row |= {
        "path": printable(outcome.path),
        "document": outcome.digest,
        "confidence": outcome.record.confidence,
        "flags": list(outcome.record.flags),
        "run_id": key.run_id,
        "schema_fingerprint": key.schema_fingerprint,
        "engine_fingerprint": outcome.engine or key.engine_fingerprint,
        "record_json": outcome.record.text,
    }
    with _explain_unstorable():
        return pa.RecordBatch.from_pylist([row], schema=columns.schema)


@contextmanager
def _explain_unstorable() -> Iterator[None]:
    """Turns what Arrow raises for a value that it cannot hold into NotStored."""
    try:
        yield
    except NotStored:
        raise
    except (pa.ArrowException, ValueError, TypeError, OverflowError, LookupError) as error:
        raise NotStored("", str(error)) from error


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Returns a table of these rows. Raises NotStored if a value does not fit its column."""
    with _explain_unstorable():
        return pa.Table.from_pylist(list(rows), schema)


def unstorable(outcome: Outcome, error: NotStored) -> Outcome:
    """Returns an outcome whose record no column can hold: it is in quarantine, with the place."""
    pointers = (error.pointer,) if error.pointer else ()
    return replace(outcome, status="quarantined", code=UNSTORABLE, detail=str(error), pointers=pointers)


def batch_rows(
    outcomes: Iterable[Outcome], key: Key, record_schema: pa.Schema | None
) -> tuple[list[Outcome], dict[str, pa.Table]]:
    """Returns outcomes as they are stored, and their rows by folders.

    A record that does not fit its columns goes to quarantine as `unstorable`. `record_schema` may be None if no outcome
    is written.
    """
    stored: list[Outcome] = []
    parts: dict[str, list[pa.Table]] = defaultdict(list)
    folder = f"{identifier(key.schema_name)}/{key.schema_fingerprint[:12]}"
    columns = None if record_schema is None else RecordColumns.of(record_schema)
    for outcome in outcomes:
        if outcome.status == "written":
            assert record_schema is not None and columns is not None
            try:
                record, leaves = record_row(outcome, key, record_schema, columns), field_rows(outcome, key)
            except NotStored as error:
                outcome = unstorable(outcome, error)
            else:
                parts[f"data/{folder}"].append(pa.Table.from_batches([record]))
                parts[f"fields/{folder}"].append(leaves)
        stored.append(outcome)
    judged = [outcome for outcome in stored if outcome.status != "skipped"]
    content = {
        "outcomes": outcome_rows(stored, key),
        "documents": document_rows(judged, key),
        "checks": check_rows(judged, key),
        **{name: pa.concat_tables(rows).combine_chunks() for name, rows in parts.items()},
    }
    return stored, {name: rows for name, rows in content.items() if rows.num_rows}


def list_notes(rows: Iterable[Mapping[str, Any]]) -> dict[str, ListNote]:
    """Returns what the rows of `fields` tell of lists whose origin is that of a length, or of another reading."""
    notes: dict[str, ListNote] = {}
    for row in rows:
        at, known = row["pointer"], notes.get(row["pointer"], ListNote("", False))
        if row["origin"] == LENGTH:
            disagrees = LIST_INCOMPLETE in (row["flags"] or ())
            notes[at] = replace(known, sentence=str(parse(row["value_json"])), disagrees=disagrees)
        elif row["origin"] == OTHER:
            notes[at] = replace(known, other=row["value_json"])
    return notes


def field_rows(outcome: Outcome, key: Key) -> pa.Table:
    """Returns a row for each leaf of a written outcome, each list with a confidence of its own, and each note on it.

    Raises NotStored if a value does not fit its column.
    """
    record = outcome.record
    assert record is not None
    with _explain_unstorable():
        value = record.value
        rows = [_field_row(leaf, record, value, outcome, key) for leaf in record.leaves]
        for pointer, sure in record.lists.items():
            counted = LeafRow(pointer, str(len(value_at(value, pointer))), sure, "known")
            rows.append(_field_row(counted, record, value, outcome, key) | {"origin": LIST})
        for pointer, note in record.lengths.items():
            flags = (LIST_INCOMPLETE,) if note.disagrees else ()
            told = {LENGTH: note.sentence and json_text(note.sentence), OTHER: note.other}
            for origin, text in told.items():
                said = LeafRow(pointer, text, 1.0, "generated", flags=flags if origin == LENGTH else ())
                rows += [_field_row(said, record, value, outcome, key) | {"origin": origin}] if text else []
        return pa.Table.from_pylist(rows, FIELDS)


def _field_row(leaf: LeafRow, record: Record, value: Any, outcome: Outcome, key: Key) -> dict[str, Any]:
    return {
        "document": outcome.digest,
        "schema_name": key.schema_name,
        "pointer": leaf.pointer,
        "field": template_of(leaf.pointer, value),
        "value_json": leaf.value,
        "confidence": leaf.confidence,
        "row_confidence": record.row_confidence(leaf.pointer),
        "origin": leaf.origin,
        "missing": leaf.missing,
        "flags": list(leaf.flags),
        "page": leaf.page or None,
        **evidence_columns(leaf.evidence),
        "run_id": key.run_id,
        "schema_fingerprint": key.schema_fingerprint,
        "engine_fingerprint": outcome.engine or key.engine_fingerprint,
    }


def evidence_columns(evidence: Evidence | None) -> dict[str, Any]:
    """Returns the columns of a value's evidence, those of no evidence for None."""
    if evidence is None:
        return {"spans": [], "evidence_text": None, "place": None, "boxes": []}
    return {
        "spans": [{"start": span.start, "end": span.end} for span in evidence.spans],
        "evidence_text": evidence.text,
        "place": evidence.place or None,
        "boxes": [{"page": b.page, "x0": b.x0, "top": b.top, "x1": b.x1, "bottom": b.bottom} for b in evidence.boxes],
    }


def evidence_in(row: Mapping[str, Any]) -> Evidence | None:
    """Returns the evidence in a row with such columns; None if it has no spans."""
    if not row["spans"]:
        return None
    return Evidence(
        tuple(Span(**span) for span in row["spans"]),
        row["evidence_text"] or "",
        tuple(Box(**box) for box in row["boxes"] or ()),
        row["place"] or "",
    )


def check_rows(outcomes: Iterable[Outcome], key: Key) -> pa.Table:
    """Returns a row for each check of each record, rejected ones too; NULL if a check does not apply."""
    rows = [
        {
            "document": outcome.digest,
            "schema_name": key.schema_name,
            "check_name": name,
            "holds": holds,
            "run_id": key.run_id,
            "schema_fingerprint": key.schema_fingerprint,
            "engine_fingerprint": outcome.engine or key.engine_fingerprint,
        }
        for outcome in outcomes
        if outcome.record is not None
        for name, holds in outcome.record.checks.items()
    ]
    return pa.Table.from_pylist(rows, CHECKS)


def document_rows(outcomes: Iterable[Outcome], key: Key) -> pa.Table:
    """Returns a row for each document that was read, each digest once."""
    rows = {}
    for outcome in outcomes:
        info = outcome.document
        # Of a record that came along nothing more is known of the document.
        if info is not None and info.media_type and info.digest not in rows:
            rows[info.digest] = {
                "document": info.digest,
                "path": printable(outcome.path),
                "media_type": info.media_type,
                "size": info.size,
                "pages": info.pages,
                "parts": info.parts,
                "characters": info.characters,
                "flags": list(info.flags),
                "run_id": key.run_id,
                **{column: _fact(name, info.facts.get(name)) for name, column in _FACT_COLUMNS.items()},
            }
    return pa.Table.from_pylist(list(rows.values()), DOCUMENTS)


def _fact(name: str, value: FactValue | None) -> Any:
    """Returns the value of a fact's column."""
    if value is None:
        return None
    if FACTS[name].kind == "moment":
        # Near the ends of Python's calendar there is no such time in UTC.
        with suppress(OverflowError):
            return datetime.fromisoformat(str(value)).astimezone(UTC)
        return None
    return list(value) if isinstance(value, tuple) else value


def outcome_rows(outcomes: Sequence[Outcome], key: Key) -> pa.Table:
    """Returns a row for each outcome; a quarantined one keeps its rejected record."""
    # By columns, which takes half the time of a row for each: a run over a million finished documents writes as many.
    columns: dict[str, list[Any]] = {
        "run_id": [key.run_id] * len(outcomes),
        "path": [printable(outcome.path) for outcome in outcomes],
        "outcome": [outcome.status for outcome in outcomes],
        "code": [outcome.code or None for outcome in outcomes],
        "detail": [printable(outcome.detail) or None for outcome in outcomes],
        "pointers": [list(outcome.pointers) for outcome in outcomes],
        "document": [outcome.digest or None for outcome in outcomes],
        "duplicate_of": [printable(outcome.duplicate_of) or None for outcome in outcomes],
        "schema_name": [key.schema_name] * len(outcomes),
        "schema_fingerprint": [key.schema_fingerprint] * len(outcomes),
        "engine_fingerprint": [outcome.engine or key.engine_fingerprint for outcome in outcomes],
        "record_json": [printable_record(outcome) for outcome in outcomes],
        "parsers": [" ".join(outcome.parsers) or None for outcome in outcomes],
    }
    return pa.Table.from_pydict(columns, OUTCOMES)


def printable_record(outcome: Outcome) -> str | None:
    """Returns the rejected record of a quarantined outcome, as valid UTF-8."""
    if outcome.status != "quarantined" or outcome.record is None:
        return None
    return outcome.record.text.encode("utf-8", "backslashreplace").decode()
