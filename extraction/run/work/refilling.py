"""Turns stored records into records of another version: new values are asked, the others frozen and kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from cinnabar.engine.request import Failed, Filled, Request, Result
from cinnabar.engine.work_time import time_stage
from cinnabar.errors import DocumentError, NotAccepted
from cinnabar.extraction.documents.chunking import Chunk
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.checks.judgement import with_checks
from cinnabar.extraction.filling.filling import DocumentRequests, fill_documents
from cinnabar.extraction.filling.pipeline import (
    Batch,
    Job,
    LongDocument,
    OpenedInput,
    error_text,
    failure_of,
    in_order,
    judge_record,
    may_overtake,
    on_chosen_pages,
    raise_unsure,
    record_of,
    run_batch,
    stages_since,
    to_quarantine,
    tokens_or_long,
    unreadable_outcome,
)
from cinnabar.extraction.filling.planning import chunks_for, passage_of
from cinnabar.extraction.filling.records.facts import REFUSED, FactValues, with_facts
from cinnabar.extraction.filling.records.marks import with_marks
from cinnabar.extraction.filling.records.merging import merge
from cinnabar.extraction.filling.tiers import ALONE, Escalated, MergedRecord
from cinnabar.extraction.run.work.freezing import Frozen, freeze, splice
from cinnabar.extraction.store.records import Outcome, Record
from cinnabar.extraction.store.stored_records import CHANGED, GONE, Stored
from cinnabar.extraction.store.tables import field_of
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.compiling.changes import Changes
from cinnabar.schemas.compiling.fact_fields import fact_fields
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import above

#: A parser's codes for a document that is missing.
_ABSENT = ("unreadable", "not_a_file")
#: The flag of a record that a person released (extraction/run/quarantine.py); the new record keeps it.
_RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Known:
    """The stored records of a batch's documents, in order, and the changes of their schema since.

    A document that went to no schema so far has None. Leaves, rows and lists below `below` are asked as well.
    """

    records: Sequence[tuple[Stored, Changes] | None]
    below: float = 0.0


def refill_batch(read: Sequence[OpenedInput], known: Known, job: Job, set_aside: bool = False) -> Batch:
    """Returns one outcome for each input, like `run_batch`, with the model's work limited to the asked values.

    If the schema allows no record with the frozen values, the whole record is asked. A document that has changed or
    gone since it was found is skipped, and with a routing one of another kind, too. A document without a record is
    read like that of a new run.
    """
    overtakes = set_aside and may_overtake(read, job)
    settled: dict[int, Outcome] = {at: lost for at, one in enumerate(read) if (lost := _lost(one)) is not None}
    started = time.perf_counter()
    job = _route(read, job, settled)
    took = 1000 * (time.perf_counter() - started)
    left = [at for at in range(len(read)) if at not in settled]
    stored = {at: record for at in left if (record := known.records[at]) is not None}
    new = [at for at in left if at not in stored]
    records = Known([*stored.values()], known.below)
    parts = [(new, run_batch([read[at] for at in new], job, overtakes))] if new else []
    parts.append(([*stored], _refill([read[at] for at in stored], records, job, overtakes)))
    return in_order(len(read), settled, parts, took)


def _route(read: Sequence[OpenedInput], job: Job, settled: dict[int, Outcome]) -> Job:
    """Returns the job of the schema that is filled again; documents of another kind get their outcome in `found`."""
    if job.routing is None:
        return job
    for at, one in enumerate(read):
        if at not in settled and isinstance(place := job.routing.place(one), Outcome):
            settled[at] = place
    (name,) = job.routing.jobs
    return job.routing.jobs[name]


def _refill(read: Sequence[OpenedInput], known: Known, job: Job, overtakes: bool) -> Batch:
    """Fills documents with a stored record."""
    begun, filling, escalated = time.perf_counter(), dict[str, float](), Escalated()
    records = [record for record in known.records if record is not None]
    chosen = on_chosen_pages(read, job)
    planned = [_plan(one, *record, job, known.below, overtakes) for one, record in zip(chosen, records, strict=True)]
    aside = {at: plan.tokens for at, plan in enumerate(planned) if isinstance(plan, LongDocument)}
    plans = [plan for plan in planned if not isinstance(plan, LongDocument)]
    with time_stage(filling, "fill"):
        steps = _fill([plan for plan in plans if isinstance(plan, _RefillPlan)], job, escalated)
    outcomes = [plan if isinstance(plan, Outcome) else plan.outcome(job) for plan in plans]
    again = [at for at, outcome in enumerate(outcomes) if outcome is None]
    for at in again:
        plan = plans[at]
        assert isinstance(plan, _RefillPlan)
        plans[at] = replace(plan, frozen=None, results=[], final=None)
    whole = [plan for at in again if isinstance(plan := plans[at], _RefillPlan)]
    with time_stage(filling, "fill"):
        steps += _fill(whole, job, escalated)
    for at, plan in zip(again, whole, strict=True):
        outcomes[at] = plan.outcome(job)
    final = [outcome for outcome in outcomes if outcome is not None]
    final = with_checks(final, job.checks, job.on_check)
    return Batch(final, steps, escalated, aside, seconds=stages_since(begun, filling["fill"]))


@dataclass(frozen=True)
class _Held(FactValues):
    """The values of fact fields, and beside them what is frozen of a stored record."""

    frozen: Frozen = field(default_factory=Frozen)

    @cached_property
    def known(self) -> dict[str, str | None]:
        """Returns all frozen values of a request."""
        return self.frozen.known | FactValues(self.values).known

    @cached_property
    def counted_lists(self) -> frozenset[int]:
        """Returns the lists whose rows are known."""
        return FactValues(self.values).counted_lists | self.frozen.counted

    @cached_property
    def rows(self) -> tuple[tuple[int, int], ...]:
        """Returns the known rows with the characters at which they begin."""
        return (*self.frozen.rows, *FactValues(self.values).rows)


@dataclass(slots=True)
class _RefillPlan:
    """A document with its stored record, the schema's changes, its tokens and its chunks.

    `frozen` holds the frozen values of the record (None: nothing is frozen), `facts` the values of its fact fields,
    `results` the answer for each chunk, `final` the record with what a stronger model says. A stored fact stays; one
    that the changes ask for comes from the document.
    """

    path: str
    document: Document
    stored: Stored
    changes: Changes
    tokens: int
    chunks: list[Chunk]
    frozen: Frozen | None
    facts: FactValues
    results: list[Result] = field(default_factory=list)
    final: Result | None = None

    @property
    def asks(self) -> bool:
        """Returns True if there is anything to ask."""
        return self.frozen is None or bool(self.changes.asked_places or self.frozen.asked)

    @property
    def asked_facts(self) -> FactValues:
        """Returns the values of the fact fields that are not frozen as the record has them."""
        return self.facts if self.frozen is None else self.facts.beside(self.frozen.known, self.frozen.counted)

    def requests(self, job: Job) -> list[Request]:
        """Returns a request for each chunk; [] if nothing is asked."""
        document, held = self.document, self.held
        passages = [passage_of(document, c.start, c.end) for c in (self.chunks if self.asks else ())]
        return [held.request(f"{document.digest}:{one.offset}", job.compiled.form, one) for one in passages]

    @property
    def held(self) -> _Held:
        """Returns all that no model is asked for."""
        return _Held(self.asked_facts.values, self.frozen or Frozen())

    def merge(self, form: Form) -> Filled:
        """Returns the record of the first model's answers."""
        answers = [result for result in self.results if isinstance(result, Filled)]
        filled = with_facts(form, merge(form, self.chunks, answers), self.asked_facts)
        return with_marks(form, filled, self.document)

    def outcome(self, job: Job) -> Outcome | None:
        """Returns the document's outcome; None if the schema does not allow the frozen values."""
        path, document = self.path, self.document
        failure = next((one for one in (*self.results, self.final) if isinstance(one, Failed)), None)
        if failure is not None:
            if self.frozen and failure.code == "known":
                return None
            return failure_of(path, document, failure, facts=self.asked_facts)
        try:
            filled = self.final if isinstance(self.final, Filled) else None
            if filled is None and self.results:
                filled = self.merge(job.compiled.form)
            if self.frozen is None:
                assert filled is not None
                record = record_of(document, filled, job.compiled.form, self.facts)
                return judge_record(path, document, record, job, facts=self.facts)
            return self._join(filled, self.frozen, job)
        except Exception as error:
            return to_quarantine(path, document, "internal_error", error_text(error))

    def _join(self, filled: Filled | None, frozen: Frozen, job: Job) -> Outcome | None:
        form, stored, changes = job.compiled.form, self.stored, self.changes
        new = None if filled is None else parse(filled.record)
        value, taken = splice(form, parse(stored.record.text), new, changes, frozen)
        try:
            text = job.compiled.canonical(value)
        except NotAccepted:
            return None
        record, kept = _record(self.document, stored, filled, text, taken, job, changes, self.facts)
        return judge_record(self.path, self.document, record, job, kept, self.asked_facts)


def _lost(item: OpenedInput) -> Outcome | None:
    """Returns the outcome of a document that cannot be read, or is another one by now."""
    document = item.found
    if isinstance(document, DocumentError) and document.code in _ABSENT:
        detail = f"{item.path} could not be read any more ({document.detail}); run the same command again"
        return Outcome(item.path, "skipped", GONE, detail, digest=item.digest)
    if isinstance(document, DocumentError):
        return unreadable_outcome(item, document)
    if document.digest != item.digest:
        detail = f"{item.path} was changed while it was read; run the same command again"
        return Outcome(item.path, "skipped", CHANGED, detail, digest=item.digest)
    return None


def _plan(
    item: OpenedInput, stored: Stored, changes: Changes, job: Job, below: float, overtakes: bool
) -> _RefillPlan | LongDocument | Outcome:
    document = item.found
    if isinstance(document, DocumentError):
        return unreadable_outcome(item, document)
    try:
        tokens = tokens_or_long(document, job, overtakes)
        if isinstance(tokens, LongDocument):
            return tokens
        pieces = chunks_for(document, job.engine, job.context, job.compiled.form, tokens)
        frozen = freeze(job.compiled.form, stored.record, changes, below, lists=len(pieces) == 1)
        facts = FactValues.of(document, fact_fields(job.compiled.form))
    except DocumentError as error:
        return to_quarantine(item.path, document, error.code, error.detail)
    except Exception as error:
        return to_quarantine(item.path, document, "internal_error", error_text(error))
    return _RefillPlan(item.path, document, stored, changes, tokens, pieces, frozen, facts)


def _fill(plans: Sequence[_RefillPlan], job: Job, escalated: Escalated) -> int:
    """Has the models answer all requests of these plans, and returns the denoising steps; counts what was escalated."""
    asked = [DocumentRequests(plan.tokens, plan.requests(job)) for plan in plans]
    if any(own.requests for own in asked):
        for plan, results in zip(plans, fill_documents(asked, job.engine, job.max_seconds), strict=True):
            plan.results = results
        _raise([plan for plan in plans if plan.results], job, escalated)
    return sum(r.steps for plan in plans for r in plan.results if isinstance(r, Filled))


def _raise(plans: Sequence[_RefillPlan], job: Job, escalated: Escalated) -> None:
    """Has the stronger model answer for unsure values, as in a new run, and counts them."""
    lower: list[tuple[_RefillPlan, MergedRecord]] = []
    for plan in plans if job.tier is not None else ():
        # What cannot be merged becomes a failure with its outcome.
        with suppress(Exception):
            if not any(isinstance(one, Failed) for one in plan.results):
                lower.append((plan, MergedRecord(plan.document, plan.merge(job.compiled.form), plan.held)))
    finals, counts = raise_unsure([merged for _, merged in lower], job)
    for (plan, _), final in zip(lower, finals, strict=True):
        plan.final = final
    escalated.documents += counts.documents
    escalated.fields += counts.fields


def _record(
    document: Document,
    stored: Stored,
    filled: Filled | None,
    text: str,
    taken: Sequence[str],
    job: Job,
    changes: Changes,
    facts: FactValues,
) -> tuple[Record, set[str]]:
    """Returns the joined record with the leaves of both, and the pointers of the stored leaves."""

    places = set(taken)

    def new(pointer: str) -> bool:
        return any(place in places for place in above(pointer))

    old = stored.record
    fields = stored.fields
    kept = [x for x in old.leaves if not new(x.pointer) and not changes.drops(fields[x.pointer])]
    value = old.value
    rows = {
        at: sure for at, sure in old.rows.items() if not new(at) and not changes.drops(field_of(at, value))
    }
    lists = {
        at: sure for at, sure in old.lists.items() if not new(at) and not changes.drops(field_of(at, value))
    }
    lengths = {
        at: note for at, note in old.lengths.items() if not new(at) and not changes.drops(field_of(at, value))
    }
    alone = filled is not None and filled.alone
    leaves, flags = list(kept), {*document.flags, *({_RELEASED} & {*old.flags}), *({ALONE} if alone else ())}
    if filled is not None:
        asked = {at: leaf for at, leaf in filled.leaves.items() if new(at)}
        fresh = record_of(document, replace(filled, leaves=asked), job.compiled.form, facts)
        leaves += fresh.leaves
        rows |= {at: sure for at, sure in fresh.rows.items() if new(at)}
        lists |= {at: sure for at, sure in fresh.lists.items() if new(at)}
        lengths |= {at: note for at, note in fresh.lengths.items() if new(at)}
    flags |= {flag for leaf in leaves for flag in leaf.flags} | ({REFUSED} if facts.refusals else set())
    return Record.of(text, leaves, flags, rows, lists, lengths), {leaf.pointer for leaf in kept}
