"""Shared words: of two fields that want the same words the surer one gets them, and the other one doubts."""

from __future__ import annotations

import math

from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.scoring.reranking import rerank_by_shared_words

Spans = tuple[tuple[int, int], ...]
CONFIG = DEFAULT_PRIORS.shared_words


def after(*slots: dict[Spans, float]) -> list[float]:
    """The probability of each slot's first candidate, beside absence, after the reranking."""
    absent = [1 - sum(own.values()) for own in slots]
    changed = rerank_by_shared_words(
        [[Candidate(b"1", spans) for spans in own] for own in slots],
        [[math.log(p) for p in own.values()] for own in slots],
        [math.log(p) for p in absent],
        CONFIG,
    )
    weights = [[math.exp(x) for x in own] for own in changed]
    return [own[0] / (sum(own) + none) for own, none in zip(weights, absent, strict=True)]


HERE, BESIDE, THERE = ((10, 15),), ((12, 20),), ((40, 45),)


def test_the_less_sure_field_doubts_and_the_surer_one_does_not() -> None:
    sure, doubtful = after({HERE: 0.9}, {HERE: 0.6})
    assert math.isclose(sure, 0.9) and doubtful < 0.3


def test_words_that_overlap_are_shared_words() -> None:
    assert after({HERE: 0.9}, {BESIDE: 0.6})[1] < 0.3
    assert math.isclose(after({HERE: 0.9}, {THERE: 0.6})[1], 0.6)
    assert after({THERE: 0.9}, {((0, 5), (38, 50)): 0.6})[1] < 0.3


def test_fields_that_are_sure_of_the_same_words_both_keep_them() -> None:
    assert min(after({HERE: 0.95}, {HERE: 0.93})) > 0.5


def test_another_place_of_the_doubting_field_is_chosen_instead() -> None:
    _, rest = after({HERE: 0.9}, {THERE: 0.4, HERE: 0.5})
    assert rest > 0.5


def test_values_without_a_place_compete_with_nobody() -> None:
    assert math.isclose(after({(): 0.9}, {(): 0.6})[1], 0.6)


def test_one_field_and_too_many_candidates_are_left_as_they_are() -> None:
    assert math.isclose(after({HERE: 0.6})[0], 0.6)
    many = {((i, i + 1),): 0.5 / CONFIG.most for i in range(CONFIG.most)}
    assert math.isclose(after({HERE: 0.9}, {HERE: 0.4, **many})[1], 0.4, rel_tol=1e-6)
