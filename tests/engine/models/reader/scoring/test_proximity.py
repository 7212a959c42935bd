"""Reranking by proximity: an object's fields stand near each other, and two objects compete for one text."""

from __future__ import annotations

import math
import time

import pytest
from tests.support.tiny_network import wordpieces

from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.scoring.reranking import rerank_by_proximity

PAGE = """Weber Metall KG                              Deliver to:
Ringstrasse 7                                Baustelle Nord
10115 Berlin                                 Hafenweg 12
                                             20457 Hamburg




Hartmann Bau AG
Lindenallee 40
50667 Koeln
"""
Found = dict[str, dict[str, float]]
CONFIG = DEFAULT_PRIORS.proximity


def told(pieces: Pieces, found: Found, absent: float = 0.02) -> Found:
    """The probabilities of the values of "object/field", beside absence, after the reranking."""
    candidates = [
        [Candidate(v.encode(), ((PAGE.index(v), PAGE.index(v) + len(v)),)) for v in values]
        for values in found.values()
    ]
    changed = rerank_by_proximity(
        [name.rpartition("/")[0] for name in found],
        candidates,
        [[math.log(p) for p in values.values()] for values in found.values()],
        [math.log(absent)] * len(found),
        pieces,
        CONFIG,
    )
    return {
        name: dict(zip(values, map(math.exp, logits), strict=True))
        for (name, values), logits in zip(found.items(), changed, strict=True)
    }


@pytest.fixture(scope="module")
def page() -> Pieces:
    return wordpieces().pieces(PAGE)


def test_a_field_takes_the_value_nearest_to_the_rest_of_its_object(page: Pieces) -> None:
    seller = {"seller/name": {"Hartmann Bau AG": 0.9}, "seller/city": {"Koeln": 0.8}}
    heard = told(page, {**seller, "seller/street": {"Ringstrasse 7": 0.55, "Lindenallee 40": 0.4}})
    street = heard["seller/street"]
    assert street["Lindenallee 40"] > 0.8 > 0.2 > street["Ringstrasse 7"]
    assert sum(street.values()) == pytest.approx(0.95), "that there is a value is as likely as before"


def test_a_value_below_the_object_counts_as_nearer_than_one_beside_it(page: Pieces) -> None:
    name, streets = {"Weber Metall KG": 0.9}, {"Hafenweg 12": 0.5, "Ringstrasse 7": 0.45}
    heard = told(page, {"buyer/name": name, "buyer/street": streets})
    assert heard["buyer/street"]["Ringstrasse 7"] > 0.8


def test_words_that_are_surely_of_another_object_are_given_up(page: Pieces) -> None:
    both: Found = {
        "buyer/street": {"Ringstrasse 7": 0.95},
        "seller/street": {"Ringstrasse 7": 0.5, "Lindenallee 40": 0.45},
    }
    heard = told(page, both)
    assert heard["seller/street"]["Lindenallee 40"] > 0.8
    assert heard["buyer/street"]["Ringstrasse 7"] == pytest.approx(0.95), "one candidate has nowhere to go"


def test_the_same_words_in_two_fields_of_an_object_do_not_support_each_other(page: Pieces) -> None:
    lone: Found = {
        "seller/name": {"Hartmann Bau AG": 0.5, "Weber Metall KG": 0.4},
        "seller/contact": {"Hartmann Bau AG": 0.9},
    }
    # A value elsewhere counts as far away; a value at the same place counts as no nearness at all.
    heard = told(page, lone)["seller/name"]
    assert heard["Hartmann Bau AG"] <= 0.5 + 1e-9


def test_one_field_alone_and_values_without_a_place_are_left_as_they_are(page: Pieces) -> None:
    assert rerank_by_proximity(["a"], [[Candidate(b"1")]], [[-1.0]], [-0.5], page, CONFIG) == [[-1.0]]
    assert rerank_by_proximity([], [], [], [], page, CONFIG) == []
    placeless = [[Candidate(b"1"), Candidate(b"2")], []]
    spelled = rerank_by_proximity(["a", "a"], placeless, [[-1.0, -2.0], []], [-2.0, -0.1], page, CONFIG)
    assert spelled[0] == pytest.approx([-1.0, -2.0]) and spelled[1] == []


def test_very_unlikely_values_keep_finite_scores(page: Pieces) -> None:
    place = ((0, 5),)
    found = [[Candidate(b"1", place)], [Candidate(b"2", place)]]
    changed = rerank_by_proximity(["a", "b"], found, [[-800.0], [-900.0]], [-math.inf, 0.0], page, CONFIG)
    assert all(math.isfinite(x) for own in changed for x in own)


def test_a_record_of_very_many_candidates_is_left_as_it_is_and_takes_no_time(page: Pieces) -> None:
    many = [[Candidate(b"1", ((0, 5),))] * 10 for _ in range(CONFIG.most // 10 + 1)]
    logits = [[-2.0 - at] * 10 for at in range(len(many))]
    assert rerank_by_proximity(list(range(len(many))), many, logits, [-1.0] * len(many), page, CONFIG) == logits
    began = time.thread_time()
    rerank_by_proximity(list(range(100)), many[:100], logits[:100], [-1.0] * 100, page, CONFIG)
    assert time.thread_time() - began < 5
