"""In which columns of a table the fields of a list's items stand, by the heads of the columns.

A line of a few cells that go by the names of several fields of one list is the head of a table. What stands
below a head, to the table's end, is told of its field, and less of the fields that go by other heads: a
lexical prior for the pointers, as `headings.py` is for objects. Which head is which field's is settled for
all of them together: a head is the less one field's, the more it is like another one's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from torch import Tensor

from cinnabar.engine.models.default.columns import Columns
from cinnabar.engine.models.default.naming import Naming, Words, short_cells, words_in
from cinnabar.engine.models.default.questions import form_questions, words_of
from cinnabar.engine.models.default.wordpieces import WordPieces
from cinnabar.schemas.form import Form

#: What a word of a field's description counts beside one of its name.
NOTED = 0.7
#: How sure a head has to be to make a line a table's head, and how many there have to be.
LEAST, HEADS = 0.6, 2
#: How fast a head is less a field's, the more it is like another one's name.
RIVALS = 3.0
#: Lines of fewer than two columns after which a table is over.
OVER = 8

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Asked:
    """A field of a list's items: its names and its description, as words."""

    names: tuple[Words, ...]
    note: Words


@dataclass(frozen=True, slots=True)
class Run:
    """Pieces [first, until) of a line below a head of its table."""

    head: int
    first: int
    until: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table of one list: paths of its F fields, how surely each of H heads is each one's, [H, F], its lines."""

    fields: tuple[str, ...]
    claims: Floats
    body: list[list[Run]]


@lru_cache(maxsize=256)
def fields_of_lists(form: Form) -> Mapping[str, Mapping[str, Asked]]:
    """The fields of the items of each list of objects, by the list's path and their own."""
    questions = form_questions(form).slots
    found: dict[str, dict[str, Asked]] = {}
    for slot, question in zip(form.slots, questions, strict=True):
        array, star, name = slot.path.rpartition("/*")
        if star and name:
            names = dict.fromkeys(words_in(n) for n in (words_of(name.rpartition("/")[2]), question.label.lower()))
            note = tuple(dict.fromkeys(words_in(question.note.lower())))
            found.setdefault(array, {})[slot.path] = Asked(tuple(n for n in names if n), note)
    return {array: fields for array, fields in found.items() if len(fields) >= HEADS}


def tables_of(
    form: Form, text: str, columns: Columns, vectors: Tensor, letters: Tensor, wordpieces: WordPieces
) -> dict[str, list[Table]]:
    """The tables of each list in their order, by its path.

    vectors: [V, H], those of the vocabulary; letters: those of runs of letters (phrases.py).
    """
    lists = fields_of_lists(form)
    lines = _lines(text, columns) if lists else {}
    if not lines:
        return {}
    both = {line: _joined(cells, lines.get(line - 1, {}), columns) for line, cells in lines.items()}
    names = {n for fields in lists.values() for f in fields.values() for n in (*f.names, f.note) if n}
    words = {words for every in (lines, both) for cells in every.values() for words in cells.values()}
    naming = Naming(names, words, vectors, letters, wordpieces)
    found = {}
    for array, fields in lists.items():
        heads: dict[int, dict[int, Floats]] = {}
        for line, cells in lines.items():
            own = _heads(cells, fields, naming)
            # A head of two lines, if the upper one is none by itself.
            if own is None and line - 1 not in heads:
                own = _heads(both[line], fields, naming)
            if own is not None:
                heads[line] = own
        begun = sorted(heads)
        if begun:
            ends = [*begun[1:], int(columns.line[-1]) + 1]
            found[array] = [
                _table(tuple(fields), line, until, heads[line], columns)
                for line, until in zip(begun, ends, strict=True)
            ]
    return found


def _lines(text: str, columns: Columns) -> dict[int, dict[int, Words]]:
    """By line, the words of the cells that may be heads: short ones, without figures, and no labels."""
    by_line: dict[int, dict[int, Words]] = {}
    for short in short_cells(text, columns):
        end = int(columns.pieces.end[columns.first[short.cell + 1] - 1])
        if short.behind >= end - 1 and not any(c.isdigit() for word in short.words for c in word):
            by_line.setdefault(int(columns.line[short.cell]), {})[short.cell] = short.words
    return by_line


def _joined(line: Mapping[int, Words], over: Mapping[int, Words], columns: Columns) -> dict[int, Words]:
    """The words of a line's cells behind those of the cells above them."""
    joined = {}
    for cell, words in line.items():
        above = [own for c, own in over.items() if _overlap(columns, cell, c) > 0]
        joined[cell] = (*above[0], *words) if len(above) == 1 else words
    return joined


def _overlap(columns: Columns, a: int, b: int) -> int:
    return int(min(columns.right[a], columns.right[b]) - max(columns.left[a], columns.left[b]))


def _heads(
    cells: Mapping[int, Words], fields: Mapping[str, Asked], naming: Naming
) -> dict[int, Floats] | None:
    """How surely each cell of a line is the head of each field, [F]; None where the line is no table's head."""
    if len(cells) < HEADS:
        return None
    alike = np.array([
        [named(field, words, naming) for words in cells.values()] for field in fields.values()
    ])  # fmt: skip
    claims = alike * unrivalled(alike) * unrivalled(alike.T).T
    sure = (claims >= LEAST).any(0).sum(), (claims >= LEAST).any(1).sum()
    if min(sure) < HEADS:
        return None
    return {cell: claims[:, i].astype(np.float32) for i, cell in enumerate(cells)}


def named(field: Asked, words: Words, naming: Naming) -> float:
    best = 0.0
    for name in field.names:
        mine, theirs = naming.shares(name, words)
        best = max(best, max(mine, theirs) * (0.5 + 0.5 * min(mine, theirs)), naming.as_phrases(name, words))
    if field.note:
        best = max(best, NOTED * naming.shares(field.note, words)[1])
    return best


def unrivalled(alike: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A factor for each of [A, B]: less where another of A is more alike to the same of B."""
    if len(alike) < 2:
        return np.ones_like(alike)
    top = np.sort(alike, 0)
    others = np.where(alike == top[-1], top[-2], top[-1])
    return np.exp(RIVALS * np.minimum(0.0, alike - others))


def _table(
    fields: tuple[str, ...], line: int, until: int, claims: Mapping[int, Floats], columns: Columns
) -> Table:
    """The table below the heads of one line, to the line `until` at most."""
    first, behind = np.searchsorted(columns.line, (line, line + 1))
    none = np.zeros(len(fields), np.float32)
    claimed = np.stack([claims.get(head, none) for head in range(first, behind)])
    edges = columns.left[first:behind], columns.right[first:behind]
    body: list[list[Run]] = []
    empty, above = 0, line
    last = int(np.searchsorted(columns.line, until))
    ends = np.flatnonzero(np.diff(columns.line[behind:last], append=until)) + behind + 1
    for begin, end in zip([behind, *ends[:-1]], ends, strict=True):
        runs = [run for cell in range(begin, end) for run in _runs(cell, *edges, columns)]
        # Blank lines are lines, too.
        empty += int(columns.line[begin]) - above - 1
        empty = 0 if len({run.head for run in runs}) >= HEADS else empty + 1
        if empty >= OVER:
            break
        above = int(columns.line[begin])
        body.append(runs)
    return Table(fields, claimed, body)


def _runs(cell: int, left: Ints, right: Ints, columns: Columns) -> list[Run]:
    """The parts of a cell that stand below heads with these edges: most often all of it below one."""
    first, until = int(columns.first[cell]), int(columns.first[cell + 1])
    own_left, own_right = columns.left[cell], columns.right[cell]
    between = (right[:-1] + left[1:]) / 2
    under = np.flatnonzero(np.minimum(right, own_right) > np.maximum(left, own_left))
    if len(under) == 1:
        return [Run(int(under[0]), first, until)]
    if not len(under):
        return [Run(int(np.searchsorted(between, (own_left + own_right) / 2)), first, until)]
    middle = columns.pieces.extents[first:until, :2].mean(1)
    heads = np.searchsorted(between, middle)
    cuts = [0, *(np.flatnonzero(np.diff(heads)) + 1).tolist(), until - first]
    return [Run(int(heads[a]), first + a, first + b) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
