"""Escalates unsure values of a filled form to a stronger model.

Sure values are frozen in its request and written as the cheap model had them; of two calibrated models the second one
is asked for whole documents (`asking`), and the surer one has the last word. A surely complete list of sure rows is
frozen value by value. Any other list is asked as a whole, and so are alternatives and open properties with anything in
doubt. A list too long for the model stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.request import Failed, Filled, Filler, Leaf, Request, Result
from cinnabar.engine.work_time import answer_within, progress_part
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.asked_chunks import NOTHING, SHORT_CHUNK, AskedChunk, asked_chunks, requests_of
from cinnabar.extraction.filling.escalation import likely_right
from cinnabar.extraction.filling.merge.list_evidence import (
    contradicted_lists,
    doubt_contradicted_lists,
    place_numbers,
    put_other_readings,
    remove_sum_rows,
    settled_lists,
)
from cinnabar.extraction.filling.merge.merging import merge, prefer_confident_record
from cinnabar.extraction.filling.merge.weighing import weighed
from cinnabar.extraction.filling.overlay.given import Given, KnownToModel, known_to_model, put
from cinnabar.extraction.filling.overlay.sure_values import is_unsure, sure_values
from cinnabar.extraction.filling.passages import chunks_for
from cinnabar.extraction.filling.stages import RAISED, MergedRecord, go_through
from cinnabar.extraction.plan.run_options import ESCALATE_BELOW
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_walk import walk_lists
from cinnabar.schemas.pointers import lies_in, outside

# A changed one changes values: raise the part `merging` (engine/version.py).
#: The mean confidence below which a model does not know a kind of document, and one that no value has.
KNOWN_KIND, ANY_CONFIDENCE = 0.5, 1.01
#: Values that a language model is less sure of are asked once more with the effort `high`.
ASKED_AGAIN = 0.6
#: The origins of values that no model is asked for.
_GIVEN = {"known", "fact"}


@dataclass(frozen=True)
class Tier:
    """A stronger model, which is loaded at the first doubt, and the confidence below which values are escalated to it.

    prefer_confident: whether its value counts only if its confidence is higher, since both models are calibrated; then
    a document is escalated of which less than the share `threshold` is likely right.
    max_list_rows: the most rows of a list that such a model is asked for, None for any number. seconds: of its work on
    a document. rounds: how often it is asked: with 0 the first model's record stands, with 2 what it doubts is asked
    once more.
    """

    load: Callable[[], Filler]
    threshold: float
    prefer_confident: bool = False
    max_list_rows: int | None = None
    seconds: float | None = None
    rounds: int = 1

    @property
    def doubted_below(self) -> float:
        """Returns the confidence below which a value of an escalated document is in doubt."""
        return ESCALATE_BELOW if self.prefer_confident else self.threshold

    @cached_property
    def filler(self) -> Filler:
        """Returns the model's filler; the first call loads it."""
        return self.load()

    def beside(self, engine: Filler) -> Filler:
        """Returns the first model's filler, which asks a surer model for rows of tables, if its time has no limit."""
        if not self.prefer_confident or self.seconds is not None or not self.rounds or not isinstance(engine, Engine):
            return engine
        return engine.beside(lambda: self.filler)

    @property
    def loaded_fillers(self) -> list[Filler]:
        """Returns the filler if it is loaded."""
        return [self.filler] if "filler" in vars(self) else []


@dataclass(slots=True)
class Escalated:
    """The number of escalated documents, and of their fields that were not frozen."""

    documents: int = 0
    fields: int = 0

    def __add__(self, other: Escalated) -> Escalated:
        return Escalated(self.documents + other.documents, self.fields + other.fields)


def escalate(
    merged: Sequence[MergedRecord], form: Form, tier: Tier, context: int | None = None
) -> tuple[list[Result], Escalated]:
    """Returns the records in order, with unsure values answered by the stronger model, and the counts.

    `context` limits the tokens of a chunk; None means as many as the model holds. A record without doubts stays as it
    is; a record with a failed chunk becomes that failure.
    """
    if not tier.rounds:
        return [one.filled for one in merged], Escalated()
    raised: dict[int, _Raised] = {}
    finals: dict[int, Result] = {}
    escalated = Escalated()
    for at, read in enumerate(merged):
        lower = replace(read, filled=_unsure_of_worded(form, read.filled))
        long = {} if tier.max_list_rows is None else long_lists(form, lower.filled.value, tier.max_list_rows)
        if not _is_asked(form, lower, tier, long.keys()):
            continue
        # A model that cannot be loaded ends the run, not one document.
        filler = tier.filler
        try:
            pieces = chunks_for(lower.document, filler, context, form)
            # A model's places tell where to read if it knows the kind of document, and no text is worded.
            tells_places = not is_unknown(read.filled) and not any(slot.written for slot in form.slots)
            by_place = tier.prefer_confident and len(pieces) > 1 and tells_places
            if by_place:
                pieces = chunks_for(lower.document, filler, min(context or SHORT_CHUNK, SHORT_CHUNK), form)
            # What the first model does not know as a whole is asked as a whole.
            below = ANY_CONFIDENCE if tier.prefer_confident and is_unknown(read.filled) else tier.doubted_below
            sure = sure_values(form, lower.filled, below, lists=len(pieces) == 1)
            # A second reading that was told the first one's values is none.
            sure = [one for one in sure if not tier.prefer_confident or _stands(form, lower.filled.leaves[one.pointer])]
            sure = [one for one in sure if not lies_in(one.pointer, long)]
            known, counted, rows = known_to_model([*sure, *lower.given])
            known = outside(known, long)
            asked = [(piece, NOTHING) for piece in pieces]
            if by_place:
                asked = asked_chunks(form, lower.filled, pieces, _doubted(lower.filled, below, [*known, *long]))
            if not asked:
                continue
        except UsageError as error:
            # The schema leaves no room for a document in the stronger model.
            finals[at] = read.filled if tier.prefer_confident else _internal(lower, error)
            continue
        except Exception as error:
            finals[at] = _internal(lower, error)
            continue
        beside = KnownToModel(known, counted.union(long.values()), rows)
        raised[at] = _Raised(read, asked, form, sure, beside, tier.prefer_confident, long, by_place)
        escalated.documents += 1
        left = lower.filled.leaves.keys() - known.keys()
        escalated.fields += sum(1 for at in left if not lower.is_fact(at) and not lies_in(at, long))
    results = iter(_answers([one.requests for one in raised.values()], tier))
    for at, one in raised.items():
        answers = [next(results) for _ in one.asked]
        try:
            finals[at] = one.merge(answers)
        except Exception as error:
            finals[at] = _internal(one.lower, error)
    return [finals.get(at, lower.filled) for at, lower in enumerate(merged)], escalated


def _answers(requests: Sequence[Sequence[Request]], tier: Tier) -> list[Result]:
    """Returns the answers to the requests of these documents; a bound of seconds is that of each document."""
    if tier.seconds is None:
        together = [request for own in requests for request in own]
        answers = tier.filler.fill(together) if together else []
        return answers if tier.rounds < 2 else _asked_again(together, answers, tier.filler)
    answers = list[Result]()
    for at, own in enumerate(requests):
        with progress_part(at / len(requests), (at + 1) / len(requests)):
            for request in own:
                with answer_within(tier.seconds / len(own)):
                    answers += tier.filler.fill([request])
    return answers


def _asked_again(requests: Sequence[Request], answers: Sequence[Result], filler: Filler) -> list[Result]:
    """Returns the answers with what the model doubts as it reads that beside its surer values, which it is told."""
    doubted, surer = dict[int, Request](), dict[int, list[Given]]()
    for at, (request, answer) in enumerate(zip(requests, answers, strict=True)):
        if isinstance(answer, Filled):
            surer[at] = sure_values(request.form, answer, ASKED_AGAIN)
            known = {**request.known, **known_to_model(surer[at]).known}
            if not answer.leaves.keys() <= known.keys():
                doubted[at] = replace(request, known=known)
    made = [*answers]
    for (at, request), second in zip(doubted.items(), filler.fill([*doubted.values()]), strict=True):
        if isinstance(second, Filled):
            made[at] = put(request.form, second, surer[at])
    return made


def _stands(form: Form, leaf: Leaf) -> bool:
    """Returns whether a sure value is told to a second reader all the same: one that was given, or one in a list."""
    return leaf.origin in _GIVEN or (leaf.slot >= 0 and "*" in form.slots[leaf.slot].path)


def _unsure_of_worded(form: Form, filled: Filled) -> Filled:
    """Returns the record without confidence in texts that are to be worded, which a reader can only copy."""
    worded = {slot.index for slot in form.slots if slot.written}
    leaves = {
        at: replace(leaf, confidence=0.0) if leaf.slot in worded and leaf.origin not in _GIVEN else leaf
        for at, leaf in filled.leaves.items()
    }
    return replace(filled, leaves=leaves) if worded else filled


def is_unknown(filled: Filled) -> bool:
    """Returns whether a model seems not to know the kind of a document: its values are doubtful on the whole."""
    own = [leaf.confidence for leaf in filled.leaves.values() if leaf.origin not in ("known", "fact", "default")]
    return bool(own) and sum(own) / len(own) < KNOWN_KIND


def long_lists(form: Form, record: Any, longest: int) -> dict[str, int]:
    """Returns the lists of more rows than `longest`: pointer to the node's number. Lists in rows go with these."""
    return {
        one.pointer: one.array.index
        for one in walk_lists(form, record)
        if one.parent is None and one.array.key is None and len(one.rows) > longest
    }


def _is_asked(form: Form, lower: MergedRecord, tier: Tier, passed: Collection[str]) -> bool:
    """Returns whether a document is escalated, though not for what is within the places that are `passed` over."""
    if not tier.prefer_confident:
        return any(not lower.is_fact(at) for at in _doubted(lower.filled, tier.threshold, passed))
    leaves = {at: leaf for at, leaf in outside(lower.filled.leaves, passed).items() if not lower.is_fact(at)}
    own = {at: leaf.confidence for at, leaf in leaves.items() if leaf.origin not in _GIVEN}
    lists = {at: sure for at, sure in outside(lower.filled.lists, passed).items() if not lower.is_fact(at)}
    if not own and not lists:
        return False
    # A text to be worded has no confidence at all.
    needed = any(leaf.missing for leaf in leaves.values()) or 0.0 in own.values()
    refused = lower.refused or not contradicted_lists(form, lower.filled, lower.document.text) <= {*passed}
    return needed or refused or likely_right(own, lists) < tier.threshold


def _doubted(filled: Filled, below: float, passed: Collection[str]) -> list[str]:
    """Returns the pointers of the values, rows and lists in doubt, but within the places that are `passed` over."""
    doubted = [at for at, leaf in filled.leaves.items() if is_unsure(leaf, below)]
    doubted += [at for at, (_, chance) in filled.rows.items() if chance < below]
    doubted += [at for at, sure in filled.lists.items() if sure < below]
    return [at for at in doubted if not lies_in(at, passed)]


def _answered(result: Filled, elsewhere: frozenset[str]) -> Filled:
    """Returns a chunk's answer without what it was not asked."""
    leaves, rows = outside(result.leaves, elsewhere), outside(result.rows, elsewhere)
    return replace(result, leaves=leaves, rows=rows, lists=outside(result.lists, elsewhere))


def _internal(lower: MergedRecord, error: Exception) -> Failed:
    """Returns the failure for an internal error with one document; other documents go on."""
    return Failed(lower.filled.id, "internal_error", f"{type(error).__name__}: {error}"[:2000])


@dataclass(frozen=True, slots=True)
class _Raised:
    """An escalated document with its chunks, its sure values, and what its requests tell of these and of given ones.

    partial: whether other chunks may not be asked.
    """

    lower: MergedRecord
    asked: Sequence[AskedChunk]
    form: Form
    sure: Sequence[Given]
    beside: KnownToModel
    prefer_confident: bool
    long: Mapping[str, int]
    partial: bool

    @property
    def requests(self) -> list[Request]:
        lower = self.lower
        return requests_of(lower.document, self.form, self.asked, self.beside, draft=lower.filled)

    def merge(self, results: Sequence[Result]) -> Result:
        """Returns the record of the answers; sure values keep the cheap model's evidence and confidence."""
        failed = next((result for result in results if isinstance(result, Failed)), None)
        if failed is not None:
            return replace(self.lower.filled, alone=True) if self.prefer_confident else failed
        chunks = [chunk for chunk, _ in self.asked]
        answers = zip((r for r in results if isinstance(r, Filled)), self.asked, strict=True)
        filled = merge(self.form, chunks, [_answered(result, elsewhere) for result, (_, elsewhere) in answers])
        own, text = self.lower.filled, self.lower.document.text
        raised = put(self.form, replace(filled, steps=own.steps, reopened=own.reopened), self.sure)
        raised = remove_sum_rows(self.form, place_numbers(self.form, raised, text, self.beside.known), text)
        if self.prefer_confident:
            # Nobody asked for the long lists, so the record has its own ones.
            own = _unsure_of_worded(self.form, own)
            unasked = frozenset.intersection(*(elsewhere for _, elsewhere in self.asked))
            kept = self.long.keys() | unasked
            settled = {} if self.partial else settled_lists(self.form, text, own, raised, kept)
            both = prefer_confident_record(self.form, own, raised, kept, settled, self.partial)
            if not self.partial:
                both = put_other_readings(self.form, both, (own, raised), {*kept, *settled})
            both = weighed(self.form, both, own, raised, self.beside.known, kept)
            raised = doubt_contradicted_lists(self.form, both, text)
        return go_through(self.form, replace(self.lower, filled=raised), RAISED)
