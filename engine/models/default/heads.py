"""In which columns of a table the fields of a list's items stand, by the heads of the columns.

A line of a few cells that go by the names of several fields of one list is the head of a table. What stands
below a head, to the table's end, is told of its field, and less of the fields that go by other heads: a
lexical prior for the pointers, as `headings.py` is for objects. Which head is which field's is settled for
all of them together: a head is the less one field's, the more it is like another one's name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cinnabar.engine.models.default.columns import Columns
from cinnabar.engine.models.default.naming import Naming, Words, short_cells, words_in
from cinnabar.engine.models.default.questions import form_questions, words_of
from cinnabar.engine.models.default.wordpieces import WordPieces
from cinnabar.schemas.form import Form

#: How much likelier (a natural logarithm) a value starts below its field's head, how much less below that of
#: another one, and how much less behind the beginning of its cell.
OWN, OTHERS, INSIDE = 2.5, 2.5, 1.0
#: How much less likely it is that there is no value where there is a cell below the field's head.
PRESENT, EMPTY = 2.0, 1.0
#: What a word of a field's description counts beside one of its name.
NOTED = 0.7
#: How sure a head has to be to make a line a table's head, and how many there have to be.
LEAST, HEADS = 0.6, 2
#: How fast a head is less a field's, the more it is like another one's name.
RIVALS = 3.0
#: Lines of fewer than two columns after which a table is over.
OVER = 8

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Asked:
    """A field of a list's items: its names and its description, as words."""

    names: tuple[Words, ...]
    note: Words


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


def told_by_heads(
    form: Form, text: str, columns: Columns, vectors: Tensor, letters: Tensor, wordpieces: WordPieces
) -> dict[str, Floats]:
    """What the heads of tables say of each piece, by field: [T], OWN at most, 0 for nothing."""
    lists = fields_of_lists(form)
    lines = _lines(text, columns) if lists else {}
    if not lines:
        return {}
    names = {n for fields in lists.values() for f in fields.values() for n in (*f.names, f.note) if n}
    both = {line: _joined(cells, lines.get(line - 1, {}), columns) for line, cells in lines.items()}
    naming = Naming(names, {w for of in (lines, both) for own in of.values() for w in own.values()}, vectors, letters, wordpieces)
    told: dict[str, Floats] = {}
    for fields in lists.values():
        heads: dict[int, dict[int, Floats]] = {}
        for line, cells in lines.items():
            found = _heads(cells, fields, naming)
            if found is None and line - 1 not in heads:
                found = _heads(both[line], fields, naming)
            if found is not None:
                heads[line] = found
        if heads:
            said = {path: np.zeros(len(columns.pieces), np.float32) for path in fields}
            for line, claims in heads.items():
                until = min((k for k in heads if k > line), default=None)
                _tell(said, list(fields), line, until, claims, columns)
            told |= said
    return told


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
        [_named(field, words, naming) for words in cells.values()] for field in fields.values()
    ])  # fmt: skip
    claims = alike * _unrivalled(alike) * _unrivalled(alike.T).T
    sure = (claims >= LEAST).any(0).sum(), (claims >= LEAST).any(1).sum()
    if min(sure) < HEADS:
        return None
    return {cell: claims[:, i].astype(np.float32) for i, cell in enumerate(cells)}


def _named(field: Asked, words: Words, naming: Naming) -> float:
    best = 0.0
    for name in field.names:
        mine, theirs = naming.shares(name, words)
        best = max(best, max(mine, theirs) * (0.5 + 0.5 * min(mine, theirs)), naming.as_phrases(name, words))
    if field.note:
        best = max(best, NOTED * naming.shares(field.note, words)[1])
    return best


def _unrivalled(alike: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A factor for each of [A, B]: less where another of A is more alike to the same of B."""
    if len(alike) < 2:
        return np.ones_like(alike)
    top = np.sort(alike, 0)
    others = np.where(alike == top[-1], top[-2], top[-1])
    return np.exp(RIVALS * np.minimum(0.0, alike - others))


def _tell(
    said: Mapping[str, Floats], fields: Sequence[str], line: int, until: int | None, claims: Mapping[int, Floats],
    columns: Columns,
) -> None:  # fmt: skip
    """Note what the heads of one line say of the cells below it."""
    first = int(np.searchsorted(columns.line, line))
    heads = list(range(first, int(np.searchsorted(columns.line, line, side="right"))))
    none = np.zeros(len(fields), np.float32)
    says = np.stack([claims.get(head, none) for head in heads])
    best = says.max(0)
    others = np.stack([np.delete(says, f, 1).max(1) for f in range(len(fields))], 1)
    elsewhere = np.stack([np.delete(says, h, 0).max(0) if len(heads) > 1 else none for h in range(len(heads))])
    value = OWN * says - OTHERS * np.maximum(others, elsewhere) * (1 - says)
    left, right = columns.left[heads], columns.right[heads]
    between = (right[:-1] + left[1:]) / 2
    cell, empty, last = heads[-1] + 1, 0, len(columns.line)
    while cell < last and (until is None or columns.line[cell] < until):
        own = cell
        while own < last and columns.line[own] == columns.line[cell]:
            own += 1
        filled = set()
        for c in range(cell, own):
            filled |= _tell_cell(said, fields, c, value, left, right, between, columns)
        gap = int(columns.line[own] - columns.line[own - 1]) if own < last else 0
        empty = 0 if len(filled) >= HEADS else empty + 1
        empty += max(0, gap - 1)
        if empty >= OVER:
            break
        cell = own


def _tell_cell(
    said: Mapping[str, Floats], fields: Sequence[str], cell: int, value: Floats, left, right, between, columns: Columns
) -> set[int]:
    pieces = columns.pieces
    own = slice(int(columns.first[cell]), int(columns.first[cell + 1]))
    a, b = columns.left[cell], columns.right[cell]
    under = np.flatnonzero((np.minimum(right, b) - np.maximum(left, a)) > 0)
    if len(under) == 1:
        of = np.full(own.stop - own.start, under[0])
    elif len(under) == 0:
        of = np.full(own.stop - own.start, int(np.searchsorted(between, (a + b) / 2)))
    else:
        middle = (pieces.extents[own, 0] + pieces.extents[own, 1]) / 2
        of = np.searchsorted(between, middle)
    begins = np.diff(of, prepend=-1) != 0
    for f, path in enumerate(fields):
        v = value[of, f]
        said[path][own] = v - np.where(begins | (v <= 0), 0.0, INSIDE * np.minimum(v / OWN, 1.0))
    return set(of.tolist())


def told_of_absence(told: Tensor, region: Tensor, allowed: Tensor) -> Tensor:
    """What to add to the logits of there being no value in a row: [N, S].

    told: [N, S, T], of heads; region: where pieces stand, seen from the row (regions.py); allowed: where the
    slot's values may start, bool.
    """
    own = allowed & (region >= 2) & (region <= 4)
    most = torch.where(own, told, -torch.inf).amax(-1)
    here = torch.where(most > 0, -PRESENT * most / OWN, -EMPTY * most / OTHERS)
    return torch.where(own.any(-1), here, 0.0)
