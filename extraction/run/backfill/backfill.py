"""A backfill: it turns stored records into records of another version of their schema, or into surer ones.

It goes over the records of an output folder, not over the files of a folder. Each record is committed once, like those
of `extraction/run/extract.py`; a later run skips the documents that an interrupted run has done.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from cinnabar.extraction.corrections.changes import renamed_record
from cinnabar.extraction.documents.inputs import Input, Location
from cinnabar.extraction.documents.mailboxes.address import password_of_environment
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.cost_estimate import sample
from cinnabar.extraction.filling.progress import ProgressListener
from cinnabar.extraction.filling.refilling import Known
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.backfill.estimate import BackfillEstimate, Outstanding
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batched_run import BatchedRun
from cinnabar.extraction.run.batches import Batches
from cinnabar.extraction.run.commits import Commits, open_output
from cinnabar.extraction.run.renamed_records import renamed_outcomes
from cinnabar.extraction.store.records import Record
from cinnabar.extraction.store.store import PASSWORD_COUNT, Store
from cinnabar.extraction.store.stored_records import (
    LatestRecord,
    RoutingChoice,
    Selection,
    changes_since,
    last_choices,
    load_records,
    refused_documents,
    select,
)
from cinnabar.extraction.store.tables import printable
from cinnabar.schemas.compiling.version_changes import Changes


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
    document, among schemas of which one has this name. With a `routing` of the one schema, a document is left out if it
    is of another kind, and documents that had no schema so far are compared, too. Nothing is written without work to
    do, nor before the first batch is worked on. Raises UsageError before any work if the new version conflicts with the
    stored one (NotUnited), a mailbox cannot be opened, or another process is writing.
    """
    assignment.check_parts()
    progress, chosen = progress or ProgressListener(), chosen or Selection()
    source, options, parsers = assignment.source, assignment.options, parser_settings(assignment.options)
    latest, elsewhere = _choose_records(assignment, out, chosen)
    versions = {one.schema_fingerprint for one in latest} - {""}
    since = {one: changes_since(out, source, assignment.compiled_schema, one) for one in versions}
    with ExitStack() as stack:
        store = open_output(assignment, out, stack)
        fingerprint = _fingerprint(assignment.fingerprint, chosen.below)
        passwords = len(parsers.passwords)
        done = store.done_keys(
            source.fingerprint, fingerprint, quarantined=not options.retry_quarantined, passwords=passwords
        )
        document_lookup = stack.enter_context(DocumentLookup(store.out, others, password, chosen.source))
        # Values below a confidence are asked again, and a document's kind is compared, by what the document says.
        reads = chosen.below is not None or assignment.routing is not None
        renames = {} if reads else since
        renamed = {one.digest for one in renamed_outcomes(store, latest, renames, assignment)}
        outstanding = Outstanding.of(latest, done, document_lookup, renamed)
        about = {
            "backfill": {name: getattr(chosen, name) for name in chosen.__slots__},
            "from": [printable(str(one)) for one in others],
            "out": printable(str(out)),
            # With another number, documents that no password opened are tried again.
            **({PASSWORD_COUNT: passwords} if passwords else {}),
        }
        along = renamed_outcomes(store, outstanding.renamed, renames, assignment)
        # They have the key of this run, like all records of a backfill.
        settled = chain(outstanding.done, outstanding.lost, (replace(one, engine="") for one in along))
        commits = Commits(assignment, progress, store, [*outstanding.chosen], fingerprint, about, settled)
        batches = stack.enter_context(Batches(outstanding.inputs, assignment, parsers, store.out))
        records = StoredRecords(store, outstanding.chosen, since, chosen.below or 0.0)
        run = BatchedRun(assignment, commits, batches, known=records.known)
        return Backfill(run.closing(stack), records, outstanding, elsewhere)


# The fewest and the most documents that an estimate fills, and of how many one; as many of them, all over the sample,
# and seconds are enough.
_LEAST_TRIED, _MOST_TRIED, _ONE_OF = 6, 20, 5
_LEAST_TIMED, _ENOUGH = 3, 20.0


@dataclass(frozen=True, slots=True)
class Backfill:
    """A backfill that has begun, and what its estimate comes from; `elsewhere` counts records of other schemas."""

    run: BatchedRun
    records: StoredRecords
    outstanding: Outstanding
    elsewhere: int

    def estimate(self) -> BackfillEstimate:
        """Returns an estimate of the work from a few documents, which are read and filled but not stored."""
        work, changed = self.outstanding, self.records.changes.values()
        # Filling costs more than parsing: an estimate must not cost as much as the work.
        most = max(_LEAST_TRIED, min(_MOST_TRIED, len(work.inputs) // _ONE_OF))
        spread = sample(sorted(work.inputs, key=lambda one: work.chosen[one.path].characters), most)
        tokens, seconds, tried = 0, 0.0, 0
        if spread:
            # Parsers, model and the questions of a form start with the first document; that says nothing of the others.
            self._try(spread[:1])
        parts = -(-len(spread) // _LEAST_TIMED)
        for part in (spread[at::parts] for at in range(parts)):
            found = self._try(part)
            tokens, seconds, tried = tokens + found[0], seconds + found[1], tried + len(part)
            if seconds > _ENOUGH:
                break
        times = len(work.inputs) / max(1, tried)
        if tried:
            self.run.expect(seconds / tried)
        asked = {at: None for one in changed for at in one.asked_places}
        below = [f"values below {self.records.below:g}"] if self.records.below else []
        return BackfillEstimate(
            documents=len(work.inputs),
            tokens=round(tokens * times),
            seconds=round(seconds * times, 1),
            asked=(*asked, *below),
            dropped=tuple({at: None for one in changed for at in one.gone}),
            done=len(work.done),
            lost=len(work.lost),
            sampled=tried,
            elsewhere=self.elsewhere,
            renamed=len(work.renamed),
        )

    def _try(self, inputs: Sequence[Input]) -> tuple[int, float]:
        """Fills these documents without storing anything; returns the tokens of their texts and the seconds."""
        # Cold start: Torch takes a second.
        from cinnabar.extraction.filling.pipeline import run_batch

        # A run fetches the stored records of hundreds of documents at a time, so it is not counted.
        job, known = self.run.job, self.records.known(inputs)
        begun = time.perf_counter()
        read = self.run.batches.parse(inputs)
        run_batch([replace(one, known=own) for one, own in zip(read, known, strict=True)], job)
        seconds = time.perf_counter() - begun
        texts = [one.found.text for one in read if not isinstance(one.found, Exception)]
        return sum(map(job.engine.count_tokens, texts)), seconds


def _choose_records(assignment: Assignment, out: Path, chosen: Selection) -> tuple[list[LatestRecord], int]:
    """Returns the records to fill again, and the number of those that a later choice of schemas sent elsewhere."""
    source = assignment.source
    older = select(out, source.name, chosen)
    older = [one for one in older if chosen.below is not None or one.schema_fingerprint != source.fingerprint]
    choices = last_choices(out, source.name)
    placed = [one for one in older if _is_placed_here(one, choices.get(one.document), assignment)]
    latest = [*placed, *_find_unplaced(assignment, out, chosen, choices)]
    return latest[: assignment.options.limit], len(older) - len(placed)


def _is_placed_here(one: LatestRecord, choice: RoutingChoice | None, assignment: Assignment) -> bool:
    """Returns whether no later choice sent a record elsewhere.

    With a routing a document that another choice sent nowhere is asked again.
    """
    routing = assignment.routing
    if choice is None or choice.run_id <= one.run_id or choice.schema == assignment.source.name:
        return True
    return not choice.schema and routing is not None and choice.routing != routing.fingerprint


def _find_unplaced(
    assignment: Assignment, out: Path, chosen: Selection, choices: Mapping[str, RoutingChoice]
) -> list[LatestRecord]:
    """Returns the documents that went to no schema so far: [] if options choose records, or by this very choice."""
    routing = assignment.routing
    if routing is None or replace(chosen, source=None) != Selection():
        return []
    refused = refused_documents(out, assignment.source.name, chosen.source)
    return [one for one in refused if choices[one.document].routing != routing.fingerprint]


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
        self, store: Store, latest: Mapping[str, LatestRecord], changes: Mapping[str, Changes], below: float
    ) -> None:
        self._store, self._found, self.changes, self.below = store, latest, changes, below
        self._fetched: dict[str, Record] = {}

    def known(self, items: Sequence[Input], coming: Sequence[Sequence[Input]] = ()) -> list[Known]:
        """Returns what is known of these documents; if it fetches records, then those of the coming batches, too."""
        wanted = [self._found[item.path] for item in items]
        if any(one.document not in self._fetched for one in wanted if one.schema_fingerprint):
            following = (self._found[item.path] for item in islice(chain.from_iterable(coming), _FETCH))
            recorded = [one for one in chain(wanted, following) if one.schema_fingerprint]
            self._fetched = load_records(self._store.out, recorded, self._store.rows)
        return [self._known(one) for one in wanted]

    def _known(self, one: LatestRecord) -> Known:
        """Returns a stored record, by the names of the version that is asked for, and the changes since its own."""
        if not one.schema_fingerprint:
            return Known()
        found, changes = self._fetched[one.document], self.changes[one.schema_fingerprint]
        return Known(renamed_record(found, changes.renames), changes, self.below)
