"""Weighs readings of a list by what the document tells of its rows: sums, products, numbers, counts, and places.

No words count. A column that adds up to a number printed outside of the rows bears a reading out. A row that repeats
the sum of those above it, and fills no more fields than they, is a total, and so is what stands below it as thinly.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Any

from cinnabar.engine.models.reader.confidence_features import SMALL_SUM, list_names, readings_of_figures
from cinnabar.engine.models.reader.tables.sums import is_about
from cinnabar.engine.readings.numerals import number_in_words
from cinnabar.engine.request import Filled, Leaf
from cinnabar.engine.tables.lines import line_end
from cinnabar.engine.tables.list_length import length_of
from cinnabar.schemas.automata.strings import copied, json_text, scalar_value
from cinnabar.schemas.form.fitting import accept
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_walk import RecordList, walk_lists
from cinnabar.schemas.pointers import MISSING, lies_in, put_value, value_at

# A changed one changes values: raise the part `merging` (engine/version.py).
#: What a printed sum or count weighs beside the shares of rows with a product and with a place, and a numbering.
SUM_WEIGHT, COUNT_WEIGHT = 2.0, 2.0
#: The share of the rows in which a field has a number, for it to be a column that may add up.
COLUMN_SHARE = 2 / 3
#: By how much a reading must be borne out better, for evidence to choose it; of readings of as many rows.
SETTLED, SAME_ROWS = 1.5, 0.05
#: The most confidence of a list of which two readings have other numbers of rows, and no evidence tells whose is right.
UNSETTLED = 0.69
#: The most confidence of a number that does not stand beside its row.
UNPLACED = 0.5
# A number with blanks between its thousands may be two numbers.
_NUMBERS = (
    re.compile(r"(?:(?<![\w.,])\.)?\d(?:[\d.,'’]*\d)?"),
    re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d+)?(?!\d)"),
)
#: A number beyond this is no amount.
MOST = 10**15
_AMOUNT = re.compile(r"[.,]\d\d(?!\d)")
_PRINTED_AMOUNT = re.compile(r"\d[\d.,'’ \u00a0\u202f]*[.,]\d\d(?!\d)")
_GIVEN = {"known", "fact"}
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class _ListedRow:
    """A row of a list: its pointer, and its leaves without those of inner lists, by their pointers in the row.

    `numbers` are those of its leaves that are some. `filled` leaves have a value that stands in the document.
    """

    pointer: str
    leaves: Mapping[str, Leaf]
    numbers: Mapping[str, float]
    filled: int

    @classmethod
    def of(cls, pointer: str, leaves: Mapping[str, Leaf]) -> _ListedRow:
        read = {name: _number(leaf) for name, leaf in leaves.items()}
        filled = sum(bool(leaf.spans) and leaf.text not in (None, "null") for leaf in leaves.values())
        return cls(pointer, leaves, {name: one for name, one in read.items() if one is not None}, filled)

    @property
    def begin(self) -> int | None:
        """The first character of its values, None without any in the document."""
        return min((start for leaf in self.leaves.values() for start, _ in leaf.spans), default=None)


class PrintedNumbers:
    """The numbers that a text prints, with their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._places: dict[float, list[int]] = {}
        self._amounts: set[float] = set()
        for number, at in _printed(text):
            self._places.setdefault(number, []).append(at)
            if _PRINTED_AMOUNT.match(text, at):
                self._amounts.add(number)

    def has(self, number: float) -> bool:
        """Returns whether a number stands anywhere, and is no small whole one, which may be any number of a page.

        One that is printed with two decimals is an amount, however small.
        """
        found = round(abs(number), 2)
        is_any = found < SMALL_SUM and found == int(found)
        return found in (self._amounts if is_any else self._places) and found != 0

    def outside(self, number: float, rows: Sequence[_ListedRow]) -> list[int]:
        """Returns where a number stands that is no value of these rows."""
        own = [span for row in rows for leaf in row.leaves.values() for span in leaf.spans]
        found = self._places.get(round(abs(number), 2), [])
        return [at for at in found if not any(start <= at < end for start, end in own)]


def remove_sum_rows(form: Form, filled: Filled, text: str) -> Filled:
    """Returns a record without the rows of lists that are sums of those above, and what follows these as thinly."""
    printed, stated = PrintedNumbers(text), [number for number, _ in _stated(filled) if number]
    for one, rows in _lists(form, filled):
        gone = _sum_rows(rows, printed, stated)
        changed = _without_rows(form, filled, one, gone) if gone else None
        filled = changed or filled
    return filled


def place_numbers(form: Form, filled: Filled, text: str, told: Collection[str] = ()) -> Filled:
    """Returns a record in whose rows a number that stands nowhere near its row is null, or in doubt.

    It is in doubt if it may not be null, or if the document prints it elsewhere, as a rate below the rows; one digit
    alone tells nothing there. The values at the places that were `told` stay.
    """
    printed, leaves, value = PrintedNumbers(text), dict(filled.leaves), copied(filled.value)
    for _, rows in _lists(form, filled):
        for row in rows:
            for name, number in row.numbers.items():
                leaf, at = row.leaves[name], f"{row.pointer}/{name}"
                if at in told or leaf.origin == "default" or _stands(row, name, number, text):
                    continue
                elsewhere = bool(leaf.spans or printed.outside(number, rows))
                elsewhere &= number >= 10 or number != int(number)
                slot = form.slots[leaf.slot] if leaf.slot >= 0 else None
                if slot is not None and slot.nullable and not elsewhere:
                    leaf = replace(leaf, text="null", spans=(), origin="absent", absence=UNPLACED)
                    put_value(value, at, None)
                leaves[at] = replace(leaf, confidence=min(leaf.confidence, UNPLACED))
    value = accept(form, value)
    return filled if value is MISSING else replace(filled, value=value, leaves=leaves)


def lists_without_sum(form: Form, filled: Filled, text: str) -> set[str]:
    """Returns the lists whose amounts add up to no printed number, though the record states one beyond each of them.

    A list adds up to none either if a row has an amount that is not in the sum.

    An amount is printed with two decimals; none is below zero, for bookings add up to no total.
    """
    printed = PrintedNumbers(text)
    stated = [abs(number) for number, leaf in _stated(filled) if _is_amount(leaf, text)]
    found: set[str] = set()
    for place, rows in _lists(form, filled):
        columns = _columns(rows)
        every = [number for row in rows for number in row.numbers.values()]
        most = max(map(abs, every), default=0.0)
        told = min(every, default=-1.0) >= 0 and any(number > most and not is_about(number, most) for number in stated)
        told = told and any(_has_amounts(rows, name, text) for name in columns)
        adding = [name for name in columns if _is_printed_sum(rows, name, printed)]
        sums = [abs(math.fsum(row.numbers.get(name, 0.0) for row in rows)) for name in columns]
        # Two balances differ by the bookings between them.
        told = told and not any(is_about(abs(one - two), total) for total in sums for one in stated for two in stated)
        if any(_is_uncounted(row, adding, text) for row in rows) if adding else told:
            found.add(place.pointer)
    return found


def contradicted_lists(form: Form, filled: Filled, text: str) -> set[str]:
    """Returns the lists that do not add up, or of whose rows the document tells another number."""
    found = lists_without_sum(form, filled, text)
    for place, rows in _lists(form, filled):
        begins = [row.begin for row in rows if row.begin is not None]
        if rows and length_of(text, begins, list_names(place.array)).disagrees:
            found.add(place.pointer)
    return found


def doubt_contradicted_lists(form: Form, filled: Filled, text: str) -> Filled:
    """Returns a record with doubt in the lists that do not add up."""
    doubted = {at: min(filled.lists.get(at, 1.0), UNSETTLED) for at in lists_without_sum(form, filled, text)}
    return replace(filled, lists={**filled.lists, **doubted}) if doubted else filled


def settled_lists(form: Form, text: str, one: Filled, other: Filled, kept: Collection[str] = ()) -> dict[str, bool]:
    """Returns, by the pointer of each list that evidence settles, whether it bears the second reading out.

    The lists at and below the places that are `kept` are the first one's.
    """
    printed = PrintedNumbers(text)
    mine = {at.pointer: rows for at, rows in _lists(form, one) if not lies_in(at.pointer, kept)}
    settled: dict[str, bool] = {}
    for place, theirs in _lists(form, other):
        if place.pointer in mine:
            both = [_weight(own, place, printed) for own in (mine[place.pointer], theirs)]
            same = len(theirs) == len(mine[place.pointer])
            if abs(both[1] - both[0]) >= (SAME_ROWS if same else SETTLED):
                settled[place.pointer] = both[1] > both[0]
    return settled


def put_other_readings(form: Form, chosen: Filled, readings: Sequence[Filled], settled: Collection[str]) -> Filled:
    """Returns a record with doubt in each list of which a reading has another number of rows, and with these rows.

    settled: the lists that evidence settled, which stay as they are.
    """
    lists, others = dict(chosen.lists), dict(chosen.others)
    for one in walk_lists(form, chosen.value):
        if one.parent is not None or one.array.key is not None or one.pointer in settled:
            continue
        for reading in readings:
            items = value_at(reading.value, one.pointer)
            if isinstance(items, list) and len(items) != len(value_at(chosen.value, one.pointer)):
                lists[one.pointer] = min(lists.get(one.pointer, 1.0), UNSETTLED)
                others[one.pointer] = json_text(items)
    return replace(chosen, lists=lists, others=others) if others else chosen


def _lists(form: Form, filled: Filled) -> Iterator[tuple[RecordList, list[_ListedRow]]]:
    """Yields the lists of a record outside of others, with their rows, but for those of which values were given."""
    for one in walk_lists(form, filled.value):
        rows = _rows(filled, one) if one.parent is None and one.array.key is None and not one.array.prefix else []
        if one.parent is None and not any(leaf.origin in _GIVEN for row in rows for leaf in row.leaves.values()):
            yield one, rows


def _rows(filled: Filled, place: RecordList) -> list[_ListedRow]:
    own, begin = defaultdict[str, dict[str, Leaf]](dict), f"{place.pointer}/"
    for at, leaf in filled.leaves.items():
        step, _, name = at.removeprefix(begin).partition("/")
        if at.startswith(begin) and not any(one.isdecimal() for one in name.split("/")):
            own[begin + step][name] = leaf
    return [_ListedRow.of(at, own[at]) for at in place.rows]


def _weight(rows: Sequence[_ListedRow], place: RecordList, printed: PrintedNumbers) -> float:
    """Returns what bears a reading of a list out."""
    if not rows:
        return 0.0
    begins = [row.begin for row in rows if row.begin is not None]
    length = length_of(printed.text, begins, list_names(place.array))
    ascending = 1 + sum(one < two for one, two in pairwise(begins)) if begins else 0
    products = sum(_is_product([*row.numbers.values()]) for row in rows)
    weight = SUM_WEIGHT * any(_is_printed_sum(rows, name, printed) for name in _columns(rows))
    weight += COUNT_WEIGHT * ((length.told == len(rows)) - length.disagrees)
    return weight + length.numbered + (ascending + products) / len(rows)


def _stated(filled: Filled) -> Iterator[tuple[float, Leaf]]:
    """Yields the numbers of a record outside of rows."""
    for pointer, leaf in filled.leaves.items():
        number = None if lies_in(pointer, filled.rows) else _number(leaf)
        if number is not None:
            yield number, leaf


def _is_amount(leaf: Leaf, text: str) -> bool:
    return any(_AMOUNT.search(text, start, end) for start, end in leaf.spans)


def _has_amounts(rows: Sequence[_ListedRow], name: str, text: str) -> bool:
    """Returns whether all numbers of a column that were found in the text are printed as amounts."""
    placed = [row.leaves[name] for row in rows if name in row.numbers and row.leaves[name].spans]
    return bool(placed) and all(_is_amount(leaf, text) for leaf in placed)


def _columns(rows: Sequence[_ListedRow]) -> list[str]:
    """Returns the fields that have numbers in most rows; one row of two tells already."""
    filled = Counter(name for row in rows for name in row.numbers)
    return [name for name, count in filled.items() if count >= min(len(rows) - 1, COLUMN_SHARE * len(rows))]


def _is_printed_sum(rows: Sequence[_ListedRow], name: str, printed: PrintedNumbers) -> bool:
    """Returns whether a column adds up to a number that is printed outside of the rows."""
    numbers = [row.numbers.get(name, 0.0) for row in rows]
    total = math.fsum(numbers)
    if not printed.has(total):
        return False
    # A value that was not found in the text stands at one of these places all the same.
    lost = sum(not row.leaves[at].spans for row in rows for at, one in row.numbers.items() if is_about(one, total))
    return len(printed.outside(total, rows)) > lost


def _is_product(numbers: Sequence[float]) -> bool:
    """Returns whether one of a row's numbers is the product of two others, of which none is one."""
    several = [(at, number) for at, number in enumerate(numbers) if abs(number) > 1]
    return any(
        is_about(one * two, numbers[at]) for i, one in several for j, two in several if i < j
        for at in range(len(numbers)) if at not in (i, j)
    )  # fmt: skip


def _sum_rows(rows: Sequence[_ListedRow], printed: PrintedNumbers, stated: Sequence[float]) -> set[int]:
    """Returns the places of the rows that are sums of those above, and of the thinner rows behind a printed sum.

    Rows that fill as much as those above are the next part of the list. A sum that does is no such row by chance if it,
    or what stands behind it, is one of the numbers `stated` in the record outside of rows: all behind it goes then.
    """
    # Numbers and counts are sums of those above them by chance: 1 + 2 = 3.
    columns = [name for name in _columns(rows) if _has_amounts(rows[:2], name, printed.text)]
    # Rows that add up all together are borne out, but for those that pay for the others.
    if adding := [name for name in columns if _is_printed_sum(rows, name, printed)]:
        # Bookings of two sides, as of a ledger, have a sum of each side: the same number twice.
        totals = {name: math.fsum(row.numbers.get(name, 0.0) for row in rows) for name in adding}
        once = [name for name, total in totals.items() if len(printed.outside(total, rows)) == 1]
        return next(filter(None, (_payments(rows, name) for name in once)), set())
    for name in columns:
        numbers = [row.numbers.get(name, 0.0) for row in rows]
        sums, fewest = [*accumulate(numbers)], [*accumulate((row.filled for row in rows), min)]
        for at in range(1, len(rows)):
            least, own, total = fewest[at - 1], rows[at].filled, sums[at - 1]
            is_sum = bool(numbers[at]) and is_about(numbers[at], total)
            if not is_sum and not printed.has(total):
                continue
            # Thin rows before the next full one are those of the list's next part.
            full = max((k for k in range(at, len(rows)) if rows[k].filled >= least), default=-1)
            thin = {*range(max(at, full + 1), len(rows))}
            # One row is no sum of that above by its number alone: it stands behind them, too.
            is_sum = is_sum and (at > 1 or bool(printed.outside(total, rows[:2])))
            if is_sum and own < least:
                thin |= {*range(at, next((k for k in range(at, len(rows)) if rows[k].filled >= least), len(rows)))}
            if thin and (at in thin if is_sum else at > 1 and _is_printed_sum(rows[:at], name, printed)):
                return thin
            is_told = at > 1 and any(is_about(one, two) for one in stated for two in numbers[at:])
            ends = range(at + 1, len(rows))
            # The sum with this row stands behind it, or is printed: then it is a row.
            if is_sum and own == least and is_told and not any(
                is_about(sums[end - 1], numbers[end]) or _is_printed_sum(rows[:end], name, printed) for end in ends
            ):
                return {*range(at, len(rows))}
    return set()


def _payments(rows: Sequence[_ListedRow], name: str) -> set[int]:
    """Returns the places of the rows without a number in this column whose numbers in another one have its sum."""
    left = {at: row.numbers for at, row in enumerate(rows) if name not in row.numbers}
    total = math.fsum(row.numbers.get(name, 0.0) for row in rows)
    others = dict.fromkeys(field for numbers in left.values() for field in numbers)
    paid = any(is_about(math.fsum(numbers.get(field, 0.0) for numbers in left.values()), total) for field in others)
    return {*left} if paid else set()


def _is_uncounted(row: _ListedRow, names: Collection[str], text: str) -> bool:
    """Returns whether a row has amounts, and none in these columns."""
    amounts = {at for at in row.numbers if _is_amount(row.leaves[at], text)}
    return bool(amounts) and row.numbers.keys().isdisjoint(names)


def _stands(row: _ListedRow, name: str, number: float, text: str) -> bool:
    """Returns whether a number stands in the lines of the row's other values, as figures or as a word.

    Of two fields that have one printed number the less sure one has none.
    """
    spans = [span for field, leaf in row.leaves.items() if field != name for span in leaf.spans]
    if not spans:
        return True
    start = text.rfind("\n", 0, min(span[0] for span in spans)) + 1
    end = line_end(text, max(span[1] for span in spans))
    leaf = row.leaves[name]
    # A heading that all rows have as a value lies far above.
    own = sorted({(text.rfind("\n", 0, first) + 1, line_end(text, last)) for first, last in spans})
    lines = "\n".join(text[first:last] for first, last in own)
    places = {at for one, at in _printed(lines) if is_about(abs(number), one)}
    if places:
        claims = [row.leaves[at].confidence for at, one in row.numbers.items() if is_about(one, number)]
        return len(claims) <= len(places) or leaf.confidence > min(claims)
    if any(start <= a and b <= end for a, b in leaf.spans):
        return True
    words = (number_in_words(match[0]) for match in _WORD.finditer(lines))
    return any(one is not None and is_about(number, float(one)) for one in words)


def _without_rows(form: Form, filled: Filled, place: RecordList, gone: Collection[int]) -> Filled | None:
    """Returns a record without these rows of a list; None if its schema does not allow that."""
    value, begin = copied(filled.value), f"{place.pointer}/"
    items = value_at(value, place.pointer)
    moved = {at: new for new, at in enumerate(at for at in range(len(items)) if at not in gone)}
    items[:] = [items[at] for at in moved]
    value = accept(form, value)
    if value is MISSING:
        return None

    def kept(pointer: str) -> str | None:
        if not pointer.startswith(begin):
            return pointer
        step, slash, rest = pointer[len(begin) :].partition("/")
        return f"{begin}{moved[int(step)]}{slash}{rest}" if int(step) in moved else None

    leaves = {new: leaf for at, leaf in filled.leaves.items() if (new := kept(at)) is not None}
    rows = {new: row for at, row in filled.rows.items() if (new := kept(at)) is not None}
    lists = {new: sure for at, sure in filled.lists.items() if (new := kept(at)) is not None}
    return replace(filled, value=value, leaves=leaves, rows=rows, lists=lists)


def _printed(text: str) -> Iterator[tuple[float, int]]:
    """Yields the numbers that the figures of a text may spell, with their places."""
    for match in (match for pattern in _NUMBERS for match in pattern.finditer(text)):
        for number in {*readings_of_figures(match[0])}:
            yield number, match.start()


def _number(leaf: Leaf) -> float | None:
    value: Any = None if leaf.text is None else scalar_value(leaf.text)
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    return float(value) if -MOST < value < MOST else None
