"""Lists the quarantine, and releases rejected records that a person accepts."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from cinnabar.errors import UsageError
from cinnabar.extraction.corrections.units import scalars
from cinnabar.extraction.corrections.waiting_commits import commit_waiting
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.extraction.filling.checks.judgement import apply_checks
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store.model_runs import READ_BY
from cinnabar.extraction.store.reading import connect, spelling
from cinnabar.extraction.store.records import DocumentInfo, LeafRow, Outcome, Record
from cinnabar.extraction.store.spelling import Spelling
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.stored_records import source_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.pointers import lies_within_template

# The flag of a record that a person released.
_RELEASED = "released"
# The most fields that a refusal names.
_NAMED = 5
# Codes of records that are held back for values that the model did not hold for likely, at their `pointers`.
_DOUBTED = ("missing", "low_confidence")
_INDEX = re.compile(r"/\d+(?=/|$)")


@dataclass(frozen=True, slots=True)
class HeldDocument:
    """A document in quarantine: the reasons, and the rejected record if there is one.

    `document` is its digest, empty if the file could not be opened. `size` is in bytes, None if the file was not read.
    `arguments` are those of the run whose model read it.
    """

    path: str
    document: str
    code: str
    detail: str
    pointers: list[str]
    schema_name: str
    schema_fingerprint: str
    engine_fingerprint: str
    run_id: str
    record_json: str | None
    size: int | None
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReleasedDocuments:
    """The paths of released documents; `refused` has the reason for each other path."""

    released: list[str]
    refused: dict[str, str]


def held_documents(out: Path, documents: Sequence[str] = (), codes: Sequence[str] = ()) -> list[HeldDocument]:
    """Returns the documents in quarantine by path: all, the named ones, or those with one of these codes.

    A name is a path, the end of a path from a `/` on, or the first digits (at least 4) of a digest. Raises UsageError
    if a name is not in quarantine or the folder holds no results.
    """
    with connect(out, views=("quarantine", "outcomes", "runs", "documents")) as connection:
        rows = connection.execute(
            "SELECT path, coalesce(document, ''), code, coalesce(detail, ''), coalesce(pointers, []),"
            " q.schema_name, q.schema_fingerprint, q.engine_fingerprint, run_id, record_json, size, arguments"
            f" FROM quarantine AS q LEFT JOIN {READ_BY} USING (document, schema_fingerprint, engine_fingerprint)"
            " LEFT JOIN (SELECT run_id AS its_run, arguments FROM runs) ON its_run = coalesce(read_by, run_id)"
            " LEFT JOIN (SELECT document, size FROM documents) USING (document)"
            " ORDER BY path, run_id"
        ).fetchall()
        spelled = spelling(connection, out)
    rejected = [_held(row) for row in rows]
    for name in documents:
        if not any(_is_named(one, name, spelled) for one in rejected):
            raise UsageError(f"{name}: not in quarantine; `cinnabar quarantine list` lists its documents")
    return [
        one
        for one in rejected
        if (not documents or any(_is_named(one, name, spelled) for name in documents))
        and (not codes or one.code in codes)
    ]


def _held(row: tuple[Any, ...]) -> HeldDocument:
    named = dict(zip((part.name for part in fields(HeldDocument)), row, strict=True))
    return HeldDocument(**named | {"arguments": json.loads(named["arguments"] or "{}")})


def _is_named(one: HeldDocument, name: str, spelled: Spelling) -> bool:
    plain = str(Path(name))
    by_digest = len(name) >= 4 and one.document.startswith(name.casefold())
    return one.path in (plain, spelled(name)) or one.path.endswith("/" + plain.lstrip("/")) or by_digest


def release(out: Path, chosen: Sequence[HeldDocument], allowed: Sequence[str] = ()) -> ReleasedDocuments:
    """Writes the rejected records of these documents unchanged, with the flag `released`.

    It refuses a record that breaks its schema or is missing, so written records are always valid. It also refuses a
    record with a value that the model did not hold for likely, unless `allowed` names its place: JSON pointers, with
    `*` for any index, each for itself and all below it. No model takes part, so the values have confidence 0 and no
    evidence. Raises UsageError if another run is writing, or if a field is no pointer.
    """
    for field in allowed:
        if not field.startswith("/"):
            raise UsageError(f"--field {field}: expected a JSON pointer such as /kind or /lines/*/unit")
    released: list[str] = []
    refused: dict[str, str] = {}
    groups: dict[tuple[str, str, str], list[HeldDocument]] = defaultdict(list)
    for one in chosen:
        groups[one.schema_name, one.schema_fingerprint, one.engine_fingerprint].append(one)
    for (name, fingerprint, engine), group in groups.items():
        source = source_of(out, name, fingerprint)
        judge = Validator(source)
        reasons = {one.path: reason for one in group if (reason := _objection(one, judge, allowed))}
        refused |= reasons
        accepted = [one for one in group if one.path not in reasons]
        if not accepted:
            continue
        compiled = compile_schema(source.schema)
        paths = [one.path for one in accepted]
        with Store.open(out) as store:
            commit_waiting(store)
            outcomes = apply_checks(_outcomes(store, accepted), Checks(source, compiled), "flag")
            arguments = {"release": paths, "fields": list(allowed)}
            run = Run(store, source, compiled, engine, arguments, inputs=paths, retry_quarantined=True)
            run.commit_batch(outcomes)
            run.finish()
        released += paths
    return ReleasedDocuments(released, refused)


def _objection(one: HeldDocument, judge: Validator, allowed: Sequence[str]) -> str:
    if one.record_json is None or not one.document:
        return f"it has no record ({one.code})"
    violations = judge.check(one.record_json)
    if violations:
        return f"its record breaks the schema at {violations[0].pointer or '/'}: {violations[0].message}"
    doubted = one.pointers if one.code in _DOUBTED else []
    released = [field.rstrip("/") for field in allowed]
    unlikely = [pointer for pointer in doubted if not any(lies_within_template(pointer, field) for field in released)]
    if unlikely:
        named = list(dict.fromkeys(_INDEX.sub("/*", pointer) for pointer in unlikely))
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        fields = " ".join(f"--field '{field}'" for field in named[:_NAMED])
        values = f"values at {', '.join(named[:_NAMED])}" if len(unlikely) > 1 else f"value at {unlikely[0]}"
        return f"the model did not hold its {values}{more} for likely; {fields}{more} releases it"
    return ""


def _outcomes(store: Store, chosen: Sequence[HeldDocument]) -> list[Outcome]:
    sql = (
        "SELECT document, media_type, size, pages, parts, characters, flags FROM documents"
        " WHERE list_contains(?, document)"
    )
    with connect(store.out, views=("documents",), rows=store.rows) as connection:
        rows = connection.execute(sql, [[one.document for one in chosen]]).fetchall()
    read = {
        digest: DocumentInfo(digest, kind, size, pages, parts, characters, tuple(flags))
        for digest, kind, size, pages, parts, characters, flags in rows
    }
    return [_outcome(one, read.get(one.document, DocumentInfo(one.document, "", 0, 0, 0, 0))) for one in chosen]


def _outcome(one: HeldDocument, info: DocumentInfo) -> Outcome:
    assert one.record_json is not None
    record = Record(one.record_json, (), 0.0, tuple(sorted({*info.flags, _RELEASED})))
    leaves = tuple(LeafRow(pointer, text, 0.0, "known") for pointer, text in scalars(record.value, ""))
    record = replace(record, leaves=leaves)
    return Outcome(one.path, "written", digest=one.document, document=info, record=record)
