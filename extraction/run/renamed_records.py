"""Brings records along whose schema's new version only names fields anew (`x-cinnabar-was`).

That needs no document, no model and no parser: a document may be gone, moved, changed or unreadable by now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice

from cinnabar.errors import NotAccepted, NotUnited, RunError
from cinnabar.extraction.corrections.changes import renamed_record
from cinnabar.extraction.filling.checks.judgement import apply_checks
from cinnabar.extraction.filling.progress import ProgressListener
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store.records import DocumentInfo, Outcome
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.stored_records import LatestRecord, Selection, changes_since, load_records, select
from cinnabar.schemas.compiling.version_changes import Changes
from cinnabar.wording import with_noun

# Records that are fetched and committed at a time.
_FETCH = 512
_WRITTEN = (
    "SELECT document, engine_fingerprint, parsers FROM {outcomes} WHERE outcome = 'written' AND schema_fingerprint = ?"
)


def renamed_outcomes(
    store: Store, found: Sequence[LatestRecord], since: Mapping[str, Changes], assignment: Assignment
) -> Iterator[Outcome]:
    """Yields the outcomes of these records under the new version, but for those that it does not take with new names.

    `since` has the changes since each older version. Records keep the engine part of their key.
    """
    renames = {version: one.renames for version, one in since.items() if one.only_renames}
    # What read each document; the row of a corrected record does not tell its parsers.
    read: dict[tuple[str, str], tuple[str, str]] = {}
    for older in renames:
        for document, engine, parsers in store.ask(_WRITTEN, [older]):
            if parsers or (document, older) not in read:
                read[document, older] = engine, parsers or ""
    renamed = [one for one in found if one.schema_fingerprint in renames]
    for start in range(0, len(renamed), _FETCH):
        some = renamed[start : start + _FETCH]
        stored, made = load_records(store.out, some, store.rows), list[Outcome]()
        for one in some:
            record = renamed_record(stored[one.document], renames[one.schema_fingerprint])
            with suppress(NotAccepted):
                record = replace(record, text=assignment.compiled_schema.canonical(record.value))
                if not assignment.validator.check(record.text):
                    engine, parsers = read[one.document, one.schema_fingerprint]
                    info = DocumentInfo(one.document, "", 0, 0, 0, 0, parsers=tuple(parsers.split()))
                    made.append(Outcome(one.name, "written", "", "", one.document, info, record, engine=engine))
        yield from apply_checks(made, assignment.checks, assignment.options.on_check)


def bring_along(store: Store, assignment: Assignment, progress: ProgressListener) -> None:
    """Commits the records of older versions of an assignment's one schema that it only names anew, as a backfill."""
    source, since = assignment.source, dict[str, Changes]()
    of_it = [entry for entry in store.commits() if entry.schema_name == source.name and entry.records]
    for older in {entry.schema_fingerprint for entry in of_it} - {source.fingerprint}:
        # Nothing tells the names of a version that is lost, and old folders hold some of other types.
        with suppress(RunError, NotUnited):
            since[older] = changes_since(store.out, source, assignment.compiled_schema, older)
    if not any(one.only_renames for one in since.values()):
        return
    there = {document for document, *_ in store.ask(_WRITTEN, [source.fingerprint])}
    every = select(store.out, source.name, Selection(), store.rows)
    found = [one for one in every if one.document not in there]
    left = renamed_outcomes(store, found, since, assignment)
    if (first := next(left, None)) is None:
        return
    arguments = {"backfill": {"renamed": True}, "on_check": assignment.options.on_check}
    run, left = Run(store, source, assignment.compiled_schema, assignment.fingerprint, arguments), chain([first], left)
    while some := [*islice(left, _FETCH)]:
        run.commit_batch(some)
    count = with_noun(run.finish().written, "record")
    progress.note(f"{source.name}: {count} of an older version of the schema came along, whose names alone changed")
