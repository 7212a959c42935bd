"""Matching: equality of values, pairing of list items, and evidence for a value."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.extraction.learning.matching import (
    agreement,
    evidence_holds,
    is_same,
    leaf_pairs,
    list_pairs,
    pair_items,
)

SCALARS = st.sampled_from([None, False, True, 0, 1, 2.5, "a", "B", "2024-01-02"])
ITEMS = st.one_of(SCALARS, st.dictionaries(st.sampled_from("xyz"), SCALARS, max_size=3))
LISTS = st.lists(ITEMS, max_size=5)


@pytest.mark.parametrize(
    ("truth", "predicted", "same"),
    [
        ("ACME GmbH & Co. KG", "acme gmbh co kg", True),
        ("ﬁrst ＡＢＣ", "FIRST abc", True),
        ("1,234.5", "1.234,5", True),
        ("12.50", "1250", False),
        ("50%", "50", False),
        ("€ 5", "5", False),
        (7, "7.0", True),
        (7, 7.0000001, False),
        (0.1, 0.10000000001, True),
        (0.1, "1e-1", True),
        (0.1, 0.11, False),
        # A language model may write a number that no float holds.
        (0.1, 10**400, False),
        (5, "5 EUR", False),
        (True, 1, False),
        (1, True, False),
        (None, "", False),
        (False, None, False),
        ("2024-01-02", "2024-1-2", True),
        ("2024-01-02", "2024-01-02T10:00:00", False),
        ("2024-01-02T10:00:00Z", "2024-01-02 10:00", True),
        ("2024-13-02", "2024-13-02.", True),
    ],
)
def test_values_are_equal_as_defined(truth, predicted, same):
    assert is_same(truth, predicted) is same


@pytest.mark.parametrize(
    ("value", "text", "holds"),
    [
        (1234.5, "Total 1.234,50 EUR", True),
        (1234.5, "Total 1,234.50", True),
        (1234.5, "1 234.5", True),
        (-5, "5-", True),
        (1234.5, "12345", False),
        ("2024-03-01", "1. März 2024", True),
        ("2024-03-01", "01/03/24", True),
        ("2024-03-01", "20240301", True),
        ("2024-03-01", "March 2024", False),
        ("ACME", "to: Acme, Inc.", True),
        ("...", "...", False),
        ("ACME", "", False),
    ],
)
def test_evidence_holds_a_value_in_any_usual_print(value, text, holds):
    assert evidence_holds(value, text) is holds


@examples(150)
@given(LISTS, LISTS)
def test_pairing_uses_each_item_once_and_no_assignment_agrees_more(truths, predicted):
    pairs = pair_items(truths, predicted)
    assert sorted(i for i, _ in pairs if i is not None) == list(range(len(truths)))
    assert sorted(j for _, j in pairs if j is not None) == list(range(len(predicted)))
    gains = [agreement(truths[i], predicted[j], ()) for i, j in pairs if i is not None and j is not None]
    assert all(gains)
    short, long = sorted((truths, predicted), key=len)
    best = max(
        sum(
            agreement(*((a, b) if short is truths else (b, a)), ())
            for a, b in zip(short, chosen, strict=True)
        )
        for chosen in itertools.permutations(long, len(short))
    )
    assert sum(gains) == best


def test_lists_too_long_to_assign_are_paired_in_order_after_identical_items():
    truths = [{"n": i} for i in range(400)]
    pairs = pair_items(truths, truths[::-1][:390])
    assert {(i, j) for i, j in pairs if i is not None and j is not None} == {
        (i, 399 - i) for i in range(10, 400)
    }
    other = [{"n": i, "m": 1} for i in range(400)]
    assert pair_items(truths, other) == [(i, i) for i in range(400)]


@examples(100)
@given(st.dictionaries(st.sampled_from("ab"), st.one_of(SCALARS, LISTS)))
def test_a_record_compared_with_itself_is_right_everywhere(record):
    assert all(leaf.right or not leaf.paired for leaf in leaf_pairs(record, record, {}))
    said = [leaf for leaf in leaf_pairs(record, record, {}) if leaf.truth not in (None, False)]
    assert all(leaf.right for leaf in said)


def test_pointers_name_places_of_the_prediction():
    leaves = list(leaf_pairs({"a/b": [1, 2]}, {"a/b": [2]}, {}))
    assert [(leaf.pointer, leaf.truth, leaf.paired) for leaf in leaves] == [
        ("/a~1b/0", 2, True),
        ("/a~1b/None", 1, False),
    ]


def complete(truth: Any, predicted: Any) -> dict[str, bool]:
    return {one.pointer: one.complete for one in list_pairs(truth, predicted, {})}


def test_a_list_is_complete_with_a_partner_for_each_item_on_both_sides() -> None:
    items = [{"n": 1, "m": 5}, {"n": 2, "m": 6}]
    assert complete({"a": items}, {"a": [{"n": 2, "m": 0}, {"n": 1, "m": None}]}) == {"/a": True}
    assert complete({"a": items}, {"a": items[:1]}) == {"/a": False}
    assert complete({"a": items[:1]}, {"a": items}) == {"/a": False}
    assert complete({"a": items}, {"a": [items[0], {"n": 9, "m": 9}]}) == {"/a": False}
    assert complete({"a": items}, {"a": []}) == {"/a": False}


def test_an_empty_list_is_complete_if_the_truth_has_no_item() -> None:
    for truth in ({"a": []}, {"a": None}, {}):
        assert complete(truth, {"a": []}) == {"/a": True}
    assert complete([], []) == {"": True}


def test_a_list_within_an_item_counts_only_if_the_item_has_a_partner() -> None:
    truth = [{"n": 1, "parts": ["x", "y"]}]
    found = [{"n": 1, "parts": ["x"]}, {"n": 7, "parts": []}]
    assert complete(truth, found) == {"": False, "/0/parts": False}
