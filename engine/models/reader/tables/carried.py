"""Values that stand once for many rows: in a merged cell, in a heading between rows, or above the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cinnabar.engine.canvas import Canvas, SlotInstance
from cinnabar.engine.models.reader.inputs.views import Place
from cinnabar.engine.models.reader.memory.form import FormMemory
from cinnabar.engine.models.reader.memory.form_request import FormRequest
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.priors.config import TableConfig
from cinnabar.engine.models.reader.scoring.answering import answer
from cinnabar.engine.models.reader.scoring.scores import Answers
from cinnabar.engine.models.reader.tables.columns import READ, Score, is_filled, spread
from cinnabar.engine.tables.table import Span, Table
from cinnabar.schemas.form.form import Form, Slot

#: The most stretches between rows that are asked for a field, and the characters above a table that are looked at.
_STRETCHES, _ABOVE = 300, 1500

#: The spans of a value, with its probability.
Value = tuple[tuple[Span, ...], float]


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Lines above the row of this number, as characters [start, end); `above`: above the table."""

    start: int
    end: int
    row: int
    above: bool = False


def filled_down(table: Table, column: int, nullable: bool, text: str, config: TableConfig) -> list[tuple[Span, ...]]:
    """Returns the cells of a column; where it has merged cells, each row has the cell that stands for it.

    A column of merged cells is empty in most rows. If its field may be empty as well, it must be the first of the
    columns that are.
    """
    cells = [row.cells[column] for row in table.rows]
    filled = [is_filled(cell, text) for cell in cells]
    share = sum(filled) / len(filled)
    if not filled[0] or share > config.merged:
        return cells
    rows = spread(table.rows, READ)
    if nullable and any(sum(is_filled(row.cells[c], text) for row in rows) > share * len(rows) for c in range(column)):
        return cells
    standing = cells[0]
    merged = []
    for cell, own in zip(cells, filled, strict=True):
        standing = cell if own else standing
        merged.append(standing)
    return merged


def carried(
    form: Form,
    questions: FormMemory,
    slots: Sequence[Slot],
    table: Table,
    above: int,
    memory: Memory,
    score: Score,
    config: TableConfig,
) -> dict[int, list[Value | None]]:
    """Returns the value of each row for the fields that no column has, by the slot's index, if lines between rows have
    one.

    above: the first character of the lines above the table that may hold one.
    """
    stretches = _stretches(table, max(above, table.start - _ABOVE))
    slots = [slot for slot in slots if not slot.options]
    if not stretches or not slots:
        return {}
    instances = [SlotInstance(0, slot, at) for at in range(len(stretches)) for slot in slots]
    count = len(instances)
    canvas = Canvas.open(instances)
    at = memory.pieces.at
    ends = [*(row.start for row in table.rows[1:]), table.end]
    places = {
        k: Place(at(stretch.start), max(at(stretch.start) + 1, at(ends[stretch.row] - 1) + 1))
        for k, one in enumerate(instances)
        for stretch in (stretches[one.row],)
    }
    (scores,) = score([FormRequest(form, questions, memory, canvas, range(count), places)])
    out = Answers(count)
    values: dict[int, list[Value | None]] = {}
    for number, slot in enumerate(slots):
        found: dict[int, Value] = {}
        for which, stretch in enumerate(stretches):
            k = which * len(slots) + number
            answer(k, scores[k], memory, canvas, out)
            # A heading stands outside of the rows in which the network knows values: that there is one may be doubtful.
            there = 1.0 if stretch.above else max(1.0 - math.exp(min(0.0, out.absent[k])), config.there)
            within = [
                (spans, math.exp(log) / there)
                for candidate, log in zip(out.candidates[k], out.logits[k], strict=True)
                if (spans := candidate.spans) and stretch.start <= spans[0][0] and spans[-1][1] <= stretch.end
            ]
            best = max(within, key=lambda one: one[1], default=None)
            if best is not None and best[1] >= config.carried:
                found[stretch.row] = best
        if found:
            values[slot.index] = _down(found, len(table.rows))
    return values


def _stretches(table: Table, above: int) -> list[_Stretch]:
    """Returns the lines above the table, and those between its rows."""
    stretches = [_Stretch(above, table.start, 0, True)] if above < table.start else []
    begins: dict[int, tuple[int, int]] = {}
    for line in table.between:
        if line.rows < len(table.rows):
            first, _ = begins.get(line.rows, (line.start, line.end))
            begins[line.rows] = first, line.end
    stretches += [_Stretch(start, end, row) for row, (start, end) in sorted(begins.items())]
    return stretches[:_STRETCHES]


def _down(found: dict[int, Value], rows: int) -> list[Value | None]:
    """Returns the value of each row: the last one found above it."""
    values: list[Value | None] = []
    last: Value | None = None
    for row in range(rows):
        last = found.get(row, last)
        values.append(last)
    return values
