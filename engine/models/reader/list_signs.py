"""The signs that a list is complete: it has every item of the document and nothing else.

They come from the model (how sure it is of the rows, and of the places that it refused), from the rows (their values,
repeats, the gaps between them), and from the text: lines alike that begin no row, separators behind the last item, gaps
in a numbering, a printed count, and columns that add up to a printed sum. All are log odds, logarithms or marks, for
the logistic scale of `calibration.py`.
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
from statistics import median
from typing import Any

from cinnabar.engine.models.reader.signs import EDGE, Signs, log_odds
from cinnabar.engine.request import Filled, Leaf, Passage
from cinnabar.schemas.canonical import parse
from cinnabar.schemas.form.form import Form, Slot, walk
from cinnabar.schemas.form.record_walk import RecordList, walk_lists

#: The least sign of a sum of log probabilities.
_LOWEST = -12.0
#: The first parts of a line's shape that are compared.
_SHAPE = 6
#: The share of the rows whose lines have a shape that is the list's own.
_OWN_SHAPE = 0.25
#: The letters of a word in a list's name that must agree.
_STEM = 5
#: The fewest rows between which gaps, and sums of columns, say something.
_FEW = 3
#: A sum below this, without decimals, may be any number of the page.
_SMALL = 100
_NUMBER = re.compile(r"[-+]?\d(?:[\d.,'’ \u00a0\u202f]*\d)?")
_PART = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_NUMBERED = re.compile(r"\W{0,3}(\d{1,4})(?=[\s.):\]])")
_WORD = re.compile(r"[^\W\d_]+")
_COUNTS = {word: at for at, word in enumerate("zero one two three four five six seven eight nine ten".split())}


def list_signs(form: Form, passage: Passage, filled: Filled, whole: Signs) -> dict[str, Signs]:
    """Returns the signs of each list of a record by its pointer; lists with known rows have none.

    whole: the signs of the whole record. The probabilities are the model's own.
    """
    refused: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for place in filled.refused:
        refused[place.array].append((place.anchor - passage.offset, place.probability))
    text = _Text(passage.text)
    leaves = _leaves_by_row(filled)
    anchors = defaultdict[str, list[int]](list)
    for pointer, (anchor, _) in filled.rows.items():
        anchors[pointer.rpartition("/")[0]].append(anchor)
    anchors = defaultdict(list, {around: sorted(own) for around, own in anchors.items()})
    signs: dict[str, Signs] = {}
    for found in walk_lists(form, parse(filled.record)):
        rows = [_Row.of(found, at, passage, filled, leaves) for at in found.rows]
        if any(leaf.origin == "known" for row in rows for leaf in row.leaves.values()):
            continue
        start, end = _region(found, passage, filled, anchors)
        left = [chance for anchor, chance in refused[found.array.index] if start <= anchor < end]
        known = [row for row in rows if row.anchor is not None]
        own = _of_model(known, left) | _of_rows(rows, known, text)
        own |= _of_text(found, known, text, start, end)
        own |= {name: whole[name] for name in ("record", "there", "absent_share", "length")}
        slots = [node for node in walk(found.array.item) if isinstance(node, Slot)] if found.array.item else []
        most = found.array.max_items
        own |= {
            "within": float(found.parent is not None),
            "scalars": float(isinstance(found.array.item, Slot)),
            "fields": math.log1p(len(slots)),
            "choices": float(any(slot.options for slot in slots)),
            "full": float(most is not None and len(rows) >= most > 0),
        }
        signs[found.pointer] = own
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
        found: RecordList,
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


def chance_of(signs: Signs) -> float:
    """Returns the model's own probability of these rows and no others: the first sign of the scale, as it is."""
    return math.exp(signs["decided"])


def _leaves_by_row(filled: Filled) -> dict[str, dict[str, Leaf]]:
    """Returns the leaves of each row, those of its inner rows included, by the row's pointer."""
    found: dict[str, dict[str, Leaf]] = defaultdict(dict)
    for pointer, leaf in filled.leaves.items():
        at = pointer
        while at:
            if at in filled.rows:
                found[at][pointer] = leaf
            at = at.rpartition("/")[0]
    return found


def _region(
    found: RecordList, passage: Passage, filled: Filled, anchors: Mapping[str, Sequence[int]]
) -> tuple[int, int]:
    """Returns the characters of the text in which the items of a list may stand.

    anchors: where the rows of each list begin, ascending, by the list's pointer.
    """
    if found.parent is None or found.parent not in filled.rows:
        return 0, len(passage.text)
    start, own = filled.rows[found.parent][0], anchors[found.parent.rpartition("/")[0]]
    later = bisect_right(own, start)
    end = own[later] - passage.offset if later < len(own) else len(passage.text)
    return start - passage.offset, end


def _of_model(rows: Sequence[_Row], refused: Sequence[float]) -> Signs:
    """Returns the signs from the probabilities of the rows and of the refused places."""
    chances = [row.probability for row in rows]
    taken = sum(math.log(max(chance, EDGE)) for chance in chances)
    not_taken = sum(math.log1p(-min(chance, 1 - EDGE)) for chance in refused)
    return {
        "rows": math.log1p(len(rows)),
        "empty": float(not rows),
        "decided": max(_LOWEST, taken + not_taken),
        "taken": max(_LOWEST, taken),
        "refused": max(_LOWEST, not_taken),
        "least": min((log_odds(chance) for chance in chances), default=0.0),
        "next": max((log_odds(chance) for chance in refused), default=log_odds(0.005)),
        "doubtful": math.log1p(sum(chance >= 0.05 for chance in refused)),
        "fewer": math.log1p(sum(1.0 - chance for chance in chances)),
        "more": math.log1p(sum(refused)),
    }


def _of_rows(rows: Sequence[_Row], known: Sequence[_Row], text: _Text) -> Signs:
    """Returns the signs from the values of the rows."""
    values = [
        [leaf for leaf in row.leaves.values() if leaf.origin not in ("absent", "default") and not leaf.missing]
        for row in rows
    ]
    flat = [leaf for own in values for leaf in own]
    leaves = sum(len(row.leaves) for row in rows)
    sure = [sum(log_odds(leaf.confidence) for leaf in own) / len(own) for own in values if own]
    texts = Counter(tuple(sorted((leaf.slot, leaf.text or "") for leaf in own)) for own in values)
    places = Counter(span for row in rows for span in set(row.spans))
    shared = sum(bool(row.spans) and all(places[span] > 1 for span in row.spans) for row in rows)
    return {
        "values": sum(sure) / len(sure) if sure else 0.0,
        "worst": min(sure, default=0.0),
        "blank": 1.0 - len(flat) / leaves if leaves else 0.0,
        "repeats": (len(rows) - len(texts)) / len(rows) if rows else 0.0,
        "shared": shared / len(rows) if rows else 0.0,
        "sums": _sums(rows, text),
    }


def _of_text(found: RecordList, rows: Sequence[_Row], text: _Text, start: int, end: int) -> Signs:
    """Returns the signs from the text around the rows, within the characters [start, end)."""
    anchors = sorted({row.anchor for row in rows if row.anchor is not None})
    taken = {text.line_of(anchor) for anchor in anchors}
    shapes = Counter(text.shape(line) for line in taken)
    own = {shape for shape, count in shapes.items() if shape and count >= max(1.0, _OWN_SHAPE * len(taken))}
    first, last = text.line_of(start), text.line_of(max(start, end - 1))
    alike = sum(text.shape(line) in own for line in range(first, last + 1) if line not in taken) if own else 0
    inner = range(min(taken), max(taken)) if taken else ()
    between = sum(text.shape(line) in own for line in inner if line not in taken) if own else 0
    gaps = [after - before for before, after in zip(anchors, anchors[1:], strict=False)]
    widest = math.log(max(gaps) / max(1.0, median(gaps))) if len(anchors) >= _FEW else 0.0
    extents = sorted((row.spans[0][0], row.spans[-1][1]) for row in rows if row.spans)
    behind = text.text[extents[-1][1] : extents[-1][1] + 2].strip() if extents else ""
    before = text.text[max(0, extents[0][0] - 2) : extents[0][0]].strip() if extents else ""
    return {
        "alike": math.log1p(alike),
        "between": math.log1p(between),
        "alike_share": alike / (alike + len(taken)) if taken else 0.0,
        "widest": widest,
        "lines": math.log1p(len(taken)),
        "continues": float(behind[:1] in (",", ";") or behind[:1] == "&"),
        "continued": float(before[-1:] in (",", ";")),
        "numbering": _numbering([text.start_of(line) for line in sorted(taken)], text),
        "counted": _counted(found, len(rows), text),
    }


class _Text:
    """A text with its lines, their shapes and its printed numbers."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._shapes: dict[int, str] = {}

    def line_of(self, character: int) -> int:
        return bisect_right(self._starts, character) - 1

    def start_of(self, line: int) -> int:
        return self._starts[line]

    def line(self, line: int) -> str:
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[line] : end]

    def shape(self, line: int) -> str:
        """Returns the first parts of a line: words, numbers and marks, and runs of words as one."""
        found = self._shapes.get(line)
        if found is None:
            parts: list[str] = []
            for match in _PART.finditer(self.line(line)):
                part = match[0]
                kind = "9" if part[0].isdigit() else part if not part[0].isalpha() else "A" if part[0].isupper() else "a"
                if kind not in "Aa" or not parts or parts[-1] not in "Aa":
                    parts.append(kind)
                if len(parts) == _SHAPE:
                    break
            found = self._shapes[line] = " ".join(parts)
        return found

    @cached_property
    def numbers(self) -> Counter[float]:
        """The printed numbers, with a point or a comma before the decimals."""
        found: Counter[float] = Counter()
        for match in _NUMBER.finditer(self.text):
            found.update(set(_readings(match[0])))
        return found


def _readings(printed: str) -> Iterable[float]:
    """Yields the numbers that these digits and marks may spell."""
    for mark in ".,":
        digits = re.sub(rf"[^\d{re.escape(mark)}]", "", printed)
        head, dot, decimals = digits.rpartition(mark)
        plain = (head.replace(mark, "") + dot.replace(",", ".") + decimals) if dot else digits
        try:
            yield round(abs(float(plain.replace(",", "."))), 2)
        except ValueError:
            continue


def _sums(rows: Sequence[_Row], text: _Text) -> float:
    """Returns 1 if a column of numbers adds up to a number printed elsewhere, -1 if columns do not, 0 without any."""
    columns: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        for leaf in row.leaves.values():
            number = None if leaf.text is None else _as_number(leaf.text)
            if number is not None and leaf.spans:
                columns[leaf.slot].append(number)
    said = 0.0
    for values in columns.values():
        total = round(abs(math.fsum(values)), 2)
        if len(values) < max(2, len(rows) - 1) or len(set(values)) < 2:
            continue
        if total < _SMALL and total == int(total):
            continue
        own = sum(round(abs(value), 2) == total for value in values)
        if text.numbers[total] > own:
            return 1.0
        said = -1.0
    return said


def _as_number(text: str) -> float | None:
    value: Any = json.loads(text)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and abs(value) < 1e15 else None


def _numbering(starts: Sequence[int], text: _Text) -> float:
    """Returns 1 if the lines of the rows are numbered without a gap, -1 with one, 0 if they are not numbered.

    A numbering that goes on behind the last row has a gap too.
    """
    matches = [_NUMBERED.match(text.text, start) for start in starts]
    numbers = [int(match[1]) for match in matches if match is not None]
    if len(numbers) < 2 or len(numbers) < len(starts):
        return 0.0
    steps = {after - before for before, after in zip(numbers, numbers[1:], strict=False)}
    if not all(0 < step < 10 for step in steps):
        return 0.0
    if steps != {1} or numbers[0] > 1:
        return -1.0
    following = rf"(?m)^\W{{0,3}}{numbers[-1] + 1}(?=[\s.):\]])"
    later = re.compile(following).search(text.text, starts[-1] + 1)
    return -1.0 if later is not None else 1.0


def _counted(found: RecordList, rows: int, text: _Text) -> float:
    """Returns 1 if the text prints this number of rows beside the list's name, -1 for another number, 0 for none."""
    name = f"{found.array.title} {found.array.path.rstrip('/*').rpartition('/')[2]}"
    stems = {word.lower()[:_STEM] for word in _WORD.findall(name) if len(word) > 2}
    if not stems:
        return 0.0
    either = "|".join(map(re.escape, sorted(stems)))
    number = rf"\b(\d{{1,4}}|{'|'.join(_COUNTS)})"
    patterns = (rf"{number}\s+(?:[^\W\d_]+\s+)?(?:{either})", rf"(?:{either})[^\W\d_]*\s*[:=(]\s*{number}\b(?![.,/-]\d)")
    said = {
        _COUNTS.get(match[1].lower(), int(match[1]) if match[1].isdecimal() else -1)
        for pattern in patterns
        for match in re.finditer(pattern, text.text, re.IGNORECASE)
    }
    return 0.0 if not said else 1.0 if rows in said else -1.0
