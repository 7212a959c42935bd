"""What a document says of the length of a list, held against the rows that were found: numbers of rows and counts.

Nothing is known of the words of a count. A number outside of the rows counts them if it is their number, or if the name
of the list stands beside it; lines of one kind count the rows since the last of them, or those until the next, if most
of them do, and then the others tell of rows that were not found.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cinnabar.engine.tables.heads import Span, has_word
from cinnabar.engine.tables.lines import PART, line_end

#: Numbers of neighbouring rows that differ by this or more are no numbering; the share of steps that may be no one, but
#: for a first of them.
COUNT_STEP, COUNT_ODD_STEPS = 10, 0.02
#: The share of the lines of a kind that count right, and the fewest of them, for the others to be trusted.
COUNT_RIGHT, COUNT_LINES = 0.6, 3
#: A count that is this much away from the rows found, in shares of it, may be one of them; the most words of its line.
COUNT_NEAR, COUNT_NEAR_WORDS = 0.05, 3
#: A number beside the list's name alone that is so many times the rows found is a year.
COUNT_YEAR = 20
#: The most words of a count whose line does not name the list.
COUNT_WORDS = 5
#: The letters of a word that must agree.
COUNT_STEM = 5
_NUMBER = re.compile(r"(?<![\w.,/:'’+$€£#-])\d{1,6}(?:[,.’']\d{3})?(?![\w/:-]|[.,]\d|\s?[%€$£])")
#: The word beside a number, on its left and on its right.
_LEFT = re.compile(r"([^\W\d_]+)[^\w\n]{0,12}$")
_RIGHT_WORD = re.compile(r"[ \t]{0,3}\(?([^\W\d_]+)")


@dataclass(frozen=True, slots=True)
class MissingRows:
    """Rows that a document numbers or counts and that were not found, right behind the character `at`.

    `numbers` are theirs if the rows are numbered; `count` is how many there are, below zero for rows too many.
    """

    at: int
    count: int
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ListLength:
    """The rows found, the number of rows that the document tells (None if it tells none), and where it tells it.

    `agreeing` is the number of printed counts that agree with the rows. `numbered`: the rows are numbered.
    """

    found: int
    told: int | None = None
    told_at: Span | None = None
    agreeing: int = 0
    numbered: bool = False
    gaps: tuple[MissingRows, ...] = ()

    @property
    def disagrees(self) -> bool:
        """Returns whether the document tells of more rows, or of fewer."""
        return bool(self.gaps) or (self.told is not None and self.told != self.found)


def length_of(text: str, begins: Sequence[int], names: Sequence[str] = (), end: int | None = None) -> ListLength:
    """Returns what a text says of the length of a list.

    begins: the first characters of its rows. names: words for the list or for its items. end: the character behind the
    part of the text in which the list stands.
    """
    begins = sorted(set(begins))
    if not begins:
        return ListLength(0)
    end = len(text) if end is None else end
    starts = sorted({text.rfind("\n", 0, at) + 1 for at in begins})
    gaps, numbered = _number_gaps(text, starts, end) if len(starts) == len(begins) else ([], False)
    counts = _counts(text, starts, end)
    agreeing, missed = _by_kind(counts, len(begins))
    whole = _whole(counts, len(begins), names, text)
    gaps += missed if not numbered else []
    if whole is None and gaps:
        return ListLength(len(begins), len(begins) + sum(gap.count for gap in gaps), None, agreeing, numbered, (*gaps,))
    if whole is None:
        return ListLength(len(begins), None, None, agreeing, numbered)
    told, at = whole
    return ListLength(len(begins), told, at, agreeing + (told == len(begins)), numbered, (*gaps,))


def _number_gaps(text: str, starts: Sequence[int], end: int) -> tuple[list[MissingRows], bool]:
    """Returns the gaps in the numbers of the rows, and whether the rows are numbered: their lines begin with 1, 2, 3, …

    They may begin anew with each group. Lines like the rows that have the number before the first one, or that behind
    the last one, are gaps too.
    """
    lines = [_numbers(text, start, line_end(text, start)) for start in starts]
    both = zip(starts, lines, strict=True)
    numbers = [own[0][0] for start, own in both if own and not has_word(text[start : own[0][1][0]])]
    if len(numbers) < max(2, len(starts)):
        return [], False
    odd = [two - one for one, two in pairwise(numbers) if two not in (one + 1, 1)]
    if len(odd) > 1 + COUNT_ODD_STEPS * len(numbers) or any(not 0 < step < COUNT_STEP for step in odd):
        return [], False
    gaps = [
        MissingRows(at, two - one - 1, tuple(range(one + 1, two)))
        for (at, one), (_, two) in pairwise(zip(starts, numbers, strict=True))
        if two - one > 1
    ]
    row = text[starts[-1] : line_end(text, starts[-1])]
    if numbers[0] > 1 and not _has_line(text, 0, starts[0], numbers[0] - 1, row):
        return [], False
    if numbers[0] > 1:
        gaps.insert(0, MissingRows(starts[0], numbers[0] - 1, tuple(range(1, numbers[0]))))
    if _has_line(text, starts[-1] + 1, end, numbers[-1] + 1, row):
        gaps.append(MissingRows(starts[-1], 1, (numbers[-1] + 1,)))
    return gaps, True


def _has_line(text: str, begin: int, end: int, number: int, row: str) -> bool:
    """Returns whether a line of a text begins with this number and has the form of a row: its marks, and its parts."""
    lead = re.match(r"\W*\d+[.):\]]?", row)
    if lead is None:
        return False
    before, mark = re.split(r"\d+", lead[0])
    parts = len(PART.findall(row))
    for match in re.finditer(rf"^{re.escape(before)}{number}{re.escape(mark)}(?=\s).*", text[begin:end], re.MULTILINE):
        alike = len(PART.findall(match[0]))
        # A sentence may begin with a number, too.
        if (mark or parts > 1) and 2 * alike > parts:
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Count:
    """A number outside of the rows: its value, the words beside it, the rows above it, and its characters."""

    value: int
    left: str
    right: str
    rows: int
    at: Span

    @property
    def kind(self) -> tuple[str, str]:
        """The words beside the number: counts of several parts of a list have the same."""
        return self.left, self.right

    def names_list(self, stems: set[str]) -> bool:
        """Returns whether a word beside the number is one for the list."""
        return any(word[:COUNT_STEM] in stems for word in self.kind if word)

    def is_plain(self, text: str) -> bool:
        """Returns whether a few words stand around the number, and no other number."""
        words = printed_around(text, self.at)
        return len(words.split()) <= COUNT_WORDS and len(re.findall(r"\d+(?:[.,]\d+)*", words)) == 1

    def words(self, text: str) -> int:
        """Returns the number of words on its line, or on the part of it between wide gaps."""
        return len(re.findall(r"[^\W\d_]+", printed_around(text, self.at)))

    def follows_colon(self, text: str) -> bool:
        """Returns whether it ends a short part of its line, behind a colon."""
        words = printed_around(text, self.at)
        return self.is_plain(text) and re.search(r": ?\d+$", words) is not None


def _counts(text: str, starts: Sequence[int], end: int) -> list[_Count]:
    """Returns the numbers with a word beside them on lines that begin no row."""
    found: list[_Count] = []
    rows, begin = {*starts}, 0
    while begin < end:
        close = line_end(text, begin)
        if begin not in rows:
            for value, at in _numbers(text, begin, close):
                left = _LEFT.search(text, begin, at[0])
                right = _RIGHT_WORD.match(text, at[1], close)
                words = [match[1].lower() if match else "" for match in (left, right)]
                if any(words):
                    found.append(_Count(value, words[0], words[1], bisect_left(starts, begin), at))
        begin = close + 1
    return found


def _by_kind(counts: Sequence[_Count], rows: int) -> tuple[int, list[MissingRows]]:
    """Returns how many counts of several parts of the list are right, and the rows that the others miss."""
    kinds: dict[tuple[str, str], list[_Count]] = {}
    for one in counts:
        kinds.setdefault(one.kind, []).append(one)
    best: tuple[int, list[MissingRows]] = 0, []
    for own in kinds.values():
        if len(own) < COUNT_LINES:
            continue
        places = [one.rows for one in own]
        above = [two - one for one, two in pairwise([0, *places])]
        below = [two - one for one, two in pairwise([*places, rows])]
        for found in (above, below):
            right = sum(one.value == count > 0 for one, count in zip(own, found, strict=True))
            # A line that stands again at the head of the next page counts nothing.
            asked = sum(count > 0 for count in found)
            if right >= COUNT_LINES and right >= COUNT_RIGHT * asked and right > best[0]:
                gaps = [
                    MissingRows(one.at[0], one.value - count)
                    for one, count in zip(own, found, strict=True)
                    if count > 0 and one.value != count and abs(one.value - count) <= max(2, count)
                ]
                best = right, gaps
    return best


def _whole(counts: Sequence[_Count], found: int, names: Sequence[str], text: str) -> tuple[int, Span] | None:
    """Returns the printed count of all rows and where it stands: the right one, or one that names the list.

    Beside the list's name alone ("12 items") any number counts it, with more words one that is near.
    """
    stems = {word.lower()[:COUNT_STEM] for name in names for word in re.findall(r"[^\W\d_]{3,}", name)}
    # What has other numbers elsewhere numbers pages, or counts parts.
    values: dict[tuple[str, str], set[int]] = {}
    for one in counts:
        values.setdefault(one.kind, set()).add(one.value)
    alone = [one for one in counts if len(values[one.kind]) == 1]
    named = [one for one in alone if one.names_list(stems) and one.is_plain(text)]
    right = [one for one in alone if one.value == found and (one.names_list(stems) or one.follows_colon(text))]
    if right:
        one = max(right, key=lambda count: count.names_list(stems))
        return one.value, one.at
    far = max(1.0, COUNT_NEAR * found)
    wrong = [
        one for one in named
        if (one.words(text) == 1 and one.value <= COUNT_YEAR * found)
        or (one.words(text) <= COUNT_NEAR_WORDS and one.follows_colon(text) and abs(one.value - found) <= far)
    ]  # fmt: skip
    if not wrong:
        return None
    one = min(wrong, key=lambda count: abs(count.value - found))
    return one.value, one.at


def _numbers(text: str, begin: int, end: int) -> list[tuple[int, Span]]:
    """Returns the whole numbers of a line that stand alone: no parts of dates, amounts or codes."""
    return [(int(re.sub(r"\D", "", m[0])), m.span()) for m in _NUMBER.finditer(text, begin, end)]


def printed_around(text: str, at: Span) -> str:
    """Returns the words of a printed count: the part of its line between wide gaps."""
    parts = PART.finditer(text, text.rfind("\n", 0, at[0]) + 1, line_end(text, at[1]))
    return next((part[0] for part in parts if part.start() <= at[0] < part.end()), text[slice(*at)])[:80]
