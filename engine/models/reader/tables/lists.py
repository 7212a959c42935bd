"""A list whose items stand in the rows of tables: which tables, which rows, and the column of each field."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.code_choices import MixedSlot
from cinnabar.engine.models.reader.memory.form import FormMemory
from cinnabar.engine.models.reader.memory.passage import BoundRow, Memory
from cinnabar.engine.models.reader.priors.config import TableConfig
from cinnabar.engine.models.reader.scoring.choices import printed_options
from cinnabar.engine.models.reader.scoring.scores import Answers
from cinnabar.engine.models.reader.scoring.single_item import is_list_of_objects
from cinnabar.engine.models.reader.tables.binding import Binding, bind
from cinnabar.engine.models.reader.tables.carried import carried, filled_down
from cinnabar.engine.models.reader.tables.columns import Score, alike, is_filled, readable, votes, words_in
from cinnabar.engine.models.reader.tables.sums import sum_rows
from cinnabar.engine.models.sentences.encoder import SentenceEncoder
from cinnabar.engine.tables.table import Span, Table, tables_of
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


def bound_list(
    form: Form,
    array: ArrayNode,
    questions: FormMemory,
    memory: Memory,
    score: Score,
    encoder: Callable[[], SentenceEncoder] | None,
    config: TableConfig,
) -> dict[int, BoundRow]:
    """Returns the rows of the list by their first characters, if it stands in tables that are bound surely enough."""
    slots = fields_of(form, array)
    if len(slots) < 2:
        return {}
    found: list[tuple[Table, Binding]] = []
    chosen = np.array([bool(slot.options) for slot in slots])
    large = [one for one in tables_in(memory) if len(one.rows) >= config.rows and len(one.heads) <= _COLUMNS]
    for table in sorted(large, key=lambda one: -len(one.rows))[:_TABLES]:
        likeness = (
            np.zeros((len(slots), len(table.heads)))
            if encoder is None
            else alike(form, slots, table, memory.passage.text, encoder())
        )
        voted = votes(form, questions, slots, table, memory, score)
        found.append((table, bind(voted, readable(slots, questions, table, memory), likeness, chosen, config)))
    sure = sorted(((table, own) for table, own in found if _is_sure(own, config)), key=lambda one: one[0].start)
    rows: dict[int, BoundRow] = {}
    before = 0
    for table, binding in sure:
        rows |= _rows(table, binding, form, questions, slots, before, memory, score, config)
        before = table.end
    return rows


def _rows(
    table: Table,
    binding: Binding,
    form: Form,
    questions: FormMemory,
    slots: Sequence[Slot],
    above: int,
    memory: Memory,
    score: Score,
    config: TableConfig,
) -> dict[int, BoundRow]:
    """Returns the rows of a bound table by their first characters, without those that are sums."""
    cells: list[dict[int, tuple[tuple[Span, ...], float]]] = [{} for _ in table.rows]
    doubtful = []
    for slot, column, chance in zip(slots, binding.columns, binding.chances, strict=True):
        if column < 0 or chance < config.column:
            doubtful.append(slot)
            continue
        own = filled_down(table, column, slot.nullable, memory.passage.text, config)
        for row, cell in zip(cells, own, strict=True):
            row[slot.index] = cell, chance
    for index, values in carried(form, questions, doubtful, table, above, memory, score, config).items():
        for row, value in zip(cells, values, strict=True):
            if value is not None:
                row[index] = value
    sums, bound = sum_rows(table, memory.reader), _bound(binding, config)
    mean = sum(bound) / len(bound)
    kept = [(at, row) for at, row in enumerate(table.rows) if at not in sums]
    return {row.start: BoundRow(cells[at], mean) for at, row in kept}


def _is_sure(binding: Binding, config: TableConfig) -> bool:
    """Returns whether enough of the fields have a column surely enough."""
    bound = _bound(binding, config)
    return len(bound) >= max(2, config.fields * len(binding.columns))


def _bound(binding: Binding, config: TableConfig) -> list[float]:
    """Returns the probabilities of the columns that are sure enough."""
    both = zip(binding.columns, binding.chances, strict=True)
    return [chance for column, chance in both if column >= 0 and chance >= config.column]


def write_cell(
    k: int, slot: Slot, cell: tuple[Span, ...], chance: float, questions: FormMemory, memory: Memory, out: Answers
) -> bool:
    """Writes what a cell says as the answer of its slot; returns False if it says nothing that the slot accepts."""
    text = memory.passage.text
    sure, doubt = math.log(max(chance - _LEAST, _LEAST)), math.log(max(1.0 - chance, _LEAST))
    if not is_filled(cell, text):
        out.candidates[k], out.logits[k], out.absent[k] = [], [], sure
        return True
    if slot.options:
        printed = printed_options(questions, slot, words_in(cell, text))
        if sum(printed) != 1:
            return False
        option = slot.options[printed.index(True)]
        rest = math.log(_LEAST / len(slot.options))
        others = [Candidate(other.encode(), (), "chosen") for other in slot.options if other != option]
        out.candidates[k] = [Candidate(option.encode(), cell, "chosen"), *others]
        out.logits[k], out.absent[k] = [sure, *[rest] * len(others)], doubt
        return True
    if isinstance(slot, MixedSlot):
        return False
    read = memory.reader.read(slot, *cell)
    if read is None:
        return False
    out.candidates[k], out.logits[k], out.absent[k] = [Candidate(read, cell)], [sure], doubt
    return True
