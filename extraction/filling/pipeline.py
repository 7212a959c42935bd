"""The main path: `run_batch` turns a batch of parsed documents into one outcome each."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from cinnabar.engine.evidence.words_behind import row_region, words_behind
from cinnabar.engine.request import Failed, Filled, Filler, Leaf, Metered, Request, Result
from cinnabar.engine.work_time import limit_batches, time_stage
from cinnabar.errors import DocumentError, NotAccepted
from cinnabar.extraction.documents.chunking import Chunk, on_pages
from cinnabar.extraction.documents.content.document import Document, Evidence
from cinnabar.extraction.documents.content.parse_context import problem_message
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.extraction.filling.checks.judgement import with_checks
from cinnabar.extraction.filling.filling import LONG_DOCUMENT, DocumentRequests, fill_documents, with_advice
from cinnabar.extraction.filling.packets.boundaries import SEVERAL, is_several
from cinnabar.extraction.filling.planning import TableColumns, chunks_for, locale_of, passage_of, tokens_of
from cinnabar.extraction.filling.records.doubts import (
    ambiguities,
    notes_of,
    with_emptiness,
    with_fate,
    with_list_fate,
)
from cinnabar.extraction.filling.records.evidence import chance_of_reading, evidence_of, page_of
from cinnabar.extraction.filling.records.facts import NO_FACTS, REFUSED, Facts, demanded_refusals, facts_of
from cinnabar.extraction.filling.records.given import Given, constants_of, gather, given_by, put, told
from cinnabar.extraction.filling.records.list_evidence import with_doubted_sums, without_sum_rows
from cinnabar.extraction.filling.records.marks import boxes_of
from cinnabar.extraction.filling.records.merging import merge
from cinnabar.extraction.filling.records.validation import Validator
from cinnabar.extraction.filling.refilling import Known, StoredRecord, lost_outcome
from cinnabar.extraction.filling.surroundings.notes import INSTRUCTIONS, STRUCK, notes_in
from cinnabar.extraction.filling.surroundings.surroundings import read_surroundings
from cinnabar.extraction.filling.tiers import ALONE, Escalated, MergedRecord, Tier, escalate
from cinnabar.extraction.plan.run_options import OnCheck, OnEmpty, OnListIncomplete, OnMissing
from cinnabar.extraction.store.records import DocumentInfo, LeafRow, Outcome, Record
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import above

# A changed one changes values: raise the part `merging` (engine/version.py).
#: The fewest rows of a record whose values name the columns of tables that they stand in.
COLUMN_ROWS = 4
#: The most confidence of an amount that means two numbers: the likelier reading is right in about half of them.
AMBIGUOUS_CONFIDENCE = 0.5
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
    overtakes = set_aside and len(read) > 1 and not isinstance(job.engine, Metered)
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
    planned = [_plan(replace(one, found=on_pages(one.found, job.compiled.form.pages)), job, overtakes) for one in read]
    aside = {at: plan.tokens for at, plan in enumerate(planned) if isinstance(plan, _LongDocument)}
    plans = {at: plan for at, plan in enumerate(planned) if isinstance(plan, _DocumentPlan)}
    asked = [DocumentRequests(plan.tokens, plan.requests) for plan in plans.values()]
    with time_stage(filling, "fill"):
        results = fill_documents(asked, job.engine, job.max_seconds)
    steps = sum(result.steps for own in results for result in own if isinstance(result, Filled))
    merged = {at: _merge(plan, own, job) for (at, plan), own in zip(plans.items(), results, strict=True)}
    lower = {at: one for at, one in merged.items() if isinstance(one, MergedRecord)}
    with time_stage(filling, "fill"):
        finals, escalated = _raise_unsure([*lower.values()], job)
    concluded = {
        at: _conclude(plans[at], one, final, job) for (at, one), final in zip(lower.items(), finals, strict=True)
    }
    settled = {**dict(enumerate(planned)), **merged, **concluded}
    outcomes = {at: one for at, one in settled.items() if isinstance(one, Outcome)}
    outcomes = dict(zip(outcomes, with_checks([*outcomes.values()], job.checks, job.on_check), strict=True))
    # The schema allows no record with what was to stay of these: they are read like new documents.
    again = [at for at in plans if at not in outcomes]
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
class _DocumentPlan:
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


def _plan(item: OpenedInput, job: Job, overtakes: bool) -> _DocumentPlan | _LongDocument | Outcome:
    document, form = item.found, job.compiled.form
    if isinstance(document, DocumentError):
        return _unreadable_outcome(item, document)
    try:
        tokens = _tokens_or_long(document, job, overtakes)
        if isinstance(tokens, _LongDocument):
            return tokens
        pieces = chunks_for(document, job.engine, job.context, form, tokens)
        facts, kept = facts_of(document, form), StoredRecord.of(item.known, form, lists=len(pieces) == 1)
        given = gather(() if kept is None else kept.frozen.given, facts.given)
        known = told(given)
        requests = [
            Request(f"{document.digest}:{c.start}", form, passage_of(document, c.start, c.end), *known)
            for c in (pieces if kept is None or kept.asks else ())
        ]
    except DocumentError as error:
        return _to_quarantine(item.path, document, error.code, error.detail)
    except Exception as error:
        return _to_quarantine(item.path, document, "internal_error", _error_text(error))
    return _DocumentPlan(item.path, document, tokens, pieces, requests, facts, given, kept)


def _merge(plan: _DocumentPlan, results: Sequence[Result], job: Job) -> MergedRecord | Outcome | None:
    """Returns the merged record of a document's filled chunks, or its outcome if a chunk failed or nothing was asked.

    None stands for a document that the schema allows no record with what is kept of it.
    """
    form, text = job.compiled.form, plan.document.text
    failed = next((result for result in results if isinstance(result, Failed)), None)
    if failed is not None:
        return _failure_of(plan, failed)
    if plan.kept is not None and not results:
        return _judge(plan, None, job)
    try:
        answers = [result for result in results if isinstance(result, Filled)]
        filled = put(form, merge(form, plan.chunks, answers), given_by("fact", plan.given))
        filled = put(form, filled, constants_of(form, filled))
        every = gather(plan.given, constants_of(form, filled), boxes_of(form, filled, plan.document))
        filled = put(form, filled, given_by("box", every))
        if plan.kept is None:  # the rows of a stored record stay
            filled = without_sum_rows(form, filled, text)
            filled = with_doubted_sums(form, filled, text)
            if job.tier is not None:  # it is asked for what the surroundings leave in doubt
                filled = read_surroundings(form, filled, plan.document, locale_of(plan.document))
    except Exception as error:
        return _to_quarantine(plan.path, plan.document, "internal_error", _error_text(error))
    return MergedRecord(plan.document, filled, plan.given)


def _raise_unsure(merged: Sequence[MergedRecord], job: Job) -> tuple[Sequence[Result], Escalated]:
    """Returns the records with what the job's stronger model says of unsure values, and how many it was asked."""
    if job.tier is None:
        return [one.filled for one in merged], Escalated()
    if job.checks and job.tier.prefer_confident:
        results = job.checks.evaluate([one.filled.record for one in merged])
        merged = [replace(one, refused=False in own.values()) for one, own in zip(merged, results, strict=True)]
    with limit_batches(job.max_seconds):
        finals, escalated = escalate(merged, job.compiled.form, job.tier, job.context)
    return [with_advice(one, job.max_seconds) for one in finals], escalated


def _conclude(plan: _DocumentPlan, merged: MergedRecord, result: Result, job: Job) -> Outcome | None:
    """Returns the outcome of a record with what a stronger model says; None as in `_merge`."""
    if isinstance(result, Filled):
        return _judge(plan, result, job)
    lower = record_of(plan.document, merged.filled, job.compiled.form, plan.facts) if plan.kept is None else None
    return _failure_of(plan, result, lower)


def _judge(plan: _DocumentPlan, filled: Filled | None, job: Job) -> Outcome | None:
    """Returns the outcome of a filled form, or of a stored record with what was asked of it; None as in `_merge`."""
    stored: Collection[str] = ()
    try:
        if plan.kept is not None:
            record, stored = _joined(plan, plan.kept, filled, job)
        else:
            assert filled is not None
            record = record_of(plan.document, filled, job.compiled.form, plan.facts)
    except Exception as error:
        if isinstance(error, NotAccepted) and plan.kept is not None:
            return None
        return _to_quarantine(plan.path, plan.document, "internal_error", _error_text(error))
    refusals = demanded_refusals(plan.given, plan.facts)
    return _judge_record(plan.path, plan.document, record, job, stored, refusals)


def _joined(plan: _DocumentPlan, kept: StoredRecord, filled: Filled | None, job: Job) -> tuple[Record, set[str]]:
    """Returns a stored record with what was asked of it, and the pointers of its stored leaves.

    Raises NotAccepted if the schema does not allow it.
    """
    text, taken = kept.join(job.compiled, filled)
    fresh, flags = None, {*plan.document.flags, *([REFUSED] if plan.facts.refusals else ())}
    if filled is not None:
        asked = {at: leaf for at, leaf in filled.leaves.items() if not taken.isdisjoint(above(at))}
        fresh = record_of(plan.document, replace(filled, leaves=asked), job.compiled.form, plan.facts)
        flags |= {ALONE} if filled.alone else set()
    return kept.joined(text, taken, fresh, flags)


def _judge_record(
    path: str,
    document: Document,
    record: Record,
    job: Job,
    stored: Collection[str],
    refusals: Mapping[str, str],
) -> Outcome:
    """Returns the outcome of a record: written, or quarantined as missing, invalid, empty or low in confidence.

    `stored` holds the pointers of leaves that an earlier run wrote, guesses among them; they do not count as missing,
    and their record, which was written before, stays even if it is empty. `refusals` are those of demanded facts, which
    send their document to quarantine.
    """
    try:
        record = with_emptiness(record, job.compiled.form)
        if refusals:
            detail = "; ".join(f"{at}: {reason}" for at, reason in [*refusals.items()][:5])
            return _to_quarantine(path, document, REFUSED, detail, record, tuple(refusals))
        missing = tuple(leaf.pointer for leaf in record.leaves if leaf.missing and leaf.pointer not in stored)
        if missing and job.on_missing == "quarantine":
            detail = f"no value found for {', '.join(missing[:5])}{' …' if len(missing) > 5 else ''}"
            return _to_quarantine(path, document, "missing", detail, record, missing)
        violations = job.validator.check(record.text)
        if violations:
            detail = "; ".join(f"{v.pointer or '/'}: {v.message}" for v in violations[:5])
            pointers = tuple(dict.fromkeys(v.pointer for v in violations))
            return _to_quarantine(path, document, "invalid", detail, record, pointers)
        written = Outcome(path, "written", digest=document.digest, document=DocumentInfo.of(document), record=record)
        final = with_fate(written, "write" if stored else job.on_empty)
        if final.status == "written" and not stored:
            final = with_list_fate(final, job.on_list_incomplete)
        if final.status != "written":
            return final
        unsure = record.below(job.min_confidence)
        if unsure:
            detail = ", ".join(f"{at or '/'} {sure:.2f}" for at, sure in unsure[:5])
            more = f" and {len(unsure) - 5} more" if len(unsure) > 5 else ""
            detail = f"confidence below {job.min_confidence:g}: {detail}{more}"
            pointers = tuple(at for at, _ in unsure)
            return _to_quarantine(path, document, "low_confidence", detail, record, pointers)
    except Exception as error:
        return _to_quarantine(path, document, "internal_error", _error_text(error))
    return final


def record_of(document: Document, filled: Filled, form: Form, facts: Facts = NO_FACTS) -> Record:
    """Returns a filled form as the record of its document, with the evidence of each value.

    A fact field whose fact was refused gets the flag `refused_fact`; of a list only the record has it.
    """
    leaves = []
    locale = locale_of(document)
    filled = read_surroundings(form, filled, document, locale)
    columns = TableColumns(document) if len(filled.rows) >= COLUMN_ROWS else None
    for pointer, leaf in filled.leaves.items():
        region = row_region(pointer, filled.rows, len(document.text))
        evidence = evidence_of(document, words_behind(form, leaf, document.text, region))
        if columns is not None and evidence is not None and (column := columns.at(evidence.spans[0].start)):
            evidence = replace(evidence, place=" › ".join(filter(None, (evidence.place, column))))
        read = chance_of_reading(document, evidence)
        ambiguous = ambiguities(form, leaf, evidence, locale)
        flags = _flags(leaf, evidence) | {
            "ocr": read < 1.0,
            REFUSED: pointer in facts.refusals,
        }
        leaves.append(
            LeafRow(
                pointer=pointer,
                value=leaf.text,
                confidence=min(round(leaf.confidence * read, 4), AMBIGUOUS_CONFIDENCE if ambiguous else 1.0),
                origin=leaf.origin,
                missing=leaf.missing,
                evidence=evidence,
                page=page_of(document, evidence),
                flags=(*_flags_that_hold(flags), *ambiguous, *leaf.flags),
            )
        )
    rows = {pointer: chance for pointer, (_, chance) in filled.rows.items()}
    own = {REFUSED: bool(facts.refusals), SEVERAL: is_several(document)}
    own[ALONE], own["struck_text"] = filled.alone, STRUCK.search(document.text) is not None
    own[INSTRUCTIONS] = any(notes_in(document.text))
    told = {*document.flags, *(flag for leaf in leaves for flag in leaf.flags), *_flags_that_hold(own)}
    lengths = {at: note for at, note in notes_of(document, filled, form).items() if not facts.holds(at)}
    return Record.of(filled.record, leaves, told, rows, dict(filled.lists), lengths)


def _flags_that_hold(flags: Mapping[str, bool]) -> tuple[str, ...]:
    return tuple(name for name, holds in flags.items() if holds)


def _flags(leaf: Leaf, evidence: Evidence | None) -> dict[str, bool]:
    """Returns whether a value is guessed, generated, the schema's default, or without evidence."""
    has_value = leaf.origin not in ("absent", "default", "known", "fact") and leaf.text not in (None, "null", "false")
    return {
        "default": leaf.origin == "default",
        "generated": leaf.origin == "generated",
        "guessed": leaf.missing,
        "no_evidence": has_value and evidence is None,
    }


def _failure_of(plan: _DocumentPlan, failed: Failed, record: Record | None = None) -> Outcome | None:
    """Returns the outcome of a failure: skipped if the budget was spent (a later run asks again), else quarantined.

    None as in `_merge`.
    """
    path, document, facts = plan.path, plan.document, given_by("fact", plan.given)
    if failed.code == "known" and plan.kept is not None:
        return None
    if failed.code == "known" and facts:
        detail = f"the schema allows no record with the facts of this document ({failed.detail})"
        return _to_quarantine(path, document, REFUSED, detail, record, tuple(one.pointer for one in facts))
    if failed.code == "budget":
        return Outcome(path, "skipped", failed.code, failed.detail, document.digest)
    return _to_quarantine(path, document, failed.code, failed.detail, record)


def _unreadable_outcome(item: OpenedInput, problem: DocumentError) -> Outcome:
    """Returns the outcome of an input that could not be read."""
    return Outcome(item.path, "quarantined", problem.code, problem_message(problem), digest=item.digest)


def _to_quarantine(
    path: str,
    document: Document,
    code: str,
    detail: str,
    record: Record | None = None,
    pointers: tuple[str, ...] = (),
) -> Outcome:
    info = DocumentInfo.of(document)
    return Outcome(path, "quarantined", code, detail, document.digest, info, record, pointers=pointers)


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:2000]
