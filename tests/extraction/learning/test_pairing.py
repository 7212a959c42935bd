"""Pairing: items of lists with those of the truth, short and long lists, and the leaves of records."""

from __future__ import annotations

import itertools
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples

from cinnabar.extraction.learning.pairing import agreement, leaf_pairs, list_pairs, pair_items

SCALARS = st.sampled_from([None, False, True, 0, 1, 2.5, "a", "B", "2024-01-02"])
ITEMS = st.one_of(SCALARS, st.dictionaries(st.sampled_from("xyz"), SCALARS, max_size=3))
LISTS = st.lists(ITEMS, max_size=5)


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
        sum(agreement(*((a, b) if short is truths else (b, a)), ()) for a, b in zip(short, chosen, strict=True))
        for chosen in itertools.permutations(long, len(short))
    )
    assert sum(gains) == best


def row(n: int) -> dict[str, Any]:
    """A row whose amount no other row has; its day and kind are those of many others."""
    return {"day": f"2024-01-{n % 28 + 1:02}", "kind": "ab"[n % 2], "amount": n + 0.25, "note": None}


def partners(truths: list[Any], predicted: list[Any]) -> dict[int, int]:
    pairs = pair_items(truths, predicted)
    assert sorted(i for i, _ in pairs if i is not None) == list(range(len(truths)))
    assert sorted(j for _, j in pairs if j is not None) == list(range(len(predicted)))
    return {i: j for i, j in pairs if i is not None and j is not None}


# Around the limit of the assignment, where lists change from one way of pairing to the other.
@examples(60)
@given(st.integers(290, 420), st.integers(0, 40), st.integers(0, 40), st.booleans(), st.randoms(use_true_random=False))
def test_all_equal_items_of_a_permuted_list_find_each_other(
    length: int, removed: int, added: int, respelled: bool, chance: random.Random
) -> None:
    truths = [row(n) for n in range(length)]
    kept = truths[removed:] + [row(1000 + n) for n in range(added)]
    predicted = chance.sample(kept, len(kept))
    if respelled:  # equal by the rules of eval, not identical
        predicted = [item | {"amount": f"{item['amount']}0"} for item in predicted]
    found = partners(truths, predicted)
    amounts = {float(item["amount"]): j for j, item in enumerate(predicted)}
    assert all(found[i] == amounts[truths[i]["amount"]] for i in range(removed, length))


def test_one_missing_row_of_a_long_list_with_errors_in_all_rows_spoils_nothing() -> None:
    truths = [row(n) for n in range(1000)]
    wrong = [{"amount": n + 5000} if n % 3 else {"kind": "c"} for n in range(1000)]
    predicted = [item | change for item, change in zip(truths, wrong, strict=True)]
    at = {n: n - (n > 2) for n in range(1000) if n != 2}
    found = partners(truths, predicted[:2] + predicted[3:])
    assert all(found[n] == at[n] for n in at if not n % 3)
    right = sum(agreement(truths[i], predicted[j + (j > 1)], ()) for i, j in found.items())
    assert right == 2 * 999


def test_a_rare_value_decides_between_rows_that_share_common_ones() -> None:
    truths = [{"id": n, "a": 1, "b": 2} for n in range(400)]
    predicted = [{"id": n, "a": 3, "b": 4, "c": 5} for n in reversed(range(400))]
    assert partners(truths, predicted) == {n: 399 - n for n in range(400)}


def test_recurring_items_of_a_long_list_find_equal_ones_wherever_they_stand() -> None:
    truths = [{"a": n % 2, "b": n % 3, "c": n % 5} for n in range(600)]
    predicted = random.Random(1).sample(truths, 500)
    assert all(truths[i] == predicted[j] for i, j in partners(truths, predicted).items())


def test_items_with_common_values_only_find_the_one_that_shares_all_of_them() -> None:
    truths = [{"a": n % 10, "b": n // 10 % 10, "c": n // 100 + 1, "d": "x"} for n in range(1000)]
    predicted = [item | {"d": "y"} for item in truths[1:]]
    assert partners(truths, predicted) == {n: n - 1 for n in range(1, 1000)}


def test_long_lists_within_items_are_paired_alike() -> None:
    rows = [row(n) for n in range(400)]
    truth = {"accounts": [{"rows": rows}, {"rows": []}]}
    found = {"accounts": [{"rows": [item | {"kind": "c"} for item in rows[1:]]}]}
    leaves = list(leaf_pairs(truth, found, {}))
    assert sum(leaf.right and leaf.truth is not None for leaf in leaves) == 2 * 399


@examples(100)
@given(st.dictionaries(st.sampled_from("ab"), st.one_of(SCALARS, LISTS)))
def test_a_record_compared_with_itself_is_right_everywhere(record):
    assert all(leaf.right or not leaf.is_paired for leaf in leaf_pairs(record, record, {}))
    said = [leaf for leaf in leaf_pairs(record, record, {}) if leaf.truth not in (None, False)]
    assert all(leaf.right for leaf in said)


def test_pointers_name_places_of_the_prediction():
    leaves = list(leaf_pairs({"a/b": [1, 2]}, {"a/b": [2]}, {}))
    assert [(leaf.pointer, leaf.truth, leaf.is_paired) for leaf in leaves] == [
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
