"""Headings that stand once above many rows of a table become further columns.

Headings of one kind share words ("POL Izmir / POD Cork", "POL Riga / POD Cork"): these are the heads of columns, and
what lies between them are cells, which hold for each row below until the next heading of the kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

from cinnabar.engine.tables.heads import Span, has_word
from cinnabar.engine.tables.lines import PART, line_end
from cinnabar.engine.tables.table import Between, PrintedTable, TableRow

#: The most words of a heading, and of one that is the only one of its kind; the share of the headings of a kind that
#: fill a column, at least.
HEADING_WORDS, HEADING_ALONE_WORDS, HEADING_FILLED = 14, 5, 0.5
#: The share of numbers that are counts of rows, or of pages, for all of them to be such.
HEADING_COUNTED = 0.8
#: How often a first word must stand, beside the commonest one, to make a kind of headings.
HEADING_OFTEN = 0.2
#: The characters above a table in which the first heading may stand, above the table's head.
HEADING_REACH = 1500
#: The share of the rows below which a line stands, for it to belong to its row.
HEADING_ROW_LINES = 0.8
#: So many rows are no number of something else.
HEADING_MANY_ROWS = 20
#: The most labelled values above a table that are columns of it.
HEADING_PAIRS = 12
#: A word, a sign, or a wide gap, which parts the words beside it.
_WORD = re.compile(r"\w+(?:[^\s:]*\w)?|[^\s\w]+|\t[ \t]*| [ \t]+")
#: The words of a heading, from left to right.
_Words = tuple[Span, ...]


def add_headings(table: PrintedTable, text: str, above: int = 0) -> PrintedTable:
    """Returns a table with a column more for each part of its headings that is not the same in all of a kind.

    So has what stands in a line of its own below each row.

    above: the first character of the lines above the table that may tell of it.
    """
    heads, columns = list(table.heads), list[list[tuple[Span, ...]]]()
    below = _lines_below(table, text)
    if below:
        heads.append(())
        columns.append([(below[at],) if at in below else () for at in range(len(table.rows))])
        taken = {start for start, _ in below.values()}
        table = replace(table, between=tuple(line for line in table.between if line.start not in taken))
    kinds = _kinds(table, text, above)
    for kind in kinds:
        leads, parts = _parts([words for _, words in kind], text)
        for lead, cells in zip(leads, parts, strict=True):
            filled = [text[cell[0][0] : cell[-1][1]] for cell in cells if cell]
            if len(filled) < HEADING_FILLED * len(cells) or not any(map(has_word, filled)):
                continue
            shared = {_text(word, text) for part in leads for word in part}
            if _are_pages(filled, shared) or _are_counts([line.rows for line, _ in kind], filled, len(cells)):
                continue
            heads.append(lead)
            own = {line.rows: cell for (line, _), cell in zip(kind, cells, strict=True) if cell}
            standing: tuple[Span, ...] = ()
            columns.append([standing := own.get(row, standing) for row in range(len(table.rows))])
    known = {text[one[0][0] : one[-1][1]].rstrip(" :") for one in heads if one}
    spoken = {line.start for kind in kinds if len(kind) > 1 for line, _ in kind}
    for label, value in _labels_above(table, text, above, spoken):
        counts_rows = len(table.rows) >= HEADING_MANY_ROWS and text[slice(*value)] == str(len(table.rows))
        if text[slice(*label)] in known or counts_rows:
            continue
        heads.append((label,))
        columns.append([(value,)] * len(table.rows))
    rows = [TableRow(row.start, (*row.cells, *(column[at] for column in columns))) for at, row in enumerate(table.rows)]
    return replace(table, heads=tuple(heads), rows=tuple(rows)) if columns else table


def _lines_below(table: PrintedTable, text: str) -> dict[int, Span]:
    """Returns by row the line right below it, which belongs to it, if nearly all rows have one."""
    found: dict[int, Span] = {}
    for line in table.between:
        if line.rows:
            found.setdefault(line.rows - 1, (line.start, line.end))
    if len(found) < HEADING_ROW_LINES * len(table.rows):
        return {}
    # The grid of the rows ends with the last one.
    begin = line_end(text, table.end) + 1
    end = line_end(text, begin)
    if len(table.rows) - 1 not in found and text[begin:end].strip():
        found[len(table.rows) - 1] = begin, end
    return {row: (end - len(text[start:end].lstrip()), end) for row, (start, end) in found.items()}


def _labels_above(table: PrintedTable, text: str, above: int, spoken: Collection[int]) -> list[tuple[Span, Span]]:
    """Returns the labels and values of the lines above a table: behind a colon, or one beside the other.

    spoken: where lines begin that are headings of rows.
    """
    found: list[tuple[Span, Span]] = []
    lines = [*_lines_above(table, text, above), *(one for one in table.between if not one.rows)]
    for line in (one for one in lines if one.start not in spoken):
        parts = [match.span() for match in PART.finditer(text, line.start, line.end)]
        labels = [text.find(":", start, end) for start, end in parts]
        if not any(colon >= 0 for colon in labels):
            # In a line of pairs each label stands left of its value.
            found += zip(parts[::2], parts[1::2], strict=True) if len(parts) % 2 == 0 else ()
            continue
        for at, ((start, end), colon) in enumerate(zip(parts, labels, strict=True)):
            value = colon + 1 + len(text[colon + 1 : end]) - len(text[colon + 1 : end].lstrip()) if colon >= 0 else end
            if start < colon < end - 1 and value < end:
                found.append(((start, colon), (value, end)))
            elif colon == end - 1 and at + 1 < len(parts) and labels[at + 1] < 0:
                found.append(((start, colon), parts[at + 1]))
    return [
        (label, value) for label, value in found if has_word(text[slice(*label)]) and has_word(text[slice(*value)])
    ][-HEADING_PAIRS:]


def _kinds(table: PrintedTable, text: str, above: int) -> list[list[tuple[Between, _Words]]]:
    """Returns the headings above rows by their kind: those that begin with the same word, and all others."""
    lines = [(line, _words(line, text)) for line in table.between if not line.is_sum]
    lines = [(line, words) for line, words in lines if 0 < len(words) <= HEADING_WORDS]
    firsts = {_text(words[0], text) for _, words in lines}
    before = [(line, words) for line in _lines_above(table, text, above) if (words := _words(line, text))]
    lines = [(line, words) for line, words in before if _text(words[0], text) in firsts] + lines
    times = Counter(text[line.start : line.end] for line, _ in lines)
    split = _first_words(lines, text)
    kinds: dict[str, list[tuple[Between, _Words]]] = {}
    last: _Words = ()
    for line, words in lines:
        first = _text(words[0], text)
        own = kinds.setdefault(first if first in split and len(words) > 1 else "", [])
        said = [_text(word, text) for word in words]
        standing = (last, own[-1][1]) if own else (last,)
        if any(one and _says_again([_text(word, text) for word in one], said) for one in standing):
            continue
        if first in split or all(_text(word, text) for word in words):
            own.append((line, words))
            last = words
    # A line without others of its kind that stands again and again is the title of each page.
    return [
        kind for kind in kinds.values()
        if len(kind) > 1
        or (kind and len(kind[0][1]) <= HEADING_ALONE_WORDS and times[text[kind[0][0].start : kind[0][0].end]] == 1)
    ]  # fmt: skip


def _first_words(lines: Sequence[tuple[Between, _Words]], text: str) -> set[str]:
    """Returns the first words that make a kind of headings.

    A word behind which a colon stands does; another one if it begins several lines, and the others are not headings of
    the same rank: "North Salem" and "Reno" are, if they never stand above the same row.
    """
    rows: dict[str, list[int]] = {}
    labels = set[str]()
    for line, words in lines:
        first = _text(words[0], text)
        rows.setdefault(first, []).append(line.rows)
        if any(_text(word, text) == ":" for word in words[1:3]):
            labels.add(first)
    others = {row for first, own in rows.items() if len(own) < 2 for row in own}
    most = max(map(len, rows.values()), default=0)
    several = {first for first, own in rows.items() if len(own) > 1 and len(own) >= HEADING_OFTEN * most}
    if len(others) > 1:
        several = {first for first in several if others & {*rows[first]}}
    return several | {first for first in labels if len(rows[first]) > 1}


def _says_again(last: Sequence[str], words: Sequence[str]) -> bool:
    """Returns whether a heading says the one before it again, alone or with a word for that around it."""
    count = len(last)
    return [*words[:count]] == [*last] or [*words[-count:]] == [*last]


def _lines_above(table: PrintedTable, text: str, above: int) -> list[Between]:
    """Returns the lines right above a table, as headings of its first row."""
    begin = max(above, table.start - HEADING_REACH)
    lines = [match.span() for match in re.finditer(r"[^\n]*\S[^\n]*", text[begin : table.start])]
    return [Between(begin + start, begin + end, 0) for start, end in lines[1 if begin > above else 0 :]]


def _words(line: Between, text: str) -> _Words:
    found = tuple(match.span() for match in _WORD.finditer(text, line.start, line.end))
    return found[1:] if found and not text[found[0][0] : found[0][1]].strip() else found


def _text(word: Span, text: str) -> str:
    """Returns a word; all wide gaps are alike."""
    return text[word[0] : word[1]].strip()


def _parts(lines: Sequence[_Words], text: str) -> tuple[list[tuple[Span, ...]], list[list[tuple[Span, ...]]]]:
    """Returns the words that all lines share before each part that they do not share, in the first line, and the parts.

    The parts are spans, of each line in its own order, () where a line has nothing there.
    """
    distinct = list({tuple(_text(word, text) for word in words): words for words in lines}.values())
    shared = [_text(word, text) for word in lines[0]]
    for words in distinct[1:]:
        shared = _common(shared, [_text(word, text) for word in words])
    if len(distinct) == 1 and len(lines) > 1:
        # The same line again and again: the name of a page, not of a group.
        return [], []
    split = [_split(words, shared if len(distinct) > 1 else [], text) for words in lines]
    leads: list[tuple[Span, ...]] = []
    before: tuple[Span, ...] = ()
    for at in range(len(shared) + 1 if len(distinct) > 1 else 1):
        leads.append(before)
        if any(parts[at] for parts, _ in split):
            before = ()
        if at < len(split[0][1]) and _text(split[0][1][at], text):
            before = (*before, split[0][1][at])
    return leads, [[parts[at] for parts, _ in split] for at in range(len(leads))]


def _common(one: Sequence[str], two: Sequence[str]) -> list[str]:
    """Returns the longest common subsequence of two lists of words."""
    best: list[list[list[str]]] = [[[] for _ in range(len(two) + 1)] for _ in range(len(one) + 1)]
    for i in range(len(one) - 1, -1, -1):
        for j in range(len(two) - 1, -1, -1):
            same = [one[i], *best[i + 1][j + 1]] if one[i] == two[j] else []
            best[i][j] = max(same, best[i + 1][j], best[i][j + 1], key=len)
    return best[0][0]


def _split(words: _Words, shared: Sequence[str], text: str) -> tuple[list[tuple[Span, ...]], list[Span]]:
    """Returns the parts of a line before, between and behind its shared words, each as one span, and these words."""
    parts, own = [list[Span]()], list[Span]()
    for word in words:
        if len(own) < len(shared) and _text(word, text) == shared[len(own)]:
            own.append(word)
            parts.append([])
        else:
            parts[-1].append(word)
    return [((part[0][0], part[-1][1]),) if part else () for part in parts], own


def _are_pages(values: Sequence[str], shared: Collection[str]) -> bool:
    """Returns whether values are numbers of pages: most are one more than the one before, and the line has their sum.

    shared: the words that all lines have.
    """
    if len(values) < 2 or not all(value.isdecimal() for value in values):
        return False
    steps = sum(int(two) == int(one) + 1 for one, two in pairwise(values))
    total = any(word.isdecimal() and int(word) >= int(values[-1]) for word in shared)
    return total and steps >= HEADING_COUNTED * (len(values) - 1)


def _are_counts(rows: Sequence[int], values: Sequence[str], lines: int) -> bool:
    """Returns whether values count the rows above them: those since the line of the kind before, or all of them.

    rows: the number of rows above each of these lines.
    """
    if len(values) < lines or not all(value.isdecimal() for value in values):
        return False
    since = [two - one for one, two in pairwise([0, *rows])]
    told = [int(value) in (count, whole) for value, count, whole in zip(values, since, rows, strict=True)]
    return sum(told) >= HEADING_COUNTED * len(told)
