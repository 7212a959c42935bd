"""Values that stand once for many rows: in a merged cell, or above the table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cinnabar.engine.model import Canvas, SlotInstance
from cinnabar.engine.models.reader.inputs.views import RowExtent
from cinnabar.engine.models.reader.memory.form import FormRequest
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.priors.config import TableConfig
from cinnabar.engine.models.reader.scoring.answering import answer
from cinnabar.engine.models.reader.scoring.spans import Answers
from cinnabar.engine.models.reader.tables.column_signs import (
    COLUMN_READ_ROWS,
    ListFields,
    is_filled,
    is_merged,
    spread,
)
from cinnabar.engine.models.reader.tables.read_rows import Value, ask, form_of_row
from cinnabar.engine.request import Passage
from cinnabar.engine.tables.heads import Span
from cinnabar.engine.tables.table import PrintedTable
from cinnabar.schemas.form.form import Slot

#: The characters above a table that are looked at.
ABOVE_REACH = 1500


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
    above = max(above, table.start - ABOVE_REACH)
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
