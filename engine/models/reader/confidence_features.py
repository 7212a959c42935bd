"""The signs that a list is complete: it has every item of the document and nothing else.

They come from the model (how sure it is of the rows, of the places that it refused, of the rows' values, of each
field over all rows, and of the whole record), and from the text: lines alike that begin no row, a separator behind the
last item, what the text says of the list's length (`tables/list_length.py`), and columns that add up to a printed sum.
All are log odds, logarithms or marks, for the logistic scale of `calibration.py`. Gaps between rows, and repeated rows
told nothing more on 46 sets.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cinnabar.engine.request import Filled, Leaf, Passage
from cinnabar.engine.tables.list_length import ListLength, length_of
from cinnabar.schemas.form.form import ArrayNode, Form, ObjectNode, Slot, walk
from cinnabar.schemas.form.record_walk import RecordList, walk_lists

#: The least sign of a sum of log probabilities.
LOWEST_SIGN = -12.0
#: The first parts of a line's shape that are compared.
SHAPE_PARTS = 6
#: The share of the rows whose lines have a shape that is the list's own.
OWN_SHAPE = 0.25
#: A sum below this, without decimals, may be any number of the page.
SMALL_SUM = 100
ConfidenceFeatures = dict[str, float]

#: Probabilities are clipped to this distance from 0 and 1 before their log odds are computed.
EDGE = 1e-3


def log_odds(probability: float, edge: float = EDGE) -> float:
    """Returns the logarithm of p / (1 - p), with p clipped to a distance of `edge` from 0 and 1."""
    p = min(max(probability, edge), 1.0 - edge)
    return math.log(p / (1.0 - p))


_NUMBER = re.compile(r"[-+]?\d(?:[\d.,'’ \u00a0\u202f]*\d)?")
_PART = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")


def list_features(
    form: Form, passage: Passage, filled: Filled, whole: ConfidenceFeatures
) -> dict[str, ConfidenceFeatures]:
    """Returns the signs of each list of a record by its pointer; lists with known rows have none.

    whole: the signs of the whole record. The probabilities are the model's own.
    """
    refused: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for place in filled.refused:
        refused[place.array].append((place.anchor - passage.offset, place.probability))
    text = _LinedText(passage.text)
    leaves = _leaves_by_row(filled)
    anchors = defaultdict[str, list[int]](list)
    for pointer, (anchor, _) in filled.rows.items():
        anchors[pointer.rpartition("/")[0]].append(anchor)
    anchors = defaultdict(list, {around: sorted(own) for around, own in anchors.items()})
    signs: dict[str, ConfidenceFeatures] = {}
    for record_list in walk_lists(form, filled.value):
        rows = [_Row.of(at, passage, filled, leaves) for at in record_list.rows]
        if any(leaf.origin == "known" for row in rows for leaf in row.leaves.values()):
            continue
        start, end = _region(record_list, passage, filled, anchors)
        left = [chance for anchor, chance in refused[record_list.array.index] if start <= anchor < end]
        begun = [row for row in rows if row.anchor is not None]
        places = [row.anchor for row in rows if row.anchor is not None]
        own = _of_model(begun, left) | _of_values(rows, text) | _of_fields(rows) | _of_text(begun, text, start, end)
        own |= _of_length(length_of(passage.text, places, list_names(record_list.array), end))
        own |= {name: whole[name] for name in ("record", "there", "length")}
        own |= _of_parent(record_list, filled, leaves)
        item = record_list.array.item
        own["fields"] = math.log1p(sum(isinstance(node, Slot) for node in walk(item)) if item else 0)
        own["not_read"] = float(item is None)
        signs[record_list.pointer] = own
    return signs


@dataclass(frozen=True, slots=True)
class _Row:
    """A row: the character of the text at which it begins (None for a filler), its probability and its leaves."""

    anchor: int | None
    probability: float
    leaves: Mapping[str, Leaf]
    spans: Sequence[tuple[int, int]]

    @classmethod
    def of(
        cls,
        pointer: str,
        passage: Passage,
        filled: Filled,
        leaves: Mapping[str, Mapping[str, Leaf]],
    ) -> _Row:
        anchor, chance = filled.rows.get(pointer, (None, 0.0))
        own = leaves.get(pointer, {})
        spans = sorted(
            (start - passage.offset, end - passage.offset) for leaf in own.values() for start, end in leaf.spans
        )
        return cls(None if anchor is None else anchor - passage.offset, chance, own, spans)


def list_names(array: ArrayNode) -> list[str]:
    """Returns the words for a list and for its items that its schema has."""
    item = array.item
    return [array.title, array.path.rpartition("/")[2], item.title if isinstance(item, ObjectNode) else ""]


def _leaves_by_row(filled: Filled) -> dict[str, dict[str, Leaf]]:
    """Returns the leaves of each row, those of its inner rows included, by the row's pointer."""
    by_row: dict[str, dict[str, Leaf]] = defaultdict(dict)
    for pointer, leaf in filled.leaves.items():
        at = pointer
        while at:
            if at in filled.rows:
                by_row[at][pointer] = leaf
            at = at.rpartition("/")[0]
    return by_row


def _region(
    record_list: RecordList, passage: Passage, filled: Filled, anchors: Mapping[str, Sequence[int]]
) -> tuple[int, int]:
    """Returns the characters of the text in which the items of a list may stand.

    anchors: where the rows of each list begin, ascending, by the list's pointer.
    """
    if record_list.parent is None or record_list.parent not in filled.rows:
        return 0, len(passage.text)
    start, own = filled.rows[record_list.parent][0], anchors[record_list.parent.rpartition("/")[0]]
    later = bisect_right(own, start)
    end = own[later] - passage.offset if later < len(own) else len(passage.text)
    return start - passage.offset, end


def _of_model(rows: Sequence[_Row], refused: Sequence[float]) -> ConfidenceFeatures:
    """Returns the signs from the probabilities of the rows and of the refused places."""
    chances = [row.probability for row in rows]
    taken = sum(math.log(max(chance, EDGE)) for chance in chances)
    not_taken = sum(math.log1p(-min(chance, 1 - EDGE)) for chance in refused)
    return {
        "decided": max(LOWEST_SIGN, taken + not_taken),
        "least": min((log_odds(chance) for chance in chances), default=0.0),
        "next": max((log_odds(chance) for chance in refused), default=log_odds(0.005)),
        "fewer": math.log1p(sum(1.0 - chance for chance in chances)),
        "rows": math.log1p(len(rows)),
        "empty": float(not rows),
    }


def _of_values(rows: Sequence[_Row], text: _LinedText) -> ConfidenceFeatures:
    """Returns the signs from the values of the rows."""
    values = [
        [leaf for leaf in row.leaves.values() if leaf.origin not in ("absent", "default") and not leaf.missing]
        for row in rows
    ]
    sure = [sum(log_odds(leaf.confidence) for leaf in own) / len(own) for own in values if own]
    return {
        "values": sum(sure) / len(sure) if sure else 0.0,
        "worst": min(sure, default=0.0),
        "sums": _sums(rows, text),
    }


def _of_fields(rows: Sequence[_Row]) -> ConfidenceFeatures:
    """Returns the signs from the fields: a wrong column makes a value of every row wrong."""
    by_slot: dict[int, list[Leaf]] = defaultdict(list)
    for row in rows:
        for leaf in row.leaves.values():
            by_slot[leaf.slot].append(leaf)
    sure = [sum(leaf.confidence for leaf in own) / len(own) for own in by_slot.values()]
    without = sum(all(leaf.origin in ("absent", "default") for leaf in own) for own in by_slot.values())
    return {
        "field_least": min(map(log_odds, sure), default=0.0),
        "field_all": max(LOWEST_SIGN, sum(math.log(max(one, EDGE)) for one in sure)),
        "field_absent": without / max(len(by_slot), 1),
    }


def _of_parent(record_list: RecordList, filled: Filled, leaves: Mapping[str, Mapping[str, Leaf]]) -> ConfidenceFeatures:
    """Returns the signs from the row around an inner list: if it is none, its list is not whole either."""
    if record_list.parent is None:
        return {"inner": 0.0, "around": 0.0, "around_row": 0.0}
    own = leaves.get(record_list.parent, {})
    around = [log_odds(leaf.confidence) for at, leaf in own.items() if not at.startswith(f"{record_list.pointer}/")]
    row = filled.rows.get(record_list.parent)
    return {
        "inner": 1.0,
        "around": sum(around) / len(around) if around else 0.0,
        "around_row": log_odds(row[1]) if row is not None else 0.0,
    }


def _of_length(length: ListLength) -> ConfidenceFeatures:
    """Returns the signs from what the text says of the list's length."""
    return {
        "counts": math.log1p(length.agreeing) if not length.disagrees else 0.0,
        "miscounted": float(length.disagrees),
        "numbering": float(length.numbered) if not length.gaps else -1.0,
    }


def _of_text(rows: Sequence[_Row], text: _LinedText, start: int, end: int) -> ConfidenceFeatures:
    """Returns the signs from the text around the rows, within the characters [start, end)."""
    taken = {text.line_of(row.anchor) for row in rows if row.anchor is not None}
    shapes = Counter(text.shape(line) for line in taken)
    own = {shape for shape, count in shapes.items() if shape and count >= max(1.0, OWN_SHAPE * len(taken))}
    lines = range(text.line_of(start), text.line_of(max(start, end - 1)) + 1) if own else ()
    alike = sum(text.shape(line) in own for line in lines if line not in taken)
    last = max((row.spans[-1][1] for row in rows if row.spans), default=len(text.text))
    return {
        "alike_share": alike / (alike + len(taken)) if taken else 0.0,
        "continues": float(text.text[last : last + 2].strip()[:1] in (",", ";", "&") and last < len(text.text)),
    }


class _LinedText:
    """A text with its lines, their shapes and its printed numbers."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._shapes: dict[int, str] = {}

    def line_of(self, character: int) -> int:
        return bisect_right(self._starts, character) - 1

    def line(self, line: int) -> str:
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[line] : end]

    def shape(self, line: int) -> str:
        """Returns the first parts of a line: words, numbers and marks, and runs of words as one."""
        shape = self._shapes.get(line)
        if shape is None:
            parts: list[str] = []
            for match in _PART.finditer(self.line(line)):
                part = match[0]
                word = "A" if part[0].isupper() else "a"
                kind = "9" if part[0].isdigit() else word if part[0].isalpha() else part
                if kind not in "Aa" or not parts or parts[-1] not in "Aa":
                    parts.append(kind)
                if len(parts) == SHAPE_PARTS:
                    break
            shape = self._shapes[line] = " ".join(parts)
        return shape

    @cached_property
    def numbers(self) -> Counter[float]:
        """The printed numbers, with a point or a comma before the decimals."""
        found: Counter[float] = Counter()
        for match in _NUMBER.finditer(self.text):
            found.update(set(readings_of_figures(match[0])))
        return found


def readings_of_figures(printed: str) -> Iterable[float]:
    """Yields the numbers that these digits and marks may spell."""
    for mark in ".,":
        digits = re.sub(rf"[^\d{re.escape(mark)}]", "", printed)
        head, dot, decimals = digits.rpartition(mark)
        plain = (head.replace(mark, "") + dot.replace(",", ".") + decimals) if dot else digits
        try:
            yield round(abs(float(plain.replace(",", "."))), 2)
        except ValueError:
            continue


def _sums(rows: Sequence[_Row], text: _LinedText) -> float:
    """Returns 1 if a column of numbers adds up to a number printed elsewhere, -1 if columns do not, 0 without any."""
    columns: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        for leaf in row.leaves.values():
            number = None if leaf.text is None else _as_number(leaf.text)
            if number is not None and leaf.spans:
                columns[leaf.slot].append(number)
    agreement = 0.0
    for values in columns.values():
        total = round(abs(math.fsum(values)), 2)
        if len(values) < max(2, len(rows) - 1) or len(set(values)) < 2:
            continue
        if total < SMALL_SUM and total == int(total):
            continue
        own = sum(round(abs(value), 2) == total for value in values)
        if text.numbers[total] > own:
            return 1.0
        agreement = -1.0
    return agreement


def _as_number(text: str) -> float | None:
    value: Any = json.loads(text)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and abs(value) < 1e15 else None
