"""Values that stand once for many rows: in a merged cell, or above the table.

A language model reads a few rows of a table, each as a card: a field's column is where it finds the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cinnabar.engine.fill.writing import minimal
from cinnabar.engine.model import Canvas, SlotInstance
from cinnabar.engine.models.reader.inputs.views import RowExtent
from cinnabar.engine.models.reader.memory.form import FormRequest
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.priors.config import TableConfig
from cinnabar.engine.models.reader.scoring.answering import answer
from cinnabar.engine.models.reader.scoring.spans import Answers
from cinnabar.engine.models.reader.tables.columns import (
    COLUMN_READ_ROWS,
    Floats,
    ListFields,
    cards_of,
    column_at,
    is_filled,
    is_merged,
    spread,
)
from cinnabar.engine.request import Failed, Filler, Leaf, Passage, Request, text_passage
from cinnabar.engine.tables.heads import Span
from cinnabar.engine.tables.table import PrintedTable
from cinnabar.schemas.form.form import Form, ObjectNode, Property, Slot

#: The characters above a table that are looked at.
CARRIED_REACH = 1500
#: The rows of a table that are read.
CARRIED_ROWS = 3
#: The most layouts of tables in a document of which rows are read.
CARRIED_LAYOUTS = 6
#: What keeps columns of which the model holds hardly any from all of the share.
CARRIED_SURELY = 0.1
#: The spans of a value, with its probability.
Value = tuple[tuple[Span, ...], float]


def filled_down(
    table: PrintedTable, column: int, nullable: bool, text: str, config: TableConfig
) -> list[tuple[Span, ...]]:
    """Returns the cells of a column; where it has merged cells, each row has the cell that stands for it.

    A column of merged cells is empty in most rows. If its field may be empty as well, it must be the first of the
    columns that are.
    """
    cells = [row.cells[column] for row in table.rows]
    if not is_merged(cells, config):
        return cells
    filled = [bool(cell) for cell in cells]
    share = sum(filled) / len(filled)
    rows = spread(table.rows, COLUMN_READ_ROWS)
    if nullable and any(sum(is_filled(row.cells[c], text) for row in rows) > share * len(rows) for c in range(column)):
        return cells
    standing = cells[0]
    merged = []
    for cell, own in zip(cells, filled, strict=True):
        standing = cell if own else standing
        merged.append(standing)
    return merged


def values_above(
    asked: ListFields, slots: Sequence[Slot], table: PrintedTable, above: int, memory: Memory
) -> dict[int, Value]:
    """Returns the values of fields that the lines above a table tell for all of its rows, by the slot's index.

    above: the first character of the lines that may tell one, which is behind another table of the list if not 0.
    """
    is_later = above > 0
    above = max(above, table.start - CARRIED_REACH)
    slots = [slot for slot in slots if not slot.options]
    if not slots or not memory.passage.text[above : table.start].strip():
        return {}
    # What stands above the first table is read once by a language model, if there is one, else by the network.
    filler = asked.beside() if asked.beside is not None and not is_later else None
    lines = memory.passage.text[above : table.start]
    said = [] if filler is None else ask(filler, form_of_row(asked.form, slots), [lines])
    read = {} if said else _read_above(asked, slots, above, table.start, memory)
    for at, one in said[0].items() if said else ():
        if one.value is not None:
            read[slots[at].index] = one.value
    told: dict[int, Value] = {}
    for index, (spans, chance) in read.items():
        if chance >= asked.config.carried:
            told[index] = tuple((above + start, above + end) for start, end in spans), chance
    return told


def _read_above(asked: ListFields, slots: Sequence[Slot], begin: int, end: int, memory: Memory) -> dict[int, Value]:
    """Returns the likeliest value of each field in some characters as the network reads them, by the slot's index."""
    (lines,) = asked.encode([_part(memory.passage, begin, end)])
    instances = [SlotInstance(0, slot, 0) for slot in slots]
    canvas, own = Canvas.open(instances), range(len(slots))
    places = dict.fromkeys(own, RowExtent(0, len(lines.pieces)))
    (scores,) = asked.score([FormRequest(asked.form, asked.questions, lines, canvas, own, places)])
    out = Answers(len(slots))
    found: dict[int, Value] = {}
    for k, slot in enumerate(slots):
        answer(k, scores[k], lines, canvas, out)
        pairs = zip(out.candidates[k], out.logits[k], strict=True)
        best = max(((one.spans, log) for one, log in pairs if one.spans), key=lambda one: one[1], default=None)
        if best is not None:
            found[slot.index] = best[0], math.exp(best[1])
    return found


def _part(passage: Passage, start: int, end: int) -> Passage:
    """Returns the characters [start, end) of a passage as one of their own."""
    first, last = np.searchsorted(passage.word_start, (start, end))
    begins, ends = passage.word_start[first:last] - start, np.minimum(passage.word_end[first:last], end) - start
    digest = f"{passage.digest} {start} {end}"
    return Passage(digest, passage.text[start:end], 0, begins, ends, passage.word_box[first:last], passage.locale)


def read_rows(asked: ListFields, beside: Callable[[], Filler], table: PrintedTable, memory: Memory) -> Floats:
    """Returns the mean share of each field's value that a language model reads in each column, and in none: [F, C + 1].

    The model, which `beside` loads, reads a few rows, once for tables with the same heads; a choice has no share. With
    all signs together 1.5B matched 420 of 472 columns of tuning layouts, 319 without it. All rows in one prompt, as
    items of a list, did worse, and lines of the document much worse.
    """
    shares = np.zeros((len(asked.slots), len(table.heads) + 1))
    heads = [table.head(column, memory.passage.text) for column in range(len(table.heads))]
    key: tuple[str | int, ...] = (asked.form.fingerprint, asked.array, *heads)
    known = memory.columns_read
    all_chosen = all(slot.options for slot in asked.slots)
    if all_chosen or key in known or len(known) == CARRIED_LAYOUTS:
        return known.get(key, shares)
    cards = [cards_of(table, [row], memory.passage.text) for row in spread(table.rows, CARRIED_ROWS)]
    said = ask(beside(), form_of_row(asked.form, asked.slots), [text for text, _ in cards])
    for (card, (row,)), answers in zip(cards, said, strict=False):
        words = [card[slice(*cell[0])] if cell else "" for cell in row.cells]
        for slot, one in answers.items():
            shares[slot, -1] += one.none / len(cards)
            spans, share = one.value or ((), 0.0)
            columns = {column_at(row, start) for start, _ in spans}
            if len(columns) == 1 and (column := columns.pop()) >= 0:
                # Which of several cells with the same words was meant, nobody knows.
                same = [at for at, own in enumerate(words) if own == words[column]]
                shares[slot, same] += share / len(cards) / len(same)
    # How shares lie to each other tells more than how high they are.
    shares[:, :-1] /= shares[:, :-1].sum(1, keepdims=True) + CARRIED_SURELY
    return known.setdefault(key, shares)


@dataclass(frozen=True, slots=True)
class FieldSaid:
    """A language model's answer about a field: the share of no value, and its value, if any, with its share."""

    none: float
    value: Value | None


def ask(filler: Filler, form: Form, texts: Sequence[str]) -> list[dict[int, FieldSaid]]:
    """Returns what a language model reads in each text, by field, but for choices; empty if it fails at one."""
    asked = [Request(str(at), form, text_passage(text)) for at, text in enumerate(texts)]
    said: list[dict[int, FieldSaid]] = []
    for result in filler.fill(asked):
        if isinstance(result, Failed):
            return []
        leaves = (leaf for leaf in result.leaves.values() if not form.slots[leaf.slot].options)
        said.append({leaf.slot: _said(leaf) for leaf in leaves})
    return said


def _said(leaf: Leaf) -> FieldSaid:
    if leaf.text in (None, "null"):
        return FieldSaid(leaf.confidence, None)
    return FieldSaid(leaf.absence, (leaf.spans, leaf.confidence) if leaf.spans and leaf.origin != "minimal" else None)


def form_of_row(form: Form, slots: Sequence[Slot]) -> Form:
    """Returns the form of a record that is one item of a list: its fields, those of a list around it too."""
    outer, _, _ = slots[0].path.partition("/*/")
    paths = (slot.path.removeprefix(f"{outer}/*").replace("/*", "") for slot in slots)
    own = tuple(replace(slot, index=at, path=path) for at, (slot, path) in enumerate(zip(slots, paths, strict=True)))
    root = ObjectNode(0, "", tuple(Property(slot.path.strip("/"), slot, True) for slot in own))
    title = f"row of {outer.rpartition('/')[2]}"
    flat = replace(form, root=root, slots=own, arrays=(), objects=(root,), choices=())
    return replace(flat, title=title, judge=None, instance=minimal(root).decode())
