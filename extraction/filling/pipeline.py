"""The main path: `run_batch` turns a batch of parsed documents into one outcome each."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from cinnabar.engine.request import Failed, Filled, Filler, Request, Result
from cinnabar.engine.work_time import limit_batches, progress_part, time_stage
from cinnabar.errors import DocumentError, NotAccepted
from cinnabar.extraction.documents.chunking import Chunk, on_pages
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import problem_message
from cinnabar.extraction.filling.asked_chunks import NOTHING, requests_of
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.extraction.filling.checks.judgement import apply_checks
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.evidence.emptiness import mark_empty
from cinnabar.extraction.filling.holding import Bounds, JudgedRecord, error_text, outcome_of, to_quarantine
from cinnabar.extraction.filling.merge.merging import merge
from cinnabar.extraction.filling.overlay.facts import REFUSED, Facts, demanded_refusals, facts_of
from cinnabar.extraction.filling.overlay.given import Given, gather, given_by, known_to_model
from cinnabar.extraction.filling.passages import chunks_for, tokens_of
from cinnabar.extraction.filling.recording import ALONE, record_of
from cinnabar.extraction.filling.refilling import Known, StoredRecord, lost_outcome
from cinnabar.extraction.filling.stages import DOUBTED, LAST, READ, STORED, MergedRecord, go_through
from cinnabar.extraction.filling.tiers import Escalated, Tier, escalate
from cinnabar.extraction.filling.timed_filling import LONG_DOCUMENT, DocumentRequests, add_advice, fill_documents
from cinnabar.extraction.plan.run_options import OnCheck, OnEmpty, OnListIncomplete, OnMissing
from cinnabar.extraction.store.records import Outcome, Record
from cinnabar.schemas.compiling.compile import CompiledSchema

#: The stages of a batch.
STAGES = ("fill", "judge")


@dataclass(frozen=True, slots=True)
class OpenedInput:
    """An input that was opened: its path, the SHA-256 of its bytes, its document or the error that it raised, and in a
    backfill what is known of it."""

    path: str
    digest: str
    found: Document | DocumentError
    known: Known | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """The schema, engine, checks and options that every document of a run goes through.

    `context` limits the tokens of a chunk; None means as many as the model holds. `on_missing` decides the outcome of a
    record that lacks a value its schema demands. `run_batch` quarantines a record with a leaf, row or list below
    `min_confidence`. Before that it asks `tier` for the values that `engine` is not sure of, and `engine` asks it for a
    few rows of each table. It quarantines a document of more than `max_tokens`, and one that the model works on for
    more than `max_seconds`; None sets no limit. `on_check` decides the outcome of a record that fails one of the
    `checks` of its schema, `on_empty` that of a record without a value, `on_list_incomplete` that of one with a list
    whose length the document tells otherwise. With a `routing` each document goes through one of its jobs instead.
    """

    compiled: CompiledSchema
    engine: Filler
    validator: Validator
    on_missing: OnMissing = "quarantine"
    context: int | None = None
    min_confidence: float = 0.0
    tier: Tier | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    checks: Checks | None = None
    on_check: OnCheck = "flag"
    on_empty: OnEmpty = "write"
    on_list_incomplete: OnListIncomplete = "flag"
    routing: Routes | None = None

    def __post_init__(self) -> None:
        if self.tier is not None:
            object.__setattr__(self, "engine", self.tier.beside(self.engine))

    @property
    def bounds(self) -> Bounds:
        """Returns what a record must hold to be written."""
        return Bounds(self.validator, self.on_missing, self.on_empty, self.on_list_incomplete, self.min_confidence)


class Routes(Protocol):
    """The jobs of a run with several schemas, and the choice among them for each document."""

    @property
    def jobs(self) -> Mapping[str, Job]:
        """Returns the jobs by the names of their schemas."""
        ...

    def place(self, read: OpenedInput) -> str | Outcome:
        """Returns the name of the job for an input, or the outcome of an input without a job."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """The outcomes of a batch in the order of its inputs, the denoising steps of its requests, and the counts of
    documents and fields that went to the stronger model; `routing` is the time in ms that choosing schemas took.

    `set_aside` maps the places of inputs without an outcome in the batch to their tokens: long documents, which others
    overtake. `seconds` are those of the stages `fill` (the model) and `judge` (all around it).
    """

    outcomes: list[Outcome]
    steps: int = 0
    escalated: Escalated = field(default_factory=Escalated)
    set_aside: Mapping[int, int] = field(default_factory=dict)
    routing: float = 0.0
    seconds: Mapping[str, float] = field(default_factory=dict)


def run_batch(read: Sequence[OpenedInput], job: Job, set_aside: bool = False) -> Batch:
    """Returns one outcome for each input; an error or a failure of one document ends in its own outcome.

    With `set_aside` long documents get none if the batch has other documents; each has to come again, alone. Of a
    document with a stored record only what is not frozen of it is asked. One that has changed or gone since a backfill
    found it is skipped.
    """
    # Others may overtake a long document if there are any; a server answers for all of them at a time.
    overtakes = set_aside and len(read) > 1 and job.engine.usage() is None
    again = [at for at, one in enumerate(read) if one.known is not None]
    gone = {at: lost_outcome(read[at].path, read[at].digest, read[at].found) for at in again}
    lost = {at: outcome for at, outcome in gone.items() if outcome is not None}
    left = [at for at in range(len(read)) if at not in lost]
    there = [read[at] for at in left]
    batch = _run_job(there, job, overtakes) if job.routing is None else _run_jobs(there, job.routing, overtakes)
    return in_order(len(read), lost, [(left, batch)], 0.0)


def _run_jobs(read: Sequence[OpenedInput], routing: Routes, overtakes: bool) -> Batch:
    """Chooses a schema for each document, and runs the job of each schema over its documents."""
    started = time.perf_counter()
    places = [routing.place(item) for item in read]
    took = 1000 * (time.perf_counter() - started)
    outcomes = {at: place for at, place in enumerate(places) if isinstance(place, Outcome)}
    parts: list[tuple[Sequence[int], Batch]] = []
    for name, job in routing.jobs.items():
        own = [at for at, place in enumerate(places) if place == name]
        batch = _run_job([read[at] for at in own], job, overtakes)
        parts.append((own, replace(batch, outcomes=[replace(one, schema=name) for one in batch.outcomes])))
    return in_order(len(read), outcomes, parts, took)


def in_order(
    count: int, outcomes: Mapping[int, Outcome], parts: Sequence[tuple[Sequence[int], Batch]], routing: float
) -> Batch:
    """Returns one batch of `count` inputs: outcomes by the places of their inputs, and batches with theirs.

    `routing` is added to the time that the batches took to choose schemas.
    """
    by_place, aside = {**outcomes}, dict[int, int]()
    for places, batch in parts:
        aside |= {places[at]: tokens for at, tokens in batch.set_aside.items()}
        by_place |= zip((at for at in places if at not in aside), batch.outcomes, strict=True)
    batches = [batch for _, batch in parts]
    return Batch(
        [by_place[at] for at in range(count) if at not in aside],
        sum(batch.steps for batch in batches),
        sum((batch.escalated for batch in batches), Escalated()),
        aside,
        routing + sum(batch.routing for batch in batches),
        {stage: sum(batch.seconds.get(stage, 0.0) for batch in batches) for stage in STAGES},
    )


def _run_job(read: Sequence[OpenedInput], job: Job, overtakes: bool) -> Batch:
    begun, filling = time.perf_counter(), dict[str, float]()
    ready = [_prepare(replace(one, found=on_pages(one.found, job.compiled.form.pages)), job, overtakes) for one in read]
    aside = {at: one.tokens for at, one in enumerate(ready) if isinstance(one, _LongDocument)}
    documents = {at: one for at, one in enumerate(ready) if isinstance(one, _AskedDocument)}
    requests = [DocumentRequests(one.tokens, one.requests) for one in documents.values()]
    # Of a batch that a slower model may read next, this one is no share that a person waits for.
    with time_stage(filling, "fill"), progress_part(0.0, 1.0 if job.tier is None else 0.0):
        results = fill_documents(requests, job.engine, job.max_seconds)
    steps = sum(result.steps for own in results for result in own if isinstance(result, Filled))
    merged = {at: _merge(asked, own, job) for (at, asked), own in zip(documents.items(), results, strict=True)}
    lower = {at: one for at, one in merged.items() if isinstance(one, MergedRecord)}
    with time_stage(filling, "fill"):
        finals, escalated = _raise_unsure([*lower.values()], job)
    concluded = {
        at: _conclude(documents[at], one, final, job) for (at, one), final in zip(lower.items(), finals, strict=True)
    }
    settled = {**dict(enumerate(ready)), **merged, **concluded}
    outcomes = {at: one for at, one in settled.items() if isinstance(one, Outcome)}
    outcomes = dict(zip(outcomes, apply_checks([*outcomes.values()], job.checks, job.on_check), strict=True))
    # The schema allows no record with what was to stay of these: they are read like new documents.
    again = [at for at in documents if at not in outcomes]
    whole = _run_job([replace(read[at], known=None) for at in again], job, False) if again else Batch([])
    outcomes |= zip(again, whole.outcomes, strict=True)
    fill = filling["fill"] + whole.seconds.get("fill", 0.0)
    return Batch(
        [outcomes[at] for at in range(len(read)) if at not in aside],
        steps + whole.steps,
        escalated + whole.escalated,
        aside,
        seconds={"fill": fill, "judge": time.perf_counter() - begun - fill},
    )


@dataclass(frozen=True, slots=True)
class _LongDocument:
    """A document that is set aside, with its tokens, or its words if these tell already that it is long."""

    tokens: int


def _tokens_or_long(document: Document, job: Job, overtakes: bool) -> int | _LongDocument:
    """Returns the tokens of a document, or that it is long if others may overtake it.

    Raises DocumentError: too_long. The words alone tell of most long documents, so that the others of a batch do not
    wait until their tokens are counted.
    """
    words = len(document.words)
    if overtakes and words > LONG_DOCUMENT:
        return _LongDocument(words)
    tokens = tokens_of(document, job.engine, job.max_tokens)
    return _LongDocument(tokens) if overtakes and tokens > LONG_DOCUMENT else tokens


@dataclass(frozen=True, slots=True)
class _AskedDocument:
    """A document with the path of its input, its tokens, its chunks and a request for each chunk.

    `facts` are the values of its fact fields, `kept` what stays of its stored record. No model is asked for what both
    have `given`: a stored fact stays, and one that the changes of the schema ask for comes from the document.
    """

    path: str
    document: Document
    tokens: int
    chunks: list[Chunk]
    requests: list[Request]
    facts: Facts
    given: tuple[Given, ...]
    kept: StoredRecord | None


def _prepare(item: OpenedInput, job: Job, overtakes: bool) -> _AskedDocument | _LongDocument | Outcome:
    document, form = item.found, job.compiled.form
    if isinstance(document, DocumentError):
        return Outcome(item.path, "quarantined", document.code, problem_message(document), digest=item.digest)
    try:
        tokens = _tokens_or_long(document, job, overtakes)
        if isinstance(tokens, _LongDocument):
            return tokens
        pieces = chunks_for(document, job.engine, job.context, form, tokens)
        facts, kept = facts_of(document, form), StoredRecord.of(item.known, form, lists=len(pieces) == 1)
        given = gather(() if kept is None else kept.given, facts.given)
        asked = [(piece, NOTHING) for piece in pieces] if kept is None or kept.asked else []
        requests = requests_of(document, form, asked, known_to_model(given))
    except DocumentError as error:
        return to_quarantine(item.path, document, error.code, error.detail)
    except Exception as error:
        return to_quarantine(item.path, document, "internal_error", error_text(error))
    return _AskedDocument(item.path, document, tokens, pieces, requests, facts, given, kept)


def _merge(asked: _AskedDocument, results: Sequence[Result], job: Job) -> MergedRecord | Outcome | None:
    """Returns the merged record of a document's filled chunks, or its outcome if a chunk failed or nothing was asked.

    None stands for a document that the schema allows no record with what is kept of it.
    """
    form = job.compiled.form
    failed = next((result for result in results if isinstance(result, Failed)), None)
    if failed is not None:
        return _failure_of(asked, failed)
    if asked.kept is not None and not results:
        return _judge(asked, asked.kept.unasked, job)
    try:
        answers = [result for result in results if isinstance(result, Filled)]
        merged = MergedRecord(asked.document, merge(form, asked.chunks, answers), asked.given)
        stages = STORED if asked.kept is not None else READ if job.tier is None else DOUBTED
        return replace(merged, filled=go_through(form, merged, stages))
    except Exception as error:
        return to_quarantine(asked.path, asked.document, "internal_error", error_text(error))


def _raise_unsure(merged: Sequence[MergedRecord], job: Job) -> tuple[Sequence[Result], Escalated]:
    """Returns the records with what the job's stronger model says of unsure values, and how many it was asked."""
    if job.tier is None:
        return [one.filled for one in merged], Escalated()
    if job.checks and job.tier.prefer_confident:
        results = job.checks.evaluate([one.filled.value for one in merged])
        merged = [replace(one, refused=False in own.values()) for one, own in zip(merged, results, strict=True)]
    with limit_batches(job.max_seconds):
        finals, escalated = escalate(merged, job.compiled.form, job.tier, job.context)
    return [add_advice(one, job.max_seconds) for one in finals], escalated


def _conclude(asked: _AskedDocument, merged: MergedRecord, result: Result, job: Job) -> Outcome | None:
    """Returns the outcome of a record with what a stronger model says; None as in `_merge`."""
    if isinstance(result, Filled):
        return _judge(asked, result, job)
    lower = _record_of(asked, merged.filled, job)[0] if asked.kept is None else None
    return _failure_of(asked, result, lower)


def _judge(asked: _AskedDocument, filled: Filled, job: Job) -> Outcome | None:
    """Returns the outcome of a filled form, or of a stored record with what was asked of it; None as in `_merge`."""
    try:
        record, stored = _record_of(asked, filled, job)
        record = mark_empty(record, job.compiled.form)
        refusals = demanded_refusals(asked.given, asked.facts)
        return outcome_of(JudgedRecord(asked.path, asked.document, record, job.bounds, stored, refusals))
    except Exception as error:
        if isinstance(error, NotAccepted) and asked.kept is not None:
            return None
        return to_quarantine(asked.path, asked.document, "internal_error", error_text(error))


def _record_of(asked: _AskedDocument, filled: Filled, job: Job) -> tuple[Record, Collection[str]]:
    """Returns the record of a filled form, or a stored one with what was asked of it, and the pointers of its leaves.

    Raises NotAccepted if the schema does not allow the stored record with that.
    """
    form, kept, taken = job.compiled.form, asked.kept, set[str]()
    if kept is not None:
        filled, taken = kept.join(job.compiled, filled)
    filled = go_through(form, MergedRecord(asked.document, filled, asked.given), LAST)
    record = record_of(asked.document, filled, form, asked.facts)
    return (record, ()) if kept is None else kept.add_stored(record, taken, {*asked.document.flags, REFUSED, ALONE})


def _failure_of(asked: _AskedDocument, failed: Failed, record: Record | None = None) -> Outcome | None:
    """Returns the outcome of a failure: skipped if the budget was spent (a later run asks again), else quarantined.

    None as in `_merge`.
    """
    path, document, facts = asked.path, asked.document, given_by("fact", asked.given)
    if failed.code == "known" and asked.kept is not None:
        return None
    if failed.code == "known" and facts:
        detail = f"the schema allows no record with the facts of this document ({failed.detail})"
        return to_quarantine(path, document, REFUSED, detail, record, tuple(one.pointer for one in facts))
    if failed.code == "budget":
        return Outcome(path, "skipped", failed.code, failed.detail, document.digest)
    return to_quarantine(path, document, failed.code, failed.detail, record)
