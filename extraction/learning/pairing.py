"""Pairs the items of extracted lists with those of true lists, and tells which leaves are right and shown by a text.

A number equals a number in any spelling (integers exactly, others within a relative 1e-6), a boolean itself, and a date
or date-time in ISO form the same date. Any other text may differ only in case, blanks, punctuation and compatibility
forms (NFKC); points between digits, percent and currency signs do count.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from heapq import nsmallest
from typing import Any

import numpy as np

from cinnabar.schemas.pointers import escape

#: Longer lists are paired by shared values, because the assignment takes time cubic in their length.
MAX_ASSIGNMENT = 300
#: Items with the same value that an item of a long list is compared with: the nearest on each side.
NEAREST_ITEMS = 20
#: Items, of those that share the rarest values with it, whose leaves are all compared with its own.
CANDIDATE_ITEMS = 8
#: Numbers that are not integers may differ by this share.
NUMBER_TOLERANCE = 1e-6

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

    In a list longer than `MAX_ASSIGNMENT` it counts its partner.
    """
    if isinstance(truth, dict) and isinstance(predicted, dict):
        return sum(agreement(value, predicted[name], also) for name, value in truth.items() if name in predicted)
    if isinstance(truth, list) and isinstance(predicted, list):
        if max(len(truth), len(predicted)) > MAX_ASSIGNMENT:
            both = ((i, j) for i, j in pair_items(truth, predicted, also) if i is not None and j is not None)
            return sum(agreement(truth[i], predicted[j], also) for i, j in both)
        return sum(max((agreement(item, other, also) for other in predicted), default=0) for item in truth)
    if isinstance(truth, dict | list) or isinstance(predicted, dict | list):
        return 0
    return int(says_something(truth) and is_right(truth, predicted, also))


def pair_items(truths: Sequence[Any], predicted: Sequence[Any], also: Sequence[Any] = ()) -> list[Partners]:
    """Returns each item's index once, with that of its partner; None for an item without one.

    The pairs have the most equal leaves of any assignment, and each pair has at least one. In a list longer than
    `MAX_ASSIGNMENT` identical items are paired first, and if the rest is as long, those that share values. What is
    left is assigned if short enough, else paired in order.
    """
    pairs: list[tuple[int, int]] = []
    left, right = list(range(len(truths))), list(range(len(predicted)))
    for pair in (_identical, _similar, _assign):
        if pair is _assign or max(len(left), len(right)) > MAX_ASSIGNMENT:
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
            for j in alike[max(0, middle - NEAREST_ITEMS) : middle + NEAREST_ITEMS]:
                shared[j] += 1 / len(alike)
        likeliest = nsmallest(CANDIDATE_ITEMS, ((-weight, abs(i - j), j) for j, weight in shared.items()))
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
    if max(len(truths), len(predicted)) > MAX_ASSIGNMENT:
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


_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?([eE][-+]?\d{1,3})?\s*")
_DATE = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?P<time>[T ](?P<hour>\d{1,2}):(?P<minute>\d{2})(:(?P<second>\d{2})(\.\d+)?)?(Z|[-+]\d{2}:?\d{2})?)?"
)
_DECIMAL_MARK = re.compile(r"(?<=\d)[.,](?=\d)")
_PRINTED_NUMBER = re.compile(r"\d[\d.,' \u00a0\u202f]*")
_MARK = "\0"


def says_something(value: Any) -> bool:
    """Returns True if this scalar is a value to find; null and false stand for a document that says nothing."""
    return value is not None and value is not False


@lru_cache(maxsize=1 << 14)
def fold(text: str) -> str:
    """Returns the text for comparison: folded letters, digits, decimal marks, % and currency signs."""
    marked = _DECIMAL_MARK.sub(_MARK, unicodedata.normalize("NFKC", text).casefold())
    kept = (c for c in marked if c.isalnum() or c in "%\0" or unicodedata.category(c) == "Sc")
    return "".join(kept).replace(_MARK, ".")


def as_number(value: Any) -> float | int | None:
    """Returns the number that this scalar is or spells; None if it is not a number."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


@lru_cache(maxsize=1 << 14)
def as_date(text: str) -> tuple[date, tuple[int, int, int] | None] | None:
    """Returns the date, and the time if there is one, that this text spells in ISO form; else None."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    try:
        day = date(int(match["year"]), int(match["month"]), int(match["day"]))
    except ValueError:
        return None
    time = (int(match["hour"]), int(match["minute"]), int(match["second"] or 0)) if match["time"] else None
    return day, time


def is_same(truth: Any, predicted: Any) -> bool:
    """Returns True if these two scalars are equal by the rules at the top of this module."""
    if truth is None or predicted is None or isinstance(truth, bool) or isinstance(predicted, bool):
        return truth is predicted
    if isinstance(truth, int | float):
        number = as_number(predicted)
        if number is None:
            return False
        if isinstance(truth, int) or truth.is_integer():
            return number == truth
        if isinstance(number, int) and number.bit_length() > 1023:
            return False  # too large for a float, and nowhere near one
        return abs(number - truth) <= NUMBER_TOLERANCE * abs(truth)
    day = as_date(truth)
    if day is not None:
        return isinstance(predicted, str) and as_date(predicted) == day
    return fold(truth) == fold(str(predicted))


def is_right(truth: Any, predicted: Any, also: Sequence[Any]) -> bool:
    """Returns True if the prediction equals the truth or one of the other right values."""
    return is_same(truth, predicted) or (predicted is not None and any(is_same(a, predicted) for a in also))


def evidence_holds(value: Any, text: str) -> bool:
    """Returns True if this text shows the value.

    A number shows by its absolute value, a date by its day and year or as eight digits, other text folded.
    """
    if isinstance(value, int | float):
        return any(_prints(value, printed) for printed in _PRINTED_NUMBER.findall(text))
    day = as_date(value)
    if day is not None:
        numbers = {int(digits) for digits in re.findall(r"\d+", text)}
        joined = re.sub(r"\D", "", text)
        year = day[0].year
        return (
            (day[0].day in numbers and bool(numbers & {year, year % 100}))
            or f"{day[0]:%Y%m%d}" in joined
            or f"{day[0]:%d%m%Y}" in joined
        )
    folded = fold(value)
    return bool(folded) and folded in fold(text)


def _prints(value: float, printed: str) -> bool:
    """Returns True if these digits and marks spell the value, with a point or a comma before the decimals."""
    for mark in ".,":
        digits = re.sub(rf"[^\d{re.escape(mark)}]", "", printed).rstrip(mark).replace(mark, ".", 1)
        number = as_number(digits)
        if number is not None and abs(number - abs(value)) <= NUMBER_TOLERANCE * abs(value):
            return True
    return False
