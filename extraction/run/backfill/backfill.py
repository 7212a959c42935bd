"""A backfill: it turns stored records into records of another version of their schema, or into surer ones.

It goes over the records of an output folder, not over the files of a folder. Each record is committed once, like those
of `extraction/run/extract.py`; a later run skips the documents that an interrupted run has done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from cinnabar.extraction.corrections.changes import renamed_record
from cinnabar.extraction.documents.inputs import Input, Location
from cinnabar.extraction.documents.mailboxes.address import password_of_environment
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.progress import NoProgress, ProgressListener
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.backfill.outstanding import Outstanding
from cinnabar.extraction.run.batched_run import BatchedRun
from cinnabar.extraction.run.batches import Batches
from cinnabar.extraction.run.commits import Commits, Opening, open_output
from cinnabar.extraction.run.loaded_models import LoadedModels
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.store.store import PASSWORD_COUNT
from cinnabar.extraction.store.stored_records import (
    LatestRecord,
    RoutingChoice,
    Selection,
    Stored,
    last_choices,
    load_records,
    select,
    source_of,
)
from cinnabar.extraction.store.tables import printable
from cinnabar.schemas import compile_schema
from cinnabar.schemas.columns.arrow import arrow_schema, united_columns
from cinnabar.schemas.compiling.changes import Changes, changes

# Torch takes seconds to import; a backfill that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.run.work.refilling import Known


def begin_backfill(
    assignment: Assignment,
    out: Path,
    chosen: Selection | None = None,
    progress: ProgressListener | None = None,
    others: Sequence[Location] = (),
    password: Callable[[], str] = password_of_environment,
) -> Backfill:
    """Returns a backfill that has begun: its records are chosen, done ones are skipped, its batches hold the rest.

    `--below` (in `chosen`) asks less sure leaves and rows again. `others` are files, folders and mailboxes to search
    for documents that are not at their old path. A record stays out if a later run chose another schema for its
    document, among schemas of which one has this name. Nothing is written without work to do, nor before the first
    batch is worked on. Raises UsageError before any work if the new version conflicts with the stored one
    (NotUnited), a mailbox cannot be opened, or another process is writing.
    """
    assignment.check_parts()
    progress, chosen = progress or NoProgress(), chosen or Selection()
    source, options, parsers = assignment.source, assignment.options, parser_settings(assignment.options)
    latest, elsewhere = _choose_records(assignment, out, chosen)
    changes_since = {one: _compare(assignment, out, one) for one in {one.schema_fingerprint for one in latest}}
    with ExitStack() as stack:
        store = open_output(assignment, out, stack)
        fingerprint = _fingerprint(assignment.fingerprint, chosen.below)
        passwords = len(parsers.passwords)
        done = store.done_keys(
            source.fingerprint, fingerprint, quarantined=not options.retry_quarantined, passwords=passwords
        )
        document_lookup = stack.enter_context(DocumentLookup(store.out, others, password, chosen.source))
        outstanding = Outstanding.of(latest, done, document_lookup)
        about = {
            "backfill": {name: getattr(chosen, name) for name in chosen.__slots__},
            "from": [printable(str(one)) for one in others],
            "out": printable(str(out)),
            # With another number, documents that no password opened are tried again.
            **({PASSWORD_COUNT: passwords} if passwords else {}),
        }
        settled = [*outstanding.done, *outstanding.lost]
        commits = Commits(assignment, Opening(store, [*outstanding.records], fingerprint, about, settled), progress)
        models = LoadedModels(assignment, commits)
        batches = stack.enter_context(Batches(outstanding.inputs, assignment, parsers, store.out))
        records = StoredRecords(store.out, outstanding.records, changes_since, chosen.below or 0.0)
        run = BatchedRun(
            commits, batches, models, known=lambda items, number: records.known(items, batches[number + 1 :])
        )
        return Backfill(run.closing(stack), _work(outstanding, changes_since, chosen.below, elsewhere))


@dataclass(frozen=True, slots=True)
class BackfillWork:
    """The work of a backfill: `documents` to fill, the places `asked` in each, and those `dropped`.

    `done` is the number of documents that are done already, `lost` of those that are gone or have changed, `elsewhere`
    of those that a later run sent to another schema or to none.
    """

    documents: int
    asked: tuple[str, ...]
    dropped: tuple[str, ...]
    done: int
    lost: int
    elsewhere: int


@dataclass(frozen=True, slots=True)
class Backfill:
    """A backfill that has begun, and the work that it has."""

    run: BatchedRun
    work: BackfillWork


def _work(left: Outstanding, changes_since: Mapping[str, Changes], below: float | None, elsewhere: int) -> BackfillWork:
    asked = {at: None for one in changes_since.values() for at in one.asked_places}
    below_that = [f"values below {below:g}"] if below else []
    return BackfillWork(
        documents=len(left.inputs),
        asked=(*asked, *below_that),
        dropped=tuple({at: None for one in changes_since.values() for at in one.gone}),
        done=len(left.done),
        lost=len(left.lost),
        elsewhere=elsewhere,
    )


def _choose_records(assignment: Assignment, out: Path, chosen: Selection) -> tuple[list[LatestRecord], int]:
    """Returns the records to fill again, and the number of those that a later choice of schemas sent elsewhere."""
    source = assignment.source
    older = select(out, source.name, chosen)
    older = [one for one in older if chosen.below is not None or one.schema_fingerprint != source.fingerprint]
    choices = last_choices(out, source.name)
    placed = [one for one in older if _is_placed_here(one, choices.get(one.document), source.name)]
    return placed[: assignment.options.limit], len(older) - len(placed)


def _is_placed_here(one: LatestRecord, choice: RoutingChoice | None, schema: str) -> bool:
    """Returns whether no later choice sent a record elsewhere."""
    return choice is None or choice.run_id <= one.run_id or choice.schema == schema


def _compare(assignment: Assignment, out: Path, fingerprint: str) -> Changes:
    """Returns the changes since this version. Raises NotUnited if the two do not fit one table."""
    source, new = assignment.source, assignment.compiled_schema
    if fingerprint == source.fingerprint:
        return Changes()
    old = compile_schema(source_of(out, source.name, fingerprint).schema)
    united_columns(list(arrow_schema(old)), list(arrow_schema(new)))
    return changes(old, new)


def _fingerprint(engine: str, below: float | None) -> str:
    """Returns the engine part of a backfill's key: that of an extraction, because the backfill does the same work.

    With `below` it differs, because a record with the extraction's key may be asked again.
    """
    if below is None:
        return engine
    return hashlib.sha256(repr((engine, "below", below)).encode()).hexdigest()[:16]


# Records that are fetched from the store at a time.
_FETCH = 512


class StoredRecords:
    """The stored records of a backfill, fetched hundreds at a time.

    `found` maps the names of inputs to their records, `changes` each version of the schema to its changes since. Leaves
    below `below` are asked as well.
    """

    def __init__(
        self, out: Path, latest: Mapping[str, LatestRecord], changes: Mapping[str, Changes], below: float
    ) -> None:
        self._out, self._found, self._changes, self._below = out, latest, changes, below
        self._fetched: dict[str, Stored] = {}

    def known(self, items: Sequence[Input], coming: Sequence[Sequence[Input]] = ()) -> Known:
        """Returns the stored records of these documents; if it fetches, then those of the coming batches, too."""
        # Cold start: Torch takes a second.
        from cinnabar.extraction.run.work.refilling import Known

        wanted = [self._found[item.path] for item in items]
        if any(one.document not in self._fetched for one in wanted):
            following = (self._found[item.path] for item in islice(chain.from_iterable(coming), _FETCH))
            self._fetched = load_records(self._out, [*wanted, *following])
        return Known([self._known(one) for one in wanted], self._below)

    def _known(self, one: LatestRecord) -> tuple[Stored, Changes]:
        """Returns a stored record, by the names of the version that is asked for, and the changes since its own."""
        found, changes = self._fetched[one.document], self._changes[one.schema_fingerprint]
        if not changes.renames.pairs:
            return found, changes
        moved = changes.renames.pointer
        fields = {moved(at): moved(field) for at, field in found.fields.items()}
        return Stored(renamed_record(found.record, changes.renames), fields), changes
