"""Chooses how sure a record has to be so that few of the written values are wrong (`--at-most-wrong`).

Records below that confidence wait for a person. A few thresholds are tried, each by a bound from whole documents that
holds with 95% for all of them together (Bonferroni; Angelopoulos et al. 2021, "Learn then test", arXiv 2110.01052).
The sample says something of documents like its own only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import corrections
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.model_sources import AUTO
from cinnabar.extraction.filling.planned_models import reader_of
from cinnabar.extraction.learning.evaluation import leaves_of, predict
from cinnabar.extraction.learning.scoring import Prediction, spell_path
from cinnabar.extraction.learning.thresholds import SAMPLE_SHARES
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.plan.thresholds import PROMISE_PROBABILITY
from cinnabar.extraction.run.report.audit import share_right, verdicts
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.run.work.labelled_sets import LabelledSet, Truth, load_set
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import load_schema
from cinnabar.wording import with_noun

# Documents without end, of which the sample is a part.
_ENDLESS = 10**9


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A document of the sample: how sure its record is, and its right and wrong values, in all and by field.

    `confidence` is that of its least sure place, None if the record was held back or there is none.
    """

    confidence: float | None
    right: int
    wrong: int
    fields: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Promise:
    """The least confidence of a written record, and what it rests on.

    `kept` of `documents` have it, with so many `values` of which some are `wrong`; `at_most` is the bound on the share
    of wrong ones, and `fields` are bounds of fields that have enough values to tell.
    """

    least: float
    documents: int
    kept: int
    values: int
    wrong: int
    at_most: float
    fields: Mapping[str, float] = field(default_factory=dict)

    def sentence(self, most: float, basis: str) -> str:
        """Returns the promise in words, with what it rests on."""
        left = self.documents - self.kept
        by_field = ", ".join(f"{name} {share:.1%}" for name, share in sorted(self.fields.items()))
        return (
            f"at most {most * 100:g}% of the values that this run writes are wrong, "
            f"with {PROMISE_PROBABILITY:.0%} probability:"
            f" {basis} has"
            f" {self.wrong} wrong of {with_noun(self.values, 'value')} in records that are surer than {self.least:.3f}"
            f" (bound {self.at_most:.1%}); {left} of {with_noun(self.documents, 'document')}"
            f" ({left / self.documents:.0%}) wait for a person"
            + (f"; bounds of fields: {by_field}" if by_field else "; no field has values enough for a bound of its own")
        )


def most_wrong(documents: Iterable[tuple[int, int]], probability: float) -> float:
    """Returns the bound on the share of wrong values, from the right and wrong ones of each document.

    It is at least the exact one of documents that are right or wrong as a whole and none of which is wrong.
    """
    pairs = [(right, wrong) for right, wrong in documents if right + wrong]
    values = [right + wrong for right, wrong in pairs]
    low, _ = share_right([right for right, _ in pairs], values, _ENDLESS, 2 * probability - 1)
    return float(max(1 - low, 1 - (1 - probability) ** (1 / max(1, len(pairs)))))


def least_confidence(documents: Sequence[JudgedDocument], most: float, models: int = 1) -> Promise | None:
    """Returns the lowest threshold of those tried that keeps the share of wrong values below `most`; None if none does.

    `models` is the number of models that are tried with it.
    """
    sure = sorted((one for one in documents if one.confidence is not None), key=lambda one: -(one.confidence or 0.0))
    probability = _of_each(models)
    for share in SAMPLE_SHARES:
        surest = min(len(sure), round(share * len(documents)))
        if not surest:
            continue
        least = sure[surest - 1].confidence or 0.0
        kept = [one for one in sure if (one.confidence or 0.0) >= least]
        bound = most_wrong(((one.right, one.wrong) for one in kept), probability)
        if bound <= most:
            values, wrong = sum(one.right + one.wrong for one in kept), sum(one.wrong for one in kept)
            return Promise(least, len(documents), len(kept), values, wrong, bound, _bounds_of_fields(kept, most))
    return None


def _of_each(models: int) -> float:
    """Returns the probability of each bound with which all of those tried hold with PROMISE_PROBABILITY."""
    return 1 - (1 - PROMISE_PROBABILITY) / (len(SAMPLE_SHARES) * models)


def _bounds_of_fields(kept: Iterable[JudgedDocument], most: float) -> dict[str, float]:
    """Returns the bound of each field that so many documents have that none wrong would be enough."""
    pairs = defaultdict[str, list[tuple[int, int]]](list)
    for one in kept:
        for name, pair in one.fields.items():
            pairs[name].append(pair)
    enough = documents_needed(most)
    return {name: most_wrong(own, PROMISE_PROBABILITY) for name, own in pairs.items() if len(own) >= enough}


def documents_needed(most: float, probability: float = PROMISE_PROBABILITY) -> int:
    """Returns how many documents, none of them with a wrong value, tell that at most a share of values is wrong."""
    enough = range(1, round(40 / most) + 2)
    return enough[bisect_left(enough, True, key=lambda n: most_wrong([(1, 0)] * n, probability) <= most)]


def judged_document(line: Truth, prediction: Prediction, zero_is_null: bool = False) -> JudgedDocument:
    """Returns what a labelled document tells of the record that was read; null and false are no values."""
    record = prediction.get("record")
    if record is None:
        return JudgedDocument(None, 0, 0)
    fields = defaultdict[str, list[int]](lambda: [0, 0])
    for leaf in leaves_of(line, record, zero_is_null):
        if leaf.predicted is not None and leaf.predicted is not False:
            fields[spell_path(leaf.field)][not leaf.right] += 1
    sure = [*prediction["confidence"].values(), *prediction["rows"].values(), *prediction["lists"].values()]
    by_field = {name: (right, wrong) for name, (right, wrong) in fields.items()}
    right, wrong = (sum(pair[at] for pair in by_field.values()) for at in (0, 1))
    return JudgedDocument(min(sure, default=1.0), right, wrong, by_field)


def with_promise(plan: RunPlan, note: Callable[[str], object]) -> RunPlan:
    """Returns the plan with the least confidence that keeps its promise, and with the cheaper model if that is enough.

    `note` receives what it rests on. Raises UsageError if the sample cannot tell, or is of other documents.
    """
    if plan.at_most_wrong is None:
        if plan.sample is not None:
            raise UsageError("--sample: expected --at-most-wrong with it")
        return plan
    if len(plan.schemas) != 1 or plan.route:
        raise UsageError("--at-most-wrong: expected one --schema without --route")
    most = float(plan.at_most_wrong.rstrip("%")) / 100
    if not 0 < most < 1:
        raise UsageError(f"--at-most-wrong: expected more than 0% and less than 100%, got {plan.at_most_wrong}")
    assignment = Assignment.of(plan)
    if plan.sample is None:
        sampled = {"audit": _audited_documents(plan.out, assignment)}
        basis = "the audit of this folder"
    else:
        labelled, basis = load_set(plan.sample), str(plan.sample)
        if load_schema(plan.sample / "schema.json").fingerprint != assignment.source.fingerprint:
            raise UsageError(f"--sample {plan.sample}: expected documents that are labelled for this very schema")
        tried = {"": assignment}
        if assignment.escalation is not None:
            tried["reader"] = replace(assignment, escalation=None)
        sampled = {name: _read(labelled, one) for name, one in tried.items()}
    promises = {name: least_confidence(one, most, len(sampled)) for name, one in sampled.items()}
    kept = {name: one for name, one in promises.items() if one is not None}
    if not kept:
        raise UsageError(f"--at-most-wrong {plan.at_most_wrong}: {_refusal(sampled, most, basis)}")
    # A person costs more than any model, and the reader alone the least of the models.
    name, promise = max(kept.items(), key=lambda pair: (pair[1].kept, pair[0] == "reader"))
    sentence = promise.sentence(most, basis)
    if name == "reader":
        plan = plan.model_copy(update={"escalate_to": None, "model": _alone(plan.model)})
        sentence += "; the reader alone is enough"
    note(sentence)
    options = plan.options.model_copy(update={"min_confidence": max(plan.options.min_confidence, promise.least)})
    return plan.model_copy(update={"options": options.with_promise(sentence)})


def _alone(model: str | None) -> str:
    """Returns the model of a plan without the one that is asked beside it."""
    return reader_of(model or AUTO)


def _read(labelled: LabelledSet, assignment: Assignment) -> list[JudgedDocument]:
    options = assignment.options
    with ParserPool(options.workers, settings=parser_settings(options)) as pool:
        predictions = predict(labelled, replace(assignment.job(), min_confidence=0.0), pool)
    return [judged_document(one, predictions.get(one["file"]) or {}, **labelled.options) for one in labelled.truths]


def _audited_documents(out: Path | None, assignment: Assignment) -> list[JudgedDocument]:
    """Returns the documents that a second reader judged as this very model had read them."""
    if out is None or not out.is_dir():
        raise UsageError("--at-most-wrong: expected a --sample, or audited documents in --out, which is a new folder")
    judged = {
        (document, run): one
        for (document, schema, run), one in verdicts(corrections(out)).items()
        if schema == assignment.source.name
    }
    rows = query(out, "SELECT document, run_id, confidence, engine_fingerprint FROM records").rows
    return [
        JudgedDocument(sure, judged[document, run].right, judged[document, run].values - judged[document, run].right)
        for document, run, sure, engine in rows
        if (document, run) in judged and engine == assignment.fingerprint
    ]


def _refusal(sampled: Mapping[str, Sequence[JudgedDocument]], most: float, basis: str) -> str:
    """Returns why a sample cannot tell, and what would."""
    best = max(sampled.values(), key=lambda one: sum(document.right for document in one))
    right, wrong = (sum(getattr(one, name) for one in best) for name in ("right", "wrong"))
    needed = documents_needed(most, _of_each(len(sampled)))
    advice = (
        f"at least {needed} documents are needed, if none has a wrong value: label more of them"
        if len(best) < needed
        else "the model is wrong too often: correct documents and let it learn (cinnabar improve), or take a larger one"
    )
    return (
        f"{basis} cannot tell: it has {with_noun(len(best), 'document')} with {right + wrong} values, {wrong} of them"
        f" wrong, and no part of the surest ones has so few; {advice}, or promise a larger share"
    )
