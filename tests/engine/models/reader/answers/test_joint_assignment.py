"""Joint assignment: two alike fields that want the same words divide them, and none becomes empty by that."""

from __future__ import annotations

import math
from typing import Any

from tests.tiny_network import form_of

from cinnabar.engine.models.base import Candidate
from cinnabar.engine.models.reader.answers.joint_assignment import (
    is_single_text,
    paired_slots,
    rerank_jointly,
)
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.schemas.form.form import Form

Spans = tuple[tuple[int, int], ...]
CONFIG = DEFAULT_PRIORS.joint_assignment
TEXT: dict[str, Any] = {"type": ["string", "null"]}
TWO = form_of(lent=TEXT, taken=TEXT)
HERE, BESIDE, THERE = ((10, 15),), ((12, 20),), ((40, 45),)


def after(form: Form, *slots: dict[Spans, float]) -> list[list[float]]:
    """The probabilities of each slot's candidates, beside absence, after the reranking."""
    absent = [1 - sum(own.values()) for own in slots]
    changed = rerank_jointly(
        form.slots,
        [[Candidate(b"1", spans) for spans in own] for own in slots],
        [[math.log(p) for p in own.values()] for own in slots],
        [math.log(p) for p in absent],
        CONFIG,
    )
    weights = [[math.exp(x) for x in own] for own in changed]
    return [[w / (sum(own) + none) for w in own] for own, none in zip(weights, absent, strict=True)]


def pairs(form: Form) -> set[tuple[str, str]]:
    """The pointers of the pairs, those first in the form first."""
    texts = [slot for slot in form.slots if is_single_text(slot)]
    paired = paired_slots(texts)
    assert (paired == paired.T).all()
    return {(texts[i].path, texts[j].path) for j in range(len(texts)) for i in range(j) if paired[i, j]}


def test_texts_with_pointers_that_differ_in_one_step_are_pairs() -> None:
    party = {"type": "object", "properties": {"name": TEXT, "city": TEXT}, "required": ["name", "city"]}
    assert pairs(form_of(lender=party, taker=party, note=TEXT)) == {
        ("/lender/name", "/lender/city"),
        ("/taker/name", "/taker/city"),
        ("/lender/name", "/taker/name"),
        ("/lender/city", "/taker/city"),
    }


def test_texts_of_other_patterns_and_values_of_other_kinds_are_no_pairs() -> None:
    coded = TEXT | {"pattern": "^[A-Z]{3}$"}
    kinds = {"a": TEXT, "b": coded, "c": {"type": "number"}, "d": TEXT | {"format": "date"}, "e": {"enum": ["x", "y"]}}
    assert pairs(form_of(**kinds)) == set()
    assert pairs(form_of(**kinds, f=coded)) == {("/b", "/f")}


def test_texts_in_lists_and_in_branches_of_a_choice_are_no_pairs() -> None:
    row = {"type": "object", "properties": {"one": TEXT, "two": TEXT}, "required": ["one", "two"]}
    assert pairs(form_of(rows={"type": "array", "items": row})) == set()
    branches = [
        {"type": "object", "properties": {"kind": {"const": kind}, "name": TEXT}, "required": ["kind", "name"]}
        for kind in "ab"
    ]
    form = form_of(own={"anyOf": branches})
    assert [slot.path for slot in form.slots if is_single_text(slot)] == ["/own/name"] * 2 and pairs(form) == set()


def test_the_less_sure_of_two_fields_takes_its_next_value() -> None:
    sure, doubtful = after(TWO, {HERE: 0.9, THERE: 0.05}, {HERE: 0.5, THERE: 0.4})
    assert sure[0] > 0.8 and doubtful[1] > doubtful[0]


def test_the_probability_of_a_value_stays_unchanged() -> None:
    before = {HERE: 0.9, THERE: 0.05}, {HERE: 0.5, THERE: 0.1, BESIDE: 0.1}
    for own, changed in zip(before, after(TWO, *before), strict=True):
        assert math.isclose(sum(own.values()), sum(changed), rel_tol=1e-6)


def test_a_field_without_another_value_keeps_its_own() -> None:
    assert math.isclose(after(TWO, {HERE: 0.9}, {HERE: 0.6})[1][0], 0.6, rel_tol=1e-6)


def test_words_that_overlap_count_by_their_common_share() -> None:
    places = (HERE, BESIDE, THERE)
    same, part, none = (after(TWO, {taken: 0.9}, {HERE: 0.5, ((60, 65),): 0.4})[1][0] for taken in places)
    assert same < part < none and math.isclose(none, 0.5, rel_tol=1e-6)


def test_values_without_a_place_compete_with_nobody() -> None:
    assert math.isclose(after(TWO, {(): 0.9}, {(): 0.5, THERE: 0.4})[1][0], 0.5, rel_tol=1e-6)


def test_fields_that_are_no_pair_keep_the_same_words() -> None:
    coded = form_of(lent=TEXT, taken=TEXT | {"pattern": "^.{3,9}$"})
    assert math.isclose(after(coded, {HERE: 0.9}, {HERE: 0.5, THERE: 0.4})[1][0], 0.5, rel_tol=1e-6)


def test_too_many_candidates_are_left_as_they_are() -> None:
    many = {((i, i + 1),): 0.4 / CONFIG.most for i in range(100, 100 + CONFIG.most)}
    assert math.isclose(after(TWO, {HERE: 0.9}, {HERE: 0.5, **many})[1][0], 0.5, rel_tol=1e-6)
