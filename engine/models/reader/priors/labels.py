"""The labels of a page, settled for all fields of the record together.

A short cell, or the part of a cell before a colon, is a field's label as surely as its words are the field's name, and
the less surely the more similar they are to another field's name. A list of texts has labels like a field.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.engine.models.reader.priors.config import PriorConfig
from cinnabar.engine.models.reader.priors.name_matching import (
    FieldNames,
    Floats,
    NameSimilarity,
    Page,
    ShortCell,
    asked_of,
    claims_of,
)
from cinnabar.schemas.form.form import Form, Slot


@dataclass(frozen=True, slots=True)
class Label:
    """A cell that is a label, its certainty for each of F fields, and the labelled pieces [first, until).

    is_head: whether it stands in a line of heads above one row of values.
    """

    cell: int
    claims: Floats
    first: int
    until: int
    is_head: bool = False


@lru_cache(maxsize=256)
def fields_of_record(form: Form) -> Mapping[str, FieldNames]:
    """Returns the names and notes of the fields outside of lists, and of the lists of texts, by their paths."""
    asked = form_questions(form)
    fields = {}
    for slot, question in zip(form.slots, asked.slots, strict=True):
        if "*" not in slot.path:
            fields[slot.path] = asked_of(slot.path, question)
    for array, question in zip(form.arrays, asked.arrays, strict=True):
        if "*" not in array.path and isinstance(array.item, Slot) and not array.item.options:
            # The description of a list also tells the source of its items ("listed by the landlord").
            fields[array.path] = replace(asked_of(array.path, question), note=())
    return fields


def labels_of(form: Form, page: Page, config: PriorConfig) -> list[Label]:
    """Returns the labels of a page that label something, with their claims in the order of `fields_of_record`."""
    fields, columns = fields_of_record(form), page.columns
    short = [one for one in page.short if not one.has_figures]
    if not fields or not short:
        return []
    names = {name for field in fields.values() for name in field.names}
    notes = {field.note for field in fields.values()}
    naming = NameSimilarity(names, notes, {one.words for one in short}, page.words, config.name_matching)
    by_words = dict(zip(naming.cells, _claims(list(fields.values()), naming, config).T, strict=True))
    claims = {one.cell: own for one in short if (own := by_words[one.words]).any()}
    headed = _values_below_heads(page, claims)
    labels = []
    for label in short:
        place = _value_of(label, columns, claims, headed) if label.cell in claims else None
        if place is not None:
            labels.append(Label(label.cell, claims[label.cell], *place, label.cell in headed))
    return labels


def _claims(fields: list[FieldNames], naming: NameSimilarity, config: PriorConfig) -> Floats:
    """Returns how surely each of C cells is the label of each of F fields: [F, C]."""
    alike = np.stack([naming.match_field(field) for field in fields])
    claims = claims_of(alike, config.name_matching.rivals)
    claims = np.where(claims >= config.label_prior.least, claims, 0.0)
    share = ((claims > 0) & (claims >= claims.max(0) - config.label_prior.alike)).sum(0)
    divided: Floats = (claims / np.maximum(share, 1)).astype(np.float32)
    return divided


def _values_below_heads(page: Page, claims: Mapping[int, Floats]) -> dict[int, int]:
    """Returns for each label of a line of heads the cell below it: boxes, or a table of one row.

    Such a line names two fields or more, has neither figures nor colons, and one cell stands below each of its own. A
    further line with the same cells, figures below figures, makes it the head of a list.
    """
    columns, names = page.columns, {one.cell: one for one in page.short if not one.has_figures}
    by_line: dict[int, list[int]] = {}
    for cell, line in enumerate(columns.line.tolist()):
        by_line.setdefault(line, []).append(cell)
    headed: dict[int, int] = {}
    for line in {int(columns.line[cell]) for cell in claims}:
        heads = by_line[line]
        are_names = all(cell in names and not page.text.startswith(":", names[cell].behind) for cell in heads)
        if not are_names or len({int(claims[cell].argmax()) for cell in heads if cell in claims}) < 2:
            continue
        under = [columns.below(cell) for cell in heads]
        values = [own[0] for own in under if len(own) == 1 and own[0] not in claims]
        is_filled = len(set(values)) == len(heads) == len(by_line[int(columns.line[values[0]])])
        if is_filled and not _goes_on(values, page):
            headed |= {head: value for head, value in zip(heads, values, strict=True) if head in claims}
    return headed


def _goes_on(cells: Sequence[int], page: Page) -> bool:
    """Returns whether the line below these cells has one below each, with figures if and only if that has some."""
    both = [(cell, page.columns.below(cell)) for cell in cells]
    return all(len(own) == 1 and page.has_figures(own[0]) == page.has_figures(cell) for cell, own in both)


def _value_of(
    label: ShortCell, columns: Columns, labels: Container[int], headed: Mapping[int, int]
) -> tuple[int, int] | None:
    """Returns the labelled pieces: the rest of the cell, the next cell on the line, or the one below.

    A cell among `labels` is no value: a label directly before it has none, and the result is None.

    headed: the cells below the heads of boxes.
    """
    pieces, cell = columns.pieces, label.cell
    first, until = int(columns.first[cell]), int(columns.first[cell + 1])
    behind = first + int(np.searchsorted(pieces.start[first:until], label.behind))
    while behind < until and pieces.end[behind] <= label.behind + 1:
        behind += 1
    if behind < until:
        return behind, until
    beside = cell + 2 < len(columns.first) and columns.line[cell + 1] == columns.line[cell]
    value = headed.get(cell, cell + 1 if beside else next(iter(columns.below(cell)), -1))
    if value < 0 or value in labels:
        return None
    return int(columns.first[value]), int(columns.first[value + 1])
