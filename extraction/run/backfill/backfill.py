"""A backfill: it turns stored records into records of another version of their schema, or into surer ones.

It goes over the records of an output folder, not over the files of a folder. Each record is committed once, like those
of `extraction/run/extract.py`; a later run skips the documents that an interrupted run has done.

The stored records of the documents that a backfill reads again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from cinnabar.extraction.corrections.carrying import check_corrections_kept
from cinnabar.extraction.corrections.outside_rows import learned_rows
from cinnabar.extraction.corrections.renaming import renamed_record
from cinnabar.extraction.corrections.waiting_commits import open_folder
from cinnabar.extraction.documents.inputs import Input, Location
from cinnabar.extraction.documents.mailboxes.address import password_of_environment
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.reading.progress import Progress
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.backfill.estimate import BackfillEstimate, Cost, Item, Outstanding, measure
from cinnabar.extraction.run.batched_run import BatchedRun, Opening
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.store.cases import remember_cases
from cinnabar.extraction.store.store import PASSWORD_COUNT
from cinnabar.extraction.store.stored_records import (
    LatestRecord,
    RoutingChoice,
    Selection,
    Stored,
    last_choices,
    load_records,
    refused_documents,
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
if TYPE_CHECKING:
    from cinnabar.extraction.run.work.refilling import Known


class Backfill(BatchedRun):
    """A backfill that has begun: its records are chosen, done ones are skipped, and `batches` holds the rest.

    `--below` (in `chosen`) asks less sure leaves and rows again. `others` are files, folders and mailboxes to search
    for documents that are not at their old path. A record stays out if a later run chose another schema for its
    document, among schemas of which one has this name. With a `routing` of the one schema, a document is left out if it
    is of another kind, and documents that had no schema so far are compared, too. Nothing is written without work to
    do, nor before the first batch is worked on. Raises UsageError before any work if the new version conflicts with the
    stored one (NotUnited), a mailbox cannot be opened, or another process is writing.
    """

    def __init__(
        self,
        assignment: Assignment,
        out: Path,
        chosen: Selection | None = None,
        progress: Progress | None = None,
        others: Sequence[Location] = (),
        password: Callable[[], str] = password_of_environment,
    ) -> None:
        super().__init__(assignment, progress)
        source, options = assignment.source, assignment.options
        parsers = parser_settings(options)
        chosen = chosen or Selection()
        self._below = chosen.below or 0.0
        asking = chosen.below is not None
        older = select(out, source.name, chosen)
        older = [one for one in older if asking or one.schema_fingerprint != source.fingerprint]
        choices = last_choices(out, source.name)
        latest, self._elsewhere = self._split_placed(older, choices)
        latest = [*latest, *self._find_unplaced(out, chosen, choices)][: options.limit]
        versions = {one.schema_fingerprint for one in latest} - {""}
        self._changes = {one: self._compare(out, one) for one in versions}
        with ExitStack() as stack:
            store = stack.enter_context(open_folder(out))
            if not options.drop_corrections:
                check_corrections_kept(store, source, assignment.compiled_schema)
            forms = {part.source.name: part.compiled_schema.form for part in self.assignment.parts}
            if learned := learned_rows(store.out, forms):
                self.assignment = replace(self.assignment, learned=learned)
            remember_cases(store.out, options.case, {source.name: assignment.checks.between})
            fingerprint = _fingerprint(self.assignment.fingerprint, chosen.below)
            passwords = len(parsers.passwords)
            done = store.done_keys(
                source.fingerprint, fingerprint, quarantined=not options.retry_quarantined, passwords=passwords
            )
            document_lookup = stack.enter_context(DocumentLookup(store.out, others, password, chosen.source))
            self._outstanding = Outstanding.of(latest, done, document_lookup)
            about = {
                "backfill": {name: getattr(chosen, name) for name in chosen.__slots__},
                "from": [printable(str(one)) for one in others],
                "out": printable(str(out)),
                # With another number, documents that no password opened are tried again.
                **({PASSWORD_COUNT: passwords} if passwords else {}),
            }
            settled = [*self._outstanding.done, *self._outstanding.lost]
            self._opening = Opening(store, self._outstanding.names, fingerprint, about, settled)
            items = self._outstanding.items
            self._records = StoredRecords(store.out, {one.name: one.found for one in items}, self._changes, self._below)
            self._take([one.input for one in items], parsers, stack)
            self._stack = stack.pop_all()

    def _split_placed(
        self, latest: Sequence[LatestRecord], choices: Mapping[str, RoutingChoice]
    ) -> tuple[list[LatestRecord], int]:
        """Returns the records that no later choice sent elsewhere, and the number of the others.

        With a routing a document that another choice sent nowhere is asked again.
        """
        name, routing = self.assignment.source.name, self.assignment.routing
        kept = []
        for one in latest:
            choice = choices.get(one.document)
            later = choice is not None and choice.run_id > one.run_id and choice.schema != name
            again = choice is not None and not choice.schema and routing and choice.routing != routing.fingerprint
            if not later or again:
                kept.append(one)
        return kept, len(latest) - len(kept)

    def _find_unplaced(self, out: Path, chosen: Selection, choices: Mapping[str, RoutingChoice]) -> list[LatestRecord]:
        """Returns the documents that went to no schema so far: [] if options choose records, or by this very choice."""
        routing = self.assignment.routing
        if routing is None or replace(chosen, source=None) != Selection():
            return []
        refused = refused_documents(out, self.assignment.source.name, chosen.source)
        return [one for one in refused if choices[one.document].routing != routing.fingerprint]

    def _compare(self, out: Path, fingerprint: str) -> Changes:
        """Returns the changes since this version. Raises NotUnited if the two do not fit one table."""
        if fingerprint == self.assignment.source.fingerprint:
            return Changes()
        old = compile_schema(source_of(out, self.assignment.source.name, fingerprint).schema)
        united_columns(list(arrow_schema(old)), list(arrow_schema(self.assignment.compiled_schema)))
        return changes(old, self.assignment.compiled_schema)

    def estimate(self) -> BackfillEstimate:
        """Returns an estimate of the work from a few documents, which are read and filled but not stored."""
        work = self._outstanding
        cost = measure(work.items, self._try)
        asked = {at: None for one in self._changes.values() for at in one.asked_places}
        below = [f"values below {self._below:g}"] if self._below else []
        return BackfillEstimate(
            documents=len(work.items),
            asked=(*asked, *below),
            dropped=tuple({at: None for one in self._changes.values() for at in one.gone}),
            done=len(work.done),
            lost=len(work.lost),
            **asdict(cost),
            elsewhere=self._elsewhere,
        )

    def _try(self, items: Sequence[Item]) -> Cost:
        """Fills these documents without storing anything."""
        # Cold start: Torch takes a second.
        from cinnabar.extraction.run.work.refilling import refill_batch

        begun = time.perf_counter()
        job = self._whole_job()
        loaded = time.perf_counter()
        inputs = [item.input for item in items]
        read = self._reader.parse(inputs)
        parsed = time.perf_counter()
        # A run fetches the stored records of hundreds of documents at a time, so it is not counted.
        known = self._records.known(inputs)
        fetched = time.perf_counter()
        refill_batch(read, known, job)
        filled = time.perf_counter() - fetched + loaded - begun
        texts = [one.found.text for one in read if not isinstance(one.found, Exception)]
        return Cost(sum(map(job.engine.count_tokens, texts)), parsed - loaded, filled)

    def known(self, items: Sequence[Input], number: int) -> Known:
        """Returns the stored records of these documents of a batch."""
        return self._records.known(items, self.batches[number + 1 :])


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
        if any(one.document not in self._fetched for one in wanted if one.schema_fingerprint):
            following = (self._found[item.path] for item in islice(chain.from_iterable(coming), _FETCH))
            self._fetched = load_records(self._out, [one for one in chain(wanted, following) if one.schema_fingerprint])
        return Known([self._known(one) if one.schema_fingerprint else None for one in wanted], self._below)

    def _known(self, one: LatestRecord) -> tuple[Stored, Changes]:
        """Returns a stored record, by the names of the version that is asked for, and the changes since its own."""
        found, changes = self._fetched[one.document], self._changes[one.schema_fingerprint]
        if not changes.renames.pairs:
            return found, changes
        moved = changes.renames.pointer
        fields = {moved(at): moved(field) for at, field in found.fields.items()}
        return Stored(renamed_record(found.record, changes.renames), fields), changes
