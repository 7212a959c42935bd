"""Prefers values that together meet the checks of a schema over the likeliest single ones.

For a record that fails a check, the fields that the check names are tried with the other texts that the model read for
them, at most two fields at a time. Of the combinations with which fewer checks fail, the most probable one is taken.

Nothing is changed if a field of the check was not read. With fees that are 0 because none were found, and a check that
counts them as 0, 21 right amounts of broker statements became wrong, and 8 wrong ones right. Another reading of the
same words is no other text here: the sign of an amount, or the order of day and month, is that of the document's other
fields too, and the check would hold with one of them turned round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from cinnabar.engine.request import Alternative, Filled, Leaf, Result
from cinnabar.extraction.records.checks.checks import Checks, Results, failed
from cinnabar.extraction.storage.tables import field_of
from cinnabar.schemas.canonical import parse
from cinnabar.schemas.changes import covers
from cinnabar.schemas.compile import CompiledSchema
from cinnabar.schemas.errors import NotAccepted
from cinnabar.schemas.pointers import unescape

# Combinations less likely than this against the present texts are not tried: the reason is likelier elsewhere.
_LEAST_ODDS = 0.1
# The fields of a record that are tried, those with the likeliest alternatives first.
_FIELDS = 16
# The combinations of a record that are tried, fewer for a record of many values.
_COMBINATIONS, _VALUES = 400, 40_000


@dataclass(frozen=True, slots=True)
class _Combination:
    """Other texts for some fields, by pointer; `odds`: the logarithm of their probability against the present ones."""

    texts: Mapping[str, Alternative]
    odds: float


def settled(results: Sequence[Result], compiled: CompiledSchema, checks: Checks | None) -> list[Result]:
    """Returns the records, those that failed a check with other texts if some meet it.

    Every returned record is one that its schema allows.
    """
    if not checks:
        return list(results)
    at = [i for i, one in enumerate(results) if isinstance(one, Filled)]
    found = checks.evaluate([one.record for one in results if isinstance(one, Filled)])
    final = list(results)
    for i, verdict in zip(at, found, strict=True):
        one = results[i]
        if failed(verdict) and isinstance(one, Filled):
            final[i] = _settled(one, verdict, compiled, checks)
    return final


def _settled(filled: Filled, before: Results, compiled: CompiledSchema, checks: Checks) -> Filled:
    wrong = set(failed(before))
    places = [place for check in checks.each if check.name in wrong for place in check.places]
    record = parse(filled.record)
    options = _options(filled, record, places)
    most = min(_COMBINATIONS, 1 + _VALUES // max(1, len(filled.leaves)))
    likely = (one for one in _combinations(filled, options) if one.odds >= math.log(_LEAST_ODDS))
    tried = sorted(likely, key=lambda one: -one.odds)[:most]
    texts, allowed = [], []
    for one in tried:
        try:
            text = compiled.canonical(_with(record, one.texts))
        except NotAccepted:
            continue
        texts.append(text)
        allowed.append(one)
    best, chosen = len(wrong), None
    meeting: list[_Combination] = []
    for one, text, after in zip(allowed, texts, checks.evaluate(texts), strict=True):
        if any(after[name] is not True for name in before if before[name] is True):
            continue
        left = sum(after[name] is not True for name in wrong)
        if left < best:
            best, chosen, meeting = left, (one, text), []
        if left == best and chosen is not None:
            meeting.append(one)
    if chosen is None:
        return filled
    return _written(filled, *chosen, meeting)


def _options(filled: Filled, record: Any, places: Sequence[str]) -> dict[str, list[Alternative]]:
    """Returns the other texts of the fields at these places, for the fields with the likeliest ones.

    There are none if one of the fields was not read: it may be the reason why the check fails.
    """
    found: dict[str, list[Alternative]] = {}
    for pointer, leaf in filled.leaves.items():
        field = field_of(pointer, record)
        if not any(covers(place, field) for place in places):
            continue
        if leaf.origin in ("absent", "default") or leaf.missing:
            return {}
        others = [one for one in leaf.alternatives if one.text != leaf.text and not _overlap(one.spans, leaf.spans)]
        if others and leaf.origin == "copied" and not leaf.missing:
            found[pointer] = others
    ranked = sorted(found, key=lambda at: -_odds(filled.leaves[at], found[at][0]))
    return {at: found[at] for at in ranked[:_FIELDS]}


def _overlap(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> bool:
    return any(a < d and c < b for a, b in one for c, d in other)


def _odds(leaf: Leaf, other: Alternative) -> float:
    """Returns the logarithm of a text's probability against that of the leaf's own."""
    return math.log(max(other.probability, 1e-6) / max(leaf.posterior, 1e-6))


def _combinations(filled: Filled, options: Mapping[str, Sequence[Alternative]]) -> Iterator[_Combination]:
    odds = {at: [(one, _odds(filled.leaves[at], one)) for one in others] for at, others in options.items()}
    for at, others in odds.items():
        for one, own in others:
            yield _Combination({at: one}, own)
    for first, second in combinations(options, 2):
        for one, own in odds[first]:
            for other, more in odds[second]:
                yield _Combination({first: one, second: other}, own + more)


def _with(record: Any, texts: Mapping[str, Alternative]) -> Any:
    """Returns the record with other texts in these places."""
    for pointer, other in texts.items():
        record = _put(record, pointer.split("/")[1:], parse(other.text))
    return record


def _put(record: Any, steps: Sequence[str], value: Any) -> Any:
    if not steps:
        return value
    step, *rest = steps
    if isinstance(record, list):
        at = int(step)
        return [*record[:at], _put(record[at], rest, value), *record[at + 1 :]]
    name = unescape(step)
    return record | {name: _put(record[name], rest, value)}


def _written(filled: Filled, chosen: _Combination, text: str, meeting: Sequence[_Combination]) -> Filled:
    """Returns the record with another combination of texts, one of those that `meeting` has.

    A text is as sure as the former one was unsure, times its share among the combinations that meet the checks. The
    check itself raises no confidence: it may be met by accident.
    """
    total = sum(math.exp(one.odds) for one in meeting)
    leaves = dict(filled.leaves)
    for pointer, other in chosen.texts.items():
        leaf = leaves[pointer]
        share = sum(
            math.exp(one.odds)
            for one in meeting
            if pointer in one.texts and one.texts[pointer].text == other.text
        ) / total
        sure = round(share * (1.0 - leaf.confidence), 4)
        chosen_leaf = replace(leaf, text=other.text, spans=other.spans, confidence=sure)
        leaves[pointer] = replace(chosen_leaf, alternatives=(), joint=True)
    return replace(filled, record=text, leaves=leaves)
