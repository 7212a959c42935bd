"""Which of several columns a field's own words name: the words of a head count that no other head has.

A head over a group of columns says the same of each of them, and in a text it may stand over the first of them alone.
So the words in an upper line count for no column of a run of heads of which some have none above them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.inputs.questions import Question
from cinnabar.engine.models.reader.priors.name_matching import FieldNames, Words, asked_of, words_in
from cinnabar.engine.tables.heads import Span, form_of, words_of
from cinnabar.engine.tables.table import PrintedTable

#: The letters in which two words agree; one may be longer by fewer letters than this. The fewest of a short form.
NAMESAKE_STEM, NAMESAKE_SHORT = 4, 3
#: What a description says a value is not, up to the end of the clause.
_NOT = re.compile(
    r"\b(?:not|no|without|except|excluding|than|ohne|nicht|keine?|außer|sans|hors|sauf|pas|sin|excepto)\b[^,.;:()]*",
    re.IGNORECASE,
)


def distinct_heads(table: PrintedTable, text: str, upper: bool = False) -> list[str]:
    """Returns the heads of a table's columns without the upper words that may be those of a whole group, or with."""
    lines = [[text.count("\n", 0, start) for start, _ in spans] for spans in table.heads]
    lowest = max((own[-1] for own in lines if own), default=0)
    heads = [words_of(spans, text) for spans in table.heads]
    # One head over several columns tells none of them from the others.
    over = Counter(span for spans in table.heads for span in {*spans})
    lower = [words_of([span for span in spans if over[span] == 1], text) for spans in table.heads]
    for run in _runs([bool(own) and own[-1] == lowest and not upper for own in lines]):
        # Upper words over some columns of a run only may be said of the others as well.
        if len({len(lines[column]) > 1 for column in run}) > 1:
            for column in run:
                lower[column] = words_of(_on(table.heads[column], lines[column], lowest), text)
    # A head may stand over columns of figures beside its own that have none.
    for column in (*range(1, len(lower)), *reversed(range(len(lower) - 1))):
        beside = column - 1 if column and heads[column - 1] else column + 1
        if not heads[column] and beside < len(heads) and _forms(table, column, text) & _forms(table, beside, text):
            heads[column] = lower[column] = heads[beside]
    times = Counter(map(words_in, lower))
    return [own if times[words_in(own)] == 1 else head for own, head in zip(lower, heads, strict=True)]


def lowest_words(table: PrintedTable, text: str) -> list[str]:
    """Returns the words of each head in its last line, beside the cells."""
    found = []
    for spans in table.heads:
        lines = [text.count("\n", 0, start) for start, _ in spans]
        found.append(words_of(_on(spans, lines, max(lines, default=0)), text))
    return found


def _forms(table: PrintedTable, column: int, text: str) -> set[str]:
    """Returns the forms of a column's cells, if it is a column of figures."""
    return {form_of(words_of(row.cells[column], text)) for row in table.rows if column in table.figures} - {""}


def _runs(marked: Sequence[bool]) -> list[list[int]]:
    """Returns the runs of neighbours that are marked."""
    runs: list[list[int]] = [[]]
    for at, is_marked in enumerate(marked):
        if is_marked:
            runs[-1].append(at)
        elif runs[-1]:
            runs.append([])
    return runs


def _on(spans: Sequence[Span], lines: Sequence[int], line: int) -> list[Span]:
    return [span for span, own in zip(spans, lines, strict=True) if own == line]


def field_words(path: str, question: Question) -> FieldNames:
    """Returns the names of a field and the words of its description, but those of what it is not."""
    return asked_of(path, replace(question, note=_NOT.sub("", question.note)))


def name_shares(fields: Sequence[FieldNames], heads: Sequence[str]) -> npt.NDArray[np.float64]:
    """Returns the share of each head's own words that each field's names or description have: [F, C]."""
    words = [words_in(head) for head in heads]
    times = Counter(word for own in words for word in {*own})
    shares = np.zeros((len(fields), len(heads)))
    for column, every in enumerate(words):
        # "Quantity" beside "Quantity ordered" has no word of its own.
        own = tuple(word for word in every if times[word] == 1) or every
        for at, field in enumerate(fields):
            shares[at, column] = _share(own, {*field.note, *(word for name in field.names for word in name)})
    return shares


def _share(words: Words, known: set[str]) -> float:
    return sum(any(_same(word, one) for one in known) for word in words) / max(1, len(words))


def _same(word: str, known: str) -> bool:
    """Returns whether a word of a head is a known one, has its stem, or is short for it."""
    short, long = sorted((word, known), key=len)
    stem = max(NAMESAKE_STEM, len(short) - 2)
    is_stem = len(short) >= NAMESAKE_STEM and len(long) < len(short) + NAMESAKE_STEM and long[:stem] == short[:stem]
    return word == known or is_stem or (len(word) >= NAMESAKE_SHORT and known.startswith(word))
