"""A list whose items stand in the rows of tables: which tables, which rows, and the column of each field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.code_choices import MixedSlot
from cinnabar.engine.models.reader.inputs.windows import LONGEST
from cinnabar.engine.models.reader.memory.passage import BoundRow, Memory
from cinnabar.engine.models.reader.priors.config import TableConfig
from cinnabar.engine.models.reader.scoring.scores import Answers
from cinnabar.engine.models.reader.scoring.single_item import is_list_of_objects
from cinnabar.engine.models.reader.tables.binding import Binding, bind
from cinnabar.engine.models.reader.tables.carried import filled_down, told_above
from cinnabar.engine.models.reader.tables.columns import Asked, Signs, is_filled, signs_of
from cinnabar.engine.models.reader.tables.sums import sum_rows
from cinnabar.engine.tables.headings import with_headings
from cinnabar.engine.tables.heads import Span, words_of
from cinnabar.engine.tables.table import Table, tables_of
from cinnabar.schemas.form.form import ArrayNode, Form, Slot, enclosing

#: The log probability that is left to what a bound cell does not say.
_LEAST = 1e-4
#: The most tables of a passage that are bound, the longest ones, and the most columns of one.
_TABLES, _COLUMNS = 40, 200


def fields_of(form: Form, array: ArrayNode) -> list[Slot]:
    """Returns the slots of a list's items, without those of lists within them; none if it is no list of objects."""
    if enclosing(form)[array.index] >= 0 or not is_list_of_objects(array):
        return []
    begin = f"{array.path}/*/"
    own = [slot for slot in form.slots if slot.path.startswith(begin)]
    return own if not any("*" in slot.path[len(begin) :].split("/") for slot in own) else []


def tables_in(memory: Memory) -> list[Table]:
    """Returns the tables of a passage."""
    if memory.tables is None:
        passage = memory.passage
        memory.tables = tables_of(passage.text, passage.word_start, passage.word_box)
    return memory.tables


def bound_list(asked: Asked, memory: Memory) -> dict[int, BoundRow]:
    """Returns the rows of a list by their first characters, if it stands in tables that are bound surely enough."""
    config, slots = asked.config, asked.slots
    if len(slots) < 2:
        return {}
    chosen = np.array([bool(slot.options) for slot in slots])
    large = [one for one in tables_in(memory) if len(one.rows) >= config.rows and len(one.heads) <= _COLUMNS]
    found: list[tuple[Table, Signs, Binding]] = []
    for table in sorted(large, key=lambda one: -len(one.rows))[:_TABLES]:
        whole = with_headings(table, memory.passage.text)
        signs = signs_of(asked, whole, memory)
        found.append((whole, signs, bind(signs, chosen, config)))
    rows: dict[int, BoundRow] = {}
    before = 0
    for table, signs, binding in sorted(found, key=lambda one: one[0].start):
        if _is_sure(table, binding, config):
            rows |= _rows(asked, table, signs, binding, before, memory)
            before = table.end
    return rows


def outside_of(lists: Mapping[int, Mapping[int, BoundRow]], memory: Memory) -> list[int]:
    """Returns the windows that are not all within the rows of bound lists: other fields have their values there.

    The first and the last row of a list lie beside what stands above and below it.
    """
    rows = sorted(start for own in lists.values() for start in own)
    pieces = [memory.pieces.at(start) for start in rows[1:-1]]
    # Between two rows no further apart than a window there are only headings and sums.
    runs = [(one, two) for one, two in pairwise(pieces) if two - one <= LONGEST]
    inside = np.zeros(len(memory.pieces) + 1, bool)
    for one, two in runs:
        inside[one:two] = True
    return [w for w, window in enumerate(memory.windows) if not inside[window.first : window.last].all()]


def _rows(
    asked: Asked, table: Table, signs: Signs, binding: Binding, above: int, memory: Memory
) -> dict[int, BoundRow]:
    """Returns the rows of a bound table by their first characters, without those that are sums."""
    text, config = memory.passage.text, asked.config
    cells: list[dict[int, tuple[tuple[Span, ...], float]]] = [{} for _ in table.rows]
    codes: dict[int, dict[str, str]] = {}
    doubtful, bound = list[Slot](), set[int]()
    least, is_long = config.least(len(table.rows))[0], len(table.rows) >= config.long
    for at, (slot, column, chance) in enumerate(zip(asked.slots, binding.columns, binding.chances, strict=True)):
        if column < 0 or chance < least:
            doubtful.append(slot)
            for known in cells if is_long else ():
                known[slot.index] = (), chance if column < 0 else 1.0 - chance
            continue
        bound.add(column)
        codes[slot.index] = signs.codes[at][column]
        own = filled_down(table, column, slot.nullable, text, config)
        for known, cell in zip(cells, own, strict=True):
            known[slot.index] = cell, chance
    for index, value in told_above(asked, doubtful, table, above, memory).items():
        for known in cells:
            known[index] = value
    sums, chances = sum_rows(table, memory.reader), _bound(table, binding, config)
    mean = sum(chances) / len(chances)
    rows: dict[int, BoundRow] = {}
    for at, row in enumerate(table.rows):
        if at not in sums:
            taken = tuple(span for column in bound for span in row.cells[column])
            # The network reads no rows of a long table: it takes what stands beside the field's column for its value.
            rows[row.start] = BoundRow(cells[at], codes, taken, is_long, mean)
    return rows


def _is_sure(table: Table, binding: Binding, config: TableConfig) -> bool:
    """Returns whether enough of the fields have a column surely enough.

    In a table without heads and with fewer columns than fields a cell has the words of several.
    """
    if not any(table.heads) and len(table.heads) < len(binding.columns):
        return False
    bound = _bound(table, binding, config)
    return len(bound) >= max(2, config.least(len(table.rows))[1] * len(binding.columns))


def _bound(table: Table, binding: Binding, config: TableConfig) -> list[float]:
    """Returns the probabilities of the columns that are sure enough."""
    least, _ = config.least(len(table.rows))
    both = zip(binding.columns, binding.chances, strict=True)
    return [chance for column, chance in both if column >= 0 and chance >= least]


def write_cell(k: int, slot: Slot, row: BoundRow, memory: Memory, out: Answers) -> bool:
    """Writes what a bound row says as the answer of a slot; returns False if the network is to be asked for it."""
    text = memory.passage.text
    cell, chance = row.cells.get(slot.index, ((), row.chance))
    if slot.index not in row.cells and not row.is_closed:
        return False
    sure, doubt = math.log(max(chance - _LEAST, _LEAST)), math.log(max(1.0 - chance, _LEAST))
    if not is_filled(cell, text):
        return _write_absent(k, sure, out)
    if slot.options:
        option = row.codes.get(slot.index, {}).get(words_of(cell, text))
        if option is None:
            return row.is_closed and _write_absent(k, doubt, out)
        rest = math.log(_LEAST / len(slot.options))
        others = [Candidate(other.encode(), (), "chosen") for other in slot.options if other != option]
        out.candidates[k] = [Candidate(option.encode(), cell, "chosen"), *others]
        out.logits[k], out.absent[k] = [sure, *[rest] * len(others)], doubt
        return True
    read = None if isinstance(slot, MixedSlot) else memory.reader.read(slot, *cell)
    if read is None:
        return row.is_closed and _write_absent(k, doubt, out)
    out.candidates[k], out.logits[k], out.absent[k] = [Candidate(read, cell)], [sure], doubt
    return True


def _write_absent(k: int, log: float, out: Answers) -> bool:
    """Writes that a slot has no value, with the logarithm of its probability."""
    out.candidates[k], out.logits[k], out.absent[k] = [], [], log
    return True


def leave_taken(k: int, row: BoundRow, out: Answers) -> None:
    """Drops the candidates of a slot that are words of columns bound to other fields: their probability is absence."""
    kept, gone = list[int](), [out.absent[k]]
    for at, (candidate, log) in enumerate(zip(out.candidates[k], out.logits[k], strict=True)):
        if any(a < end and start < b for a, b in candidate.spans for start, end in row.taken):
            gone.append(log)
        else:
            kept.append(at)
    if len(gone) > 1:
        out.candidates[k] = [out.candidates[k][at] for at in kept]
        out.logits[k] = [out.logits[k][at] for at in kept]
        out.absent[k] = min(0.0, float(np.logaddexp.reduce(gone)))
