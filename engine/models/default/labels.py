"""Whose label a cell of the page is, settled for all fields of the record together.

A short cell, or what stands in one before a colon, is a field's label as surely as its words are the field's
name, and the less the more they are like another field's. What stands behind a label on its line, or below it
where nothing does, is told of the field, and less of the others: a lexical prior for the pointers, as
`tables.py` is for the columns of lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from torch import Tensor

from cinnabar.engine.models.default.columns import Columns
from cinnabar.engine.models.default.heads import Asked, named, unrivalled
from cinnabar.engine.models.default.naming import Naming, Short, short_cells, words_in
from cinnabar.engine.models.default.questions import form_questions, words_of
from cinnabar.engine.models.default.wordpieces import WordPieces
from cinnabar.schemas.form import Form
from cinnabar.schemas.pointers import unescape

#: How much likelier (a natural logarithm) a value starts behind its field's label, how much less behind that
#: of another one, and how much less behind the value's first word.
OWN, OTHERS, INSIDE = 2.0, 1.5, 0.5
#: How sure a label has to be.
LEAST = 0.6
#: Fields that a label names as surely as the surest one, within this, share it.
ALIKE = 0.1

Floats = npt.NDArray[np.float32]


@lru_cache(maxsize=256)
def fields_of_record(form: Form) -> Mapping[str, Asked]:
    """The fields outside of lists, by their paths."""
    found: dict[str, Asked] = {}
    for slot, question in zip(form.slots, form_questions(form).slots, strict=True):
        if "*" not in slot.path:
            own = words_of(unescape(slot.path.rpartition("/")[2]))
            names = dict.fromkeys(words_in(name) for name in (own, question.label.lower()))
            note = tuple(dict.fromkeys(words_in(question.note.lower())))
            found[slot.path] = Asked(tuple(name for name in names if name), note)
    return found


def told_by_labels(
    form: Form, text: str, columns: Columns, vectors: Tensor, letters: Tensor, wordpieces: WordPieces
) -> dict[str, Floats]:
    """What labels say of where each field's value starts, by its path: [T], OWN at most, 0 for nothing.

    vectors: [V, H], those of the vocabulary; letters: those of runs of letters (phrases.py).
    """
    fields = fields_of_record(form)
    short = [one for one in short_cells(text, columns) if not any(c.isdigit() for w in one.words for c in w)]
    if not fields or not short:
        return {}
    words = sorted({one.words for one in short})
    names = {name for field in fields.values() for name in (*field.names, field.note) if name}
    naming = Naming(names, words, vectors, letters, wordpieces)
    alike = np.array([[named(field, own, naming) for own in words] for field in fields.values()])
    claims = alike * unrivalled(alike) * unrivalled(alike.T).T
    claims = np.where(claims >= LEAST, claims, 0.0)
    claims /= np.maximum(1, ((claims > 0) & (claims >= claims.max(0) - ALIKE)).sum(0))
    by_words = dict(zip(words, claims.T, strict=True))
    told = {path: np.zeros(len(columns.pieces), np.float32) for path in fields}
    for one in short:
        own = by_words[one.words]
        place = _value_of(one, columns) if own.any() else None
        if place is None:
            continue
        first, until = place
        most = own.max()
        for path, claim in zip(fields, own, strict=True):
            said = OWN * claim - OTHERS * (most - claim)
            told[path][first:until] = said - (INSIDE * claim if claim > 0 else 0.0)
            told[path][first] = said
    return {path: said for path, said in told.items() if said.any()}


def _value_of(label: Short, columns: Columns) -> tuple[int, int] | None:
    """The pieces of what is labelled: the rest of the cell, the next cell on the line, or the one below."""
    pieces, cell = columns.pieces, label.cell
    first, until = int(columns.first[cell]), int(columns.first[cell + 1])
    behind = first + int(np.searchsorted(pieces.start[first:until], label.behind))
    while behind < until and pieces.end[behind] <= label.behind + 1:
        behind += 1
    if behind < until:
        return behind, until
    if cell + 2 < len(columns.first) and columns.line[cell + 1] == columns.line[cell]:
        return until, int(columns.first[cell + 2])
    below = columns.below(cell)
    return (int(columns.first[below[0]]), int(columns.first[below[0] + 1])) if below else None
