"""Pairs the items of extracted lists with those of true lists, and the leaves of extracted records with true ones.

Short lists have the assignment with the most equal leaves. Long ones have identical items paired first, and then those
that share rare values, in time that grows with their length.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

import numpy as np

from cinnabar.extraction.learning.matching import as_date, as_number, fold, is_right, says_something
from cinnabar.schemas.pointers import escape

# Longer lists are paired by shared values, because the assignment takes time cubic in their length.
_MAX_ASSIGNMENT = 300
# Items with the same value that an item of a long list is compared with: the nearest on each side.
_NEAREST = 20
# Items, of those that share the rarest values with it, whose leaves are all compared with its own.
_CANDIDATES = 8

Path = tuple[str, ...]
#: The index of a true item and that of its partner; None if there is none.
Partners = tuple[int | None, int | None]
#: The names above a place, and the items of the lists around it.
Place = tuple[str | Partners, ...]


@dataclass(frozen=True, slots=True)
class LeafPair:
    """A place that has a scalar in the truth, in the prediction, or in both; `also` holds other right values."""

    place: Place
    truth: Any
    predicted: Any
    also: Sequence[Any]

    @property
    def field(self) -> Path:
        """Returns the names above the leaf, with `*` for each array index."""
        return tuple(step if isinstance(step, str) else "*" for step in self.place)

    @property
    def pointer(self) -> str:
        """Returns the JSON pointer into the prediction."""
        return "".join(f"/{escape(step) if isinstance(step, str) else step[1]}" for step in self.place)

    @property
    def is_paired(self) -> bool:
        """Returns True if every list item around the place has a partner."""
        return not any(None in step for step in self.place if not isinstance(step, str))

    @property
    def right(self) -> bool:
        """Returns True if the prediction is right."""
        return is_right(self.truth, self.predicted, self.also)


@dataclass(frozen=True, slots=True)
class ListPair:
    """A list of the prediction: its field, its pointer, and whether it is complete.

    It is complete if each of its items has a partner in the truth, and each item of the truth has one in it. Partners
    have at least one equal value.
    """

    field: Path
    pointer: str
    complete: bool


def agreement(truth: Any, predicted: Any, also: Sequence[Any]) -> int:
    """Returns the number of true values that are predicted right; each list item counts its best match.

    In a list longer than `_MAX_ASSIGNMENT` it counts its partner.
    """
    if isinstance(truth, dict) and isinstance(predicted, dict):
        return sum(agreement(value, predicted[name], also) for name, value in truth.items() if name in predicted)
    if isinstance(truth, list) and isinstance(predicted, list):
        if max(len(truth), len(predicted)) > _MAX_ASSIGNMENT:
            both = ((i, j) for i, j in pair_items(truth, predicted, also) if i is not None and j is not None)
            return sum(agreement(truth[i], predicted[j], also) for i, j in both)
        return sum(max((agreement(item, other, also) for other in predicted), default=0) for item in truth)
    if isinstance(truth, dict | list) or isinstance(predicted, dict | list):
        return 0
    return int(says_something(truth) and is_right(truth, predicted, also))


def pair_items(truths: Sequence[Any], predicted: Sequence[Any], also: Sequence[Any] = ()) -> list[Partners]:
    """Returns each item's index once, with that of its partner; None for an item without one.

    The pairs have the most equal leaves of any assignment, and each pair has at least one. In a list longer than
    `_MAX_ASSIGNMENT` identical items are paired first, and if the rest is as long, those that share values. What is
    left is assigned if short enough, else paired in order.
    """
    pairs: list[tuple[int, int]] = []
    left, right = list(range(len(truths))), list(range(len(predicted)))
    for pair in (_identical, _similar, _assign):
        if pair is _assign or max(len(left), len(right)) > _MAX_ASSIGNMENT:
            found = pair([truths[i] for i in left], [predicted[j] for j in right], also)
            pairs += [(left[a], right[b]) for a, b in found]
            left, right = _without(left, (a for a, _ in found)), _without(right, (b for _, b in found))
    return [*pairs, *((i, None) for i in left), *((None, j) for j in right)]


def _identical(truths: Sequence[Any], predicted: Sequence[Any], _also: Sequence[Any]) -> list[tuple[int, int]]:
    """Returns the pairs of identical items, in order."""
    places: dict[str, deque[int]] = defaultdict(deque)
    for j, item in enumerate(predicted):
        places[json.dumps(item, sort_keys=True)].append(j)
    waiting = ((i, places[json.dumps(item, sort_keys=True)]) for i, item in enumerate(truths))
    return [(i, places_of.popleft()) for i, places_of in waiting if places_of]


def _similar(truths: Sequence[Any], predicted: Sequence[Any], also: Sequence[Any]) -> list[tuple[int, int]]:
    """Returns pairs of items that share values: those with the most equal leaves first, then the nearest in order."""
    places: dict[Any, list[int]] = defaultdict(list)
    for j, item in enumerate(predicted):
        for value in dict.fromkeys(_values(item)):
            places[value].append(j)
    offers: list[tuple[int, int, int, int]] = []
    for i, item in enumerate(truths):
        shared: dict[int, float] = defaultdict(float)
        for alike in (places[value] for value in dict.fromkeys(_values(item)) if value in places):
            middle = bisect_left(alike, i)
            for j in alike[max(0, middle - _NEAREST) : middle + _NEAREST]:
                shared[j] += 1 / len(alike)
        likeliest = nsmallest(_CANDIDATES, ((-weight, abs(i - j), j) for j, weight in shared.items()))
        offers += [(-agreement(item, predicted[j], also), far, i, j) for _, far, j in likeliest]
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for gain, _, i, j in sorted(offers):
        if gain and i not in partner and j not in taken:
            partner[i] = j
            taken.add(j)
    return sorted(partner.items())


def _assign(truths: Sequence[Any], predicted: Sequence[Any], also: Sequence[Any]) -> list[tuple[int, int]]:
    """Returns the pairs of the best assignment; of lists too long for that, the pairs in order."""
    if not truths or not predicted:
        return []
    if max(len(truths), len(predicted)) > _MAX_ASSIGNMENT:
        return [(i, i) for i, both in enumerate(zip(truths, predicted, strict=False)) if agreement(*both, also)]
    # Extra: learn.
    from scipy.optimize import linear_sum_assignment

    gain = np.array([[agreement(item, other, also) for other in predicted] for item in truths])
    rows, columns = linear_sum_assignment(gain, maximize=True)
    return [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if gain[i, j]]


def _values(item: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yields the values of an item with their fields, in a form that is equal for most values that count as equal."""
    if isinstance(item, dict | list):
        for step, part in item.items() if isinstance(item, dict) else (("*", part) for part in item):
            yield from _values(part, (*path, step))
    elif says_something(item):
        number, day = as_number(item), as_date(item) if isinstance(item, str) else None
        yield path, (day or fold(str(item))) if number is None else round(number, 6)


def _without(indices: Sequence[int], gone: Iterable[int]) -> list[int]:
    """Returns the indices without those at these places."""
    removed = set(gone)
    return [index for at, index in enumerate(indices) if at not in removed]


def leaf_pairs(truth: Any, predicted: Any, also: Mapping[str, Sequence[Any]], place: Place = ()) -> Iterator[LeafPair]:
    """Yields the leaves of the two records in pairs; `also` has other right values by top-level field."""
    if isinstance(truth, dict) or isinstance(predicted, dict):
        truth = truth if isinstance(truth, dict) else {}
        predicted = predicted if isinstance(predicted, dict) else {}
        for name in {**truth, **predicted}:
            yield from leaf_pairs(truth.get(name), predicted.get(name), also, (*place, name))
        return
    accepted = also.get(place[0], ()) if place and isinstance(place[0], str) else ()
    if isinstance(truth, list) or isinstance(predicted, list):
        truth = truth if isinstance(truth, list) else []
        predicted = predicted if isinstance(predicted, list) else []
        for i, j in pair_items(truth, predicted, accepted):
            true_item, found = None if i is None else truth[i], None if j is None else predicted[j]
            yield from leaf_pairs(true_item, found, also, (*place, (i, j)))
    else:
        yield LeafPair(place, truth, predicted, accepted)


def list_pairs(
    truth: Any, predicted: Any, also: Mapping[str, Sequence[Any]], field: Path = (), pointer: str = ""
) -> Iterator[ListPair]:
    """Yields each list of the prediction whose surrounding items all have partners; a null in the truth is no item."""
    if isinstance(predicted, dict):
        truth = truth if isinstance(truth, dict) else {}
        for name, part in predicted.items():
            yield from list_pairs(truth.get(name), part, also, (*field, name), f"{pointer}/{escape(name)}")
    elif isinstance(predicted, list):
        truth = truth if isinstance(truth, list) else []
        pairs = pair_items(truth, predicted, also.get(field[0], ()) if field else ())
        yield ListPair(field, pointer, all(i is not None and j is not None for i, j in pairs))
        for i, j in pairs:
            if i is not None and j is not None:
                yield from list_pairs(truth[i], predicted[j], also, (*field, "*"), f"{pointer}/{j}")
