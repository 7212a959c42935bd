"""A list whose items stand in the rows of tables: which tables, which rows, and the column of each field."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import numpy as np
import numpy.typing as npt

from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.mixed_choices import MixedSlot
from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.engine.models.reader.inputs.tensors import LONGEST
from cinnabar.engine.models.reader.memory.passage import MatchedRow, Memory
from cinnabar.engine.models.reader.priors.config import TableConfig
from cinnabar.engine.models.reader.priors.name_matching import most_of_others
from cinnabar.engine.models.reader.scoring.rows import is_list_of_objects
from cinnabar.engine.models.reader.scoring.spans import Answers, Merged, add_candidate
from cinnabar.engine.models.reader.tables.charges import add_charges
from cinnabar.engine.models.reader.tables.column_signs import (
    ListFields,
    codes_in,
    column_features,
    is_filled,
    is_merged,
)
from cinnabar.engine.models.reader.tables.joined_tables import join_tables
from cinnabar.engine.models.reader.tables.matched_columns import (
    MATCH_TOLD,
    MatchedColumns,
    choice_columns,
    match_columns,
)
from cinnabar.engine.models.reader.tables.read_rows import read_rows
from cinnabar.engine.models.reader.tables.rival_heads import field_words
from cinnabar.engine.models.reader.tables.side_by_side import tables_beside
from cinnabar.engine.models.reader.tables.sums import balance_columns, payment_rows, sum_rows
from cinnabar.engine.models.reader.tables.values_above import filled_down, values_above
from cinnabar.engine.tables.continued import join_continued
from cinnabar.engine.tables.headings import add_headings
from cinnabar.engine.tables.heads import Span, words_of
from cinnabar.engine.tables.table import PrintedTable, TableRow, has_labels, tables_of
from cinnabar.schemas.form.form import ArrayNode, Form, Slot, enclosing_arrays

#: The log probability that is left to what a matched cell does not say.
LIST_LEAST_SHARE = 1e-4
#: The characters of a short cell.
LIST_SHORT_CELL = 80
#: The most columns of a table that is matched.
LIST_COLUMNS = 200
#: The least sureness of a number from a column of a short table that no word of its head tells, and the least share of
#: the column's cells that are such numbers.
LIST_BOUND, LIST_READ = 0.7, 0.95
#: The network's share of a column for one field from which on it is not another's, though the head names that one.
LIST_CONTESTED = 0.4
#: How sure an option is that stands in the column of a choice, in a short table.
LIST_OPTION_SURE = 0.95
#: How surely the last row of a table is an item if it lacks cells that all others have.
LIST_ODD_ROW = 0.2
#: The share of the rows of a short table in which items begin, from which on they begin in each.
LIST_BEGUN = 0.4


def list_fields(form: Form, array: ArrayNode) -> tuple[list[Slot], int]:
    """Returns the slots of a list's items, with those of a list within them, and this inner list's index or -1.

    None for a list of anything but objects, for one within another, and for one with several lists within it.
    """
    around = enclosing_arrays(form)
    if around[array.index] >= 0 or not is_list_of_objects(array):
        return [], -1
    inner = [one for one in form.arrays if around[one.index] == array.index]
    deeper = any(around[one.index] in {own.index for own in inner} for one in form.arrays)
    if len(inner) > 1 or deeper or not all(map(is_list_of_objects, inner)):
        return [], -1
    begin = f"{array.path}/*/"
    return [slot for slot in form.slots if slot.path.startswith(begin)], inner[0].index if inner else -1


def tables_in(memory: Memory, form: Form) -> list[tuple[PrintedTable, int]]:
    """Returns the tables of a passage, each with the array that its heads tell if it stands beside another, else -1."""
    if (kept := memory.tables_by_form.get(form.fingerprint)) is not None:
        return kept
    if memory.tables is None:
        passage = memory.passage
        found = tables_of(passage.text, passage.word_start, passage.word_box)
        memory.tables = [add_charges(table, memory.reader) for table in found]
    tables, questions, names = join_continued(memory.tables, memory.passage.text), form_questions(form).slots, {}
    for array in form.arrays:
        slots, _ = list_fields(form, array)
        if len(slots) > 1:
            names[array.index] = [field_words(slot.path, questions[slot.index]) for slot in slots]
    apart = [part for table in tables for part in tables_beside(table, names, memory.passage.text)]
    memory.tables_by_form[form.fingerprint] = apart
    return apart


@dataclass(frozen=True, slots=True)
class MatchedTable:
    """A table whose columns are matched to the fields of a list.

    counted: the first columns, which make it the list: without those that its headings make, unless these are groups.
    barred: [F, C], the columns that cannot be a field's. is_beside: another one stands in the same lines. is_read:
    whether a language model read rows for it.
    """

    table: PrintedTable
    match: MatchedColumns
    counted: int
    barred: npt.NDArray[np.bool_]
    is_beside: bool = False
    is_read: bool = False

    def heads(self, slots: Sequence[Slot], text: str) -> dict[int, str]:
        """Returns the heads of the columns by the fields that they are matched to."""
        both = zip(slots, self.match.columns, strict=True)
        return {slot.index: self.table.head(column, text) for slot, column in both if column >= 0}

    def sure_columns(self, config: TableConfig) -> list[float]:
        """Returns the probabilities of the counted columns that are sure enough.

        What a language model read in a few rows makes a list no surer than the values of its columns may be.
        """
        least = min(config.least(len(self.table.rows))[0], config.listing)
        both = zip(self.match.columns, self.match.chances, self.match.matches, strict=True)
        counted = ((chance, match) for column, chance, match in both if 0 <= column < self.counted)
        return [math.sqrt(chance * match) if self.is_read else chance for chance, match in counted if chance >= least]

    def share(self, config: TableConfig) -> float:
        """Returns the share of the list's fields that have a column; 0 if these are too few for a list.

        In a table without heads and with fewer columns than fields a cell has the words of several.
        """
        count = len(self.match.columns)
        if not any(self.table.heads) and len(self.table.heads) < count:
            return 0.0
        matched = self.sure_columns(config)
        return sum(matched) / count if len(matched) >= config.fewest(len(self.table.rows), count) else 0.0


def match_lists(lists: Sequence[ListFields], memory: Memory) -> list[dict[int, MatchedRow]]:
    """Returns for each list its rows by their first characters, if it stands in tables that are matched surely enough.

    A table belongs to the list that has most of its fields in it.
    """
    by_list: list[list[MatchedTable]] = [[] for _ in lists]
    read: list[dict[int, MatchedRow]] = [{} for _ in lists]
    above = 0
    for table, owner in tables_in(memory, lists[0].form) if lists else ():
        tried: list[MatchedTable | None] = [None] * len(lists)
        # Heads that tell tables apart tell the rows of short ones as well.
        is_list = owner >= 0 or len(table.rows) >= lists[0].config.rows
        if is_list and not has_labels(table, memory.passage.text):
            whole = add_headings(table, memory.passage.text, above)
            tried = [_try_table(asked, table, whole, memory) if owner in (-1, asked.array) else None for asked in lists]
        elif any(table.heads) and len(table.rows) < lists[0].config.rows:
            for own, asked in zip(read, lists, strict=True):
                own |= _read_rows(asked, table, memory)
        above = table.end
        shares = [0.0 if one is None else one.share(asked.config) for one, asked in zip(tried, lists, strict=True)]
        best = max(range(len(lists)), key=shares.__getitem__)
        if (matched := tried[best]) is not None and shares[best] > 0:
            by_list[best].append(replace(matched, is_beside=owner >= 0))
    rows = [_all_rows(asked, own, memory) for asked, own in zip(lists, by_list, strict=True)]
    return [own | known if known else own for own, known in zip(read, rows, strict=True)]


def _read_rows(asked: ListFields, table: PrintedTable, memory: Memory) -> dict[int, MatchedRow]:
    """Returns the rows of a short table, which tell no items: with the columns that the words of their heads name.

    The network reads the other cells; where several columns could be a field's and no word tells, no value is sure.
    A choice has the column whose cells all are options. Empty if the heads name fewer than two fields.
    """
    signs = column_features(asked, table, memory) if len(asked.slots) > 1 else None
    if signs is None:
        return {}
    found = match_columns(signs, np.array([bool(slot.options) for slot in asked.slots]), asked.config)
    both = list(zip(asked.slots, found.columns, found.named, found.doubtful, found.matches, strict=True))
    sure = {
        slot.index for slot, chance in zip(asked.slots, found.chances, strict=True) if chance >= asked.config.column
    }
    contested = _contested_slots(asked.slots, signs.votes, found.columns)
    # Words of a text may reach into columns beside it, and the network reads them better.
    numbers = {
        slot.index
        for at, (slot, column, _, is_doubtful, match) in enumerate(both)
        if slot.index in sure and column >= 0 and signs.counts[at] and not is_doubtful
        and match >= LIST_BOUND and signs.readable[at, column] >= LIST_READ
    }  # fmt: skip
    named = {
        slot.index: (column, match)
        for slot, column, is_named, _, match in both
        if not slot.options and (is_named or slot.index in numbers) and slot.index not in contested
    }
    often = table.filled_columns()
    often += [] if 0 in often or not is_merged([row.cells[0] for row in table.rows], asked.config) else [0]
    likely = {
        slot.index: (column, match)
        for slot, column, _, _, match in both
        if slot.index in sure and column in often and slot.index not in named
    }
    chosen = choice_columns(asked.slots, signs, {column for column, _ in named.values()})
    named |= {index: (column, LIST_OPTION_SURE) for index, column in chosen.items()}
    codes = {
        slot.index: codes_in(slot, asked.questions, table, table.rows, chosen[slot.index], memory)
        for slot in asked.slots if slot.index in chosen
    }  # fmt: skip
    matches = {index: match for index, (_, match) in named.items()}
    matches |= {slot.index: asked.config.doubtful for slot, _, _, is_doubtful, _ in both if is_doubtful}
    is_told = bool(matches) or (signs.named.max(1) >= MATCH_TOLD).sum() > 1
    rows = dict[int, MatchedRow]()
    sums = sum_rows(table, memory.reader) if is_told else set()
    text = memory.passage.text
    filled = {column: filled_down(table, column, True, text, asked.config) for column, _ in likely.values()}
    for at, row in ((at, row) for at, row in enumerate(table.rows) if is_told and at not in sums):
        cells = {index: (row.cells[column], match) for index, (column, match) in named.items()}
        # Without words in what is most likely its column a field has no value, though other columns may be its own. A
        # charge has all of its words there.
        is_few = not all(row.cells[column] for column, _ in named.values())
        own = {index: (row.cells[column], match) for index, (column, match) in likely.items()}
        # A cell over rows is the value of each.
        own |= {index: (filled[c][at], match) for index, (c, match) in likely.items() if not (is_few or row.cells[c])}
        cells |= {index: one for index, one in own.items() if is_few or not row.cells[likely[index][0]]}
        taken = tuple(span for cell, _ in cells.values() for span in cell)
        barred = _barred_cells(asked.slots, signs.barred, row)
        rows[row.start] = MatchedRow(cells, codes, {}, taken, False, 0.0, matches, barred)
    return rows


def _barred_cells(slots: Sequence[Slot], barred: npt.NDArray[np.bool_], row: TableRow) -> dict[int, tuple[Span, ...]]:
    """Returns the characters of a row that are no value of a slot, by its index, from the columns barred to it."""
    return {
        slot.index: tuple(span for column in np.flatnonzero(own).tolist() for span in row.cells[column])
        for slot, own in zip(slots, barred, strict=True)
    }


def _contested_slots(slots: Sequence[Slot], votes: npt.NDArray[np.float64], columns: Sequence[int]) -> set[int]:
    """Returns the slots whose columns the network holds for another's: "Rate" is no tax rate if it is a price."""
    pointed = votes[:, :-1] * (votes[:, :-1] > LIST_CONTESTED)
    others = most_of_others(pointed.astype(np.float32))
    return {
        slot.index
        for at, (slot, column) in enumerate(zip(slots, columns, strict=True))
        if column >= 0 and others[at, column] > max(LIST_CONTESTED, 2 * votes[at, column])
    }


def add_missed_rows(
    begun: Sequence[tuple[int, float]], rows: Mapping[int, MatchedRow], form: Form, memory: Memory
) -> list[tuple[int, float]]:
    """Returns the beginnings of items (first character, probability) with those that they miss in short tables.

    Where items begin in a table none begins in the sums below its rows.

    rows: those of the list in such tables. If items begin in most rows of one, they begin in all of them, as likely as
    in the least likely one.
    """
    added: list[tuple[int, float]] = []
    for table, _ in tables_in(memory, form) if begun else ():
        begun = _begun_in_blocks(begun, table, memory.passage.text)
        end = table.end if table.sums_at is None else table.sums_at
        if any(table.start <= at < end for at, _ in begun):
            begun = [(at, chance) for at, chance in begun if not end <= at < table.end]
        ends = [*(row.start for row in table.rows[1:]), table.end]
        own = [(row.start, end) for row, end in zip(table.rows, ends, strict=True) if row.start in rows]
        there = [[chance for at, chance in begun if start <= at < end] for start, end in own]
        likely = [max(chances) for chances in there if chances]
        # Blocks that say the same of each item have no other rows.
        if len(own) > len(likely) >= (1 if _is_of_blocks(table) else LIST_BEGUN * len(own)):
            added += [(start, min(likely)) for (start, _), chances in zip(own, there, strict=True) if not chances]
    return sorted((*begun, *added))


def _is_of_blocks(table: PrintedTable) -> bool:
    return bool(table.heads[0]) and table.heads[0][0][0] == table.rows[0].start


def _begun_in_blocks(begun: Sequence[tuple[int, float]], table: PrintedTable, text: str) -> Sequence[tuple[int, float]]:
    """Returns the beginnings of items with those in the line right above a block, its heading, at that block."""
    blocks, end = dict[int, int](), 0
    for row in table.rows if _is_of_blocks(table) else ():
        line = text.rfind("\n", 0, max(0, text.rfind("\n", 0, row.start))) + 1
        if line >= end:
            blocks[line] = row.start
        end = max((span[1] for cell in row.cells for span in cell), default=end)
    chances: dict[int, float] = {}
    for at, chance in begun:
        place = max(at, blocks.get(text.rfind("\n", 0, at) + 1, at))
        chances[place] = max(chance, chances.get(place, 0.0))
    return sorted(chances.items())


def rows_of_items(lists: Mapping[int, Mapping[int, MatchedRow]]) -> dict[int, dict[int, MatchedRow]]:
    """Returns the rows that tell the items of their lists; those of a short table do not."""
    rows = {index: {start: row for start, row in own.items() if row.chance} for index, own in lists.items()}
    return {index: own for index, own in rows.items() if own}


def windows_outside_lists(lists: Mapping[int, Mapping[int, MatchedRow]], memory: Memory) -> list[int]:
    """Returns the windows that are not all within the rows of matched lists: other fields have their values there.

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


def _try_table(asked: ListFields, table: PrintedTable, whole: PrintedTable, memory: Memory) -> MatchedTable | None:
    """Returns a table matched to the fields of a list, None if it is too wide, or too few fields have values in it.

    whole: the table with what its headings tell.
    """
    if len(asked.slots) < 2 or len(whole.heads) > LIST_COLUMNS:
        return None
    has_groups = len({slot.path.count("/*/") for slot in asked.slots}) > 1
    # Rows below headings of one kind are no running text for a list of groups with their rows.
    is_grouped = has_groups and len(whole.heads) > len(table.heads)
    if not is_grouped and _is_running_text(table, memory.passage.text, asked.config):
        return None
    signs = column_features(asked, whole, memory, len(table.heads))
    if signs is None:
        return None
    chosen = np.array([bool(slot.options) for slot in asked.slots])
    matched = match_columns(signs, chosen, asked.config)
    is_read = asked.beside is not None and min(*matched.matches, *matched.chances) < asked.config.known
    if asked.beside is not None and is_read:
        signs = replace(signs, read=read_rows(asked, asked.beside, whole, memory))
        matched = match_columns(signs, chosen, asked.config)
    counted = len((whole if has_groups else table).heads)
    return MatchedTable(whole, matched, counted, signs.barred, is_read=is_read)


def _is_running_text(table: PrintedTable, text: str, config: TableConfig) -> bool:
    """Returns whether a table is rather a text whose words happen to leave gaps: most rows fill one column alone.

    A table without heads needs many rows, and two columns of short cells: paragraphs behind their numbers are none.
    """
    often = table.filled_columns()
    if any(table.heads):
        return len(often) < 2
    lengths = [median(len(words_of(row.cells[c], text)) for row in table.rows if row.cells[c]) for c in often]
    return len(table.rows) < config.headless or sum(length <= LIST_SHORT_CELL for length in lengths) < 2


def _all_rows(asked: ListFields, tables: Sequence[MatchedTable], memory: Memory) -> dict[int, MatchedRow]:
    """Returns the rows of a list in its tables; those that add to the rows of an earlier table are joined to them."""
    rows: dict[int, MatchedRow] = {}
    before = 0
    heads: dict[int, str] = {}
    for one in tables:
        own, named = _rows(asked, one, before, memory), one.heads(asked.slots, memory.passage.text)
        renamed = {index for index, head in named.items() if heads.get(index, head) != head}
        rows = join_tables(rows, own, asked.slots, memory.passage.text, renamed)
        heads, before = {**named, **heads}, one.table.end
    return rows


def _rows(asked: ListFields, one: MatchedTable, above: int, memory: Memory) -> dict[int, MatchedRow]:
    """Returns the rows of a matched table by their first characters, without those that are sums."""
    text, config, table = memory.passage.text, asked.config, one.table
    cells: list[dict[int, tuple[tuple[Span, ...], float]]] = [{} for _ in table.rows]
    codes: dict[int, dict[str, str]] = {}
    doubtful, matched = list[Slot](), set[int]()
    # The network would take what stands beside a table for a value.
    is_long = one.is_beside or len(table.rows) >= config.long
    least = config.long_column if is_long else config.column
    both = zip(asked.slots, one.match.columns, one.match.chances, strict=True)
    for slot, column, chance in both:
        if column < 0 or chance < least:
            # What a column may tell is not sought above the table.
            doubtful += [slot] if column < 0 or chance < config.listing else []
            for known in cells if is_long else ():
                known[slot.index] = (), chance if column < 0 else 1.0 - chance
            continue
        matched.add(column)
        codes[slot.index] = codes_in(slot, asked.questions, table, table.rows, column, memory)
        own = filled_down(table, column, slot.nullable, text, config)
        for known, cell in zip(cells, own, strict=True):
            known[slot.index] = cell, chance
    # A language model is loaded only where the columns asked for it.
    is_sure = min(*one.match.matches, *one.match.chances) >= config.known
    reading = replace(asked, beside=None) if is_sure else asked
    for index, value in values_above(reading, doubtful, table, above, memory).items():
        for known in cells:
            known[index] = value
    absences = {slot.index: absence for slot, absence in zip(asked.slots, one.match.absences, strict=True)}
    matches = {slot.index: match for slot, match in zip(asked.slots, one.match.matches, strict=True)}
    sums, chances = sum_rows(table, memory.reader) | _payments(one, memory), one.sure_columns(config)
    mean = sum(chances) / len(chances)
    rows: dict[int, MatchedRow] = {}
    for at, row in enumerate(table.rows):
        if at not in sums:
            taken = tuple(span for column in matched for span in row.cells[column])
            # The network reads no rows of a long table: it takes what stands beside the field's column for its value.
            chance = min(mean, LIST_ODD_ROW) if at == len(table.rows) - 1 and _is_odd_end(table, matched) else mean
            barred = _barred_cells(asked.slots, one.barred, row)
            rows[row.start] = MatchedRow(cells[at], codes, absences, taken, is_long, chance, matches, barred)
    return rows


def _is_odd_end(table: PrintedTable, columns: Collection[int]) -> bool:
    """Returns whether the last row lacks a cell that all rows above have, and no sum tells that it is an item: a remark
    or a mean may fill the other columns."""
    *above, last = table.rows
    return table.sums_at is None and any(not last.cells[c] and all(row.cells[c] for row in above) for c in columns)


def _payments(one: MatchedTable, memory: Memory) -> set[int]:
    """Returns the rows of a table that pay for the others: they have no number in the one column of bookings that is a
    field's.
    """
    _, steps = balance_columns(one.table, memory.reader)
    own = [column for column in np.flatnonzero(steps).tolist() if column in one.match.columns]
    return payment_rows(one.table, own[0], steps, memory.reader) if len(own) == 1 else set()


def write_cell(k: int, slot: Slot, row: MatchedRow, memory: Memory, out: Answers) -> bool:
    """Writes what a matched row says as the answer of a slot; returns False if the network is to be asked for it."""
    text = memory.passage.text
    cell, chance = row.cells.get(slot.index, ((), row.chance))
    if slot.index not in row.cells and not row.is_closed:
        return False
    sure = math.log(max(chance - LIST_LEAST_SHARE, LIST_LEAST_SHARE))
    doubt = math.log(max(1.0 - chance, LIST_LEAST_SHARE))
    # What a doubtful column leaves belongs to other columns, not to the absence of the value.
    none = math.log(max(min(row.absences.get(slot.index, 1.0), 1.0 - chance), LIST_LEAST_SHARE))
    if not is_filled(cell, text):
        return _write_absent(k, sure, out)
    if slot.options:
        option = row.codes.get(slot.index, {}).get(words_of(cell, text))
        if option is None:
            return row.is_closed and _write_absent(k, doubt, out)
        rest = math.log(LIST_LEAST_SHARE / len(slot.options))
        others = [Candidate(other.encode(), (), "chosen") for other in slot.options if other != option]
        out.candidates[k] = [Candidate(option.encode(), cell, "chosen"), *others]
        out.logits[k], out.absent[k] = [sure, *[rest] * len(others)], none
        return True
    if isinstance(slot, MixedSlot):
        return False
    read = memory.reader.read(slot, *cell, alone=True)
    if read is None:
        return row.is_closed and _write_absent(k, doubt, out)
    out.candidates[k], out.logits[k], out.absent[k] = [Candidate(read, cell)], [sure], none
    return True


def _write_absent(k: int, log: float, out: Answers) -> bool:
    """Writes that a slot has no value, with the logarithm of its probability."""
    out.candidates[k], out.logits[k], out.absent[k] = [], [], log
    return True


def drop_taken_words(k: int, slot: Slot, row: MatchedRow, memory: Memory, out: Answers) -> None:
    """Drops the candidates of a slot that are words of columns of other fields: their probability is absence.

    Those that only reach into such a column end before it.
    """
    kept, gone, taken = Merged(), [out.absent[k]], (*row.taken, *row.barred.get(slot.index, ()))
    for candidate, log in zip(out.candidates[k], out.logits[k], strict=True):
        own = _before_taken(candidate.spans, taken, memory.passage.text)
        if own != candidate.spans:
            read = memory.reader.read(slot, *own) if own else None
            candidate = replace(candidate, text=read or b"", spans=own)
        if candidate.text:
            add_candidate(kept, candidate, log)
        else:
            gone.append(log)
    ranked = sorted(kept.values(), key=lambda one: -one[0])
    out.candidates[k], out.logits[k] = [candidate for _, candidate in ranked], [log for log, _ in ranked]
    out.absent[k] = min(0.0, float(np.logaddexp.reduce(gone))) if len(gone) > 1 else out.absent[k]


def _before_taken(spans: tuple[Span, ...], taken: Sequence[Span], text: str) -> tuple[Span, ...]:
    """Returns spans up to the first words that are taken."""
    for at, (start, end) in enumerate(spans):
        first = min((max(a, start) for a, b in taken if a < end and start < b), default=end)
        if first < end:
            left = start + len(text[start:first].rstrip())
            return (*spans[:at], (start, left)) if left > start else spans[:at]
    return spans
