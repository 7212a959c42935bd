"""Whose block a place of a page lies in: the heading above it may name an object of the form.

Two parties of a document have fields of the same names, and the label before a value tells only which field
it is. The names of the objects are looked for among the cells of the page: a short cell with the words of one
is its heading, and what stands below it, up to the next heading, is told of that object. A lexical prior for
the pointers, as `matching.py` and `phrases.py` are for labels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from cinnabar.engine.models.default.columns import Columns
from cinnabar.engine.models.default.phrases import likeness, vectors_of
from cinnabar.engine.models.default.questions import words_of
from cinnabar.engine.models.default.windows import Window
from cinnabar.engine.models.default.wordpieces import WordPieces
from cinnabar.schemas.form import Form, Slot, walk
from cinnabar.schemas.pointers import above, unescape

#: How much likelier (a natural logarithm) a value starts below its object's heading, and how much less below
#: that of an object with fields of the same names.
OWN, OTHERS = 2.5, 2.5
#: Of the fields of the one with fewer, the share of names that makes two objects rivals.
SAME_NAMES = 0.5
#: Most words of a heading, and of a cell's beginning up to its colon.
WORDS = 6
#: Least share of an object's words, and of the heading's, that makes a heading.
LEAST = 0.65
#: Likeness of two words' vectors that says nothing.
UNLIKE = 0.55
#: Lines below a heading over which it counts for a third, where nothing stands behind it, and where its line
#: goes on; and lines after which it is over.
ALONE, BESIDE, OVER = 14.0, 6.0, 16
#: How far left of its heading a block may begin, in the units of `Pieces.left`.
INDENT = 40
#: Heads that are compared with objects together: 12 MB of letters.
HEADS_AT_ONCE = 4096
#: Letters in which two words have to agree, and by which the longer one is longer at most.
STEM = 4
_WORD = re.compile(r"[^\W_]+")
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Thing:
    """An object: the names that it and those around it go by, as words, and the names of its fields."""

    names: tuple[tuple[str, ...], ...]
    fields: frozenset[str]

    def is_rival(self, other: Thing) -> bool:
        """Whether a value may be taken for one of the other's, by its label."""
        return len(self.fields & other.fields) >= SAME_NAMES * min(len(self.fields), len(other.fields))


Objects = Mapping[str, Thing]
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A cell that names objects: its line and left edge, the edge of the next cell, and how surely it does.

    Its own words end before the character `behind`; `reach` is the number of lines over which it counts for
    a third.
    """

    line: int
    left: int
    until: int
    behind: int
    cell: int
    objects: frozenset[str]
    sure: float
    reach: float


@lru_cache(maxsize=256)
def objects_of(form: Form) -> Objects:
    """The objects of the record that have fields of their own, outside of lists, by their paths."""
    titles = {n.path: n.title for n in walk(form.root) if not isinstance(n, Slot) and n.path}
    fields: dict[str, set[str]] = {}
    for slot in form.slots:
        path, _, name = slot.path.rpartition("/")
        if path and "*" not in slot.path:
            fields.setdefault(path, set()).add(name)
    found = {}
    for path, own in fields.items():
        names = [words_of(unescape(part)) for part in path.split("/")[1:]]
        names += [words_of(titles[p]) for p in above(path) if titles.get(p)]
        words = dict.fromkeys(tuple(_WORD.findall(name)) for name in names)
        found[path] = Thing(tuple(w for w in words if w), frozenset(own))
    return found


def told_by_headings(
    form: Form, text: str, columns: Columns, vectors: Tensor, letters: Tensor, wordpieces: WordPieces
) -> dict[str, Floats]:
    """What the headings say of each piece, by object: [T], OWN at most and -OTHERS at least, 0 for nothing.

    vectors: [V, H], those of the vocabulary; letters: those of runs of letters (phrases.py).
    """
    objects = objects_of(form)
    heads = _heads(text, columns) if any(own.names for own in objects.values()) else []
    if not heads:
        return {}
    alike = _likeness(objects, heads, vectors, wordpieces)
    names = {name for own in objects.values() for name in own.names}
    meant = _phrases(names, [words for _, words, _ in heads], letters, wordpieces)
    found = [_heading(cell, words, behind, objects, alike, meant, columns) for cell, words, behind in heads]
    headings = [heading for heading in found if heading is not None]
    return _told(headings, objects, columns) if headings else {}


def on_board(
    told: Mapping[str, Floats], windows: Sequence[Window], slots: Sequence[Sequence[Slot]], width: int
) -> Tensor:
    """What headings say of where the slots that look at each of N windows start: [N, S, T].

    Of the items of lists they say nothing.
    """
    said = torch.zeros(len(windows), max(map(len, slots)), width)
    for i, (w, own) in enumerate(zip(windows, slots, strict=True)):
        for j, slot in enumerate(own):
            of_object = told.get(slot.path.rpartition("/")[0])
            if of_object is not None:
                said[i, j, 1 : w.last - w.first + 1] = torch.from_numpy(of_object[w.first : w.last])
    return said


def _heads(text: str, columns: Columns) -> list[tuple[int, list[str], int]]:
    """The cells that are short, or begin with a few words and a colon: cell, words, the character behind."""
    pieces, heads = columns.pieces, []
    starts, ends = pieces.start[columns.first[:-1]].tolist(), pieces.end[columns.first[1:] - 1].tolist()
    for cell, (start, end) in enumerate(zip(starts, ends, strict=True)):
        behind = text.find(":", start, min(end, start + 60))
        behind = end if behind < 0 else behind
        if behind - start <= 80:
            words = [word.lower() for word in _WORD.findall(text, start, behind)]
            if 0 < len(words) <= WORDS:
                heads.append((cell, words, behind))
    return heads


def _likeness(
    objects: Objects,
    heads: Sequence[tuple[int, list[str], int]],
    vectors: Tensor,
    wordpieces: WordPieces,
) -> Mapping[tuple[str, str], float]:
    """How alike the words of objects and of heads are, 0 to 1, for those that are at all."""
    ours = sorted({word for own in objects.values() for name in own.names for word in name})
    theirs = sorted({word for _, words, _ in heads for word in words})
    near = _vectors(ours, vectors, wordpieces) @ _vectors(theirs, vectors, wordpieces).T
    near = ((near - UNLIKE) / (1 - UNLIKE)).clamp(min=0)
    found: dict[tuple[str, str], float] = {}
    for i, j in near.nonzero().tolist():
        if len(ours[i]) > 2 and len(theirs[j]) > 2:
            found[ours[i], theirs[j]] = float(near[i, j])
    for mine in ours:
        stem = mine[: max(STEM, len(mine) - 2)]
        for word in theirs:
            if mine == word:
                found[mine, word] = 1.0
            elif len(mine) >= STEM and word.startswith(stem) and len(word) < len(mine) + STEM:
                found[mine, word] = 0.95
    return found


def _phrases(
    names: Iterable[Words], heads: Iterable[Sequence[str]], letters: Tensor, wordpieces: WordPieces
) -> Mapping[tuple[Words, Words], float]:
    """How alike objects' names and heads are as phrases, 0 to 1, for those that are at all."""
    ours, theirs = sorted(names), sorted({tuple(words) for words in heads})
    objects = vectors_of(letters, [" ".join(name) for name in ours], wordpieces)
    found: dict[tuple[Words, Words], float] = {}
    for first in range(0, len(theirs), HEADS_AT_ONCE):
        part = theirs[first : first + HEADS_AT_ONCE]
        near = likeness(objects, vectors_of(letters, [" ".join(words) for words in part], wordpieces))
        found |= {(ours[i], part[j]): float(near[i, j]) for i, j in near.nonzero().tolist()}
    return found


def _vectors(words: Sequence[str], vectors: Tensor, wordpieces: WordPieces) -> Tensor:
    """The words' vectors, those of their pieces in the mean, of length one: [W, H]."""
    means = [vectors[list(wordpieces.ids(word)) or [0]].float().mean(0) for word in words]
    return F.normalize(torch.stack(means), dim=-1)


def _heading(
    cell: int,
    words: list[str],
    behind: int,
    objects: Objects,
    alike: Mapping[tuple[str, str], float],
    meant: Mapping[tuple[Words, Words], float],
    columns: Columns,
) -> Heading | None:
    """The heading that a cell is, if it names any object."""

    def named(name: Words) -> float:
        return max(_named(name, words, alike), meant.get((name, tuple(words)), 0.0))

    sure = {path: max(map(named, own.names), default=0.0) for path, own in objects.items()}
    most = max(sure.values())
    if most < LEAST:
        return None
    own = frozenset(path for path, one in sure.items() if one >= most - 0.1)
    line, last = int(columns.line[cell]), len(columns.line) - 1
    beside = cell < last and int(columns.line[cell + 1]) == line
    goes_on = int(columns.pieces.end[columns.first[cell + 1] - 1]) > behind + 1
    until = int(columns.left[cell + 1]) if beside else np.iinfo(np.int32).max
    reach = BESIDE if goes_on else ALONE
    return Heading(line, int(columns.left[cell]), until, behind, cell, own, most, reach)


def _named(name: Sequence[str], words: Sequence[str], alike: Mapping[tuple[str, str], float]) -> float:
    """How surely a cell of these words names what goes by this name: the words of both count."""
    mine = sum(max(alike.get((n, w), 0.0) for w in words) for n in name) / len(name)
    theirs = sum(max(alike.get((n, w), 0.0) for n in name) for w in words) / len(words)
    return mine * (0.4 + 0.6 * theirs)


def _told(headings: Sequence[Heading], objects: Objects, columns: Columns) -> dict[str, Floats]:
    """For each piece the heading that is next above it, and what it says."""
    pieces = columns.pieces
    told = {path: np.zeros(len(pieces), np.float32) for path in objects}
    rivals = {
        path: {other for other in objects if other != path and own.is_rival(objects[other])}
        for path, own in objects.items()
    }

    def note(heading: Heading, first: int, until: int, lines: int) -> None:
        weight = heading.sure * math.exp(-lines / heading.reach)
        for path, said in told.items():
            if path in heading.objects:
                said[first:until] = weight * OWN
            else:
                said[first:until] = -weight * OTHERS if heading.objects & rivals[path] else 0.0

    by_cell = {h.cell: h for h in headings}
    recent: list[Heading] = []
    lines, lefts = columns.line.tolist(), columns.left.tolist()
    for cell, (line, left) in enumerate(zip(lines, lefts, strict=True)):
        recent = [h for h in recent if h.line >= line - OVER]
        over = [h for h in recent if _is_below(line, left, h)]
        first, until = int(columns.first[cell]), int(columns.first[cell + 1])
        own = by_cell.get(cell)
        if own is not None:
            recent.append(own)
            behind = int(np.searchsorted(pieces.start[first:until], own.behind)) + first
            note(own, behind, until, 0)
            until = behind
        if over:
            nearest = max(over, key=lambda h: (h.line, h.left))
            note(nearest, first, until, line - nearest.line)
    return told


def _is_below(line: int, left: int, heading: Heading) -> bool:
    """Whether a cell stands behind a heading on its line, or below it."""
    if line == heading.line:
        return left > heading.left
    return heading.left - INDENT <= left < heading.until
