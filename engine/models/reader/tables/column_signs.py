"""What tells which column holds which field: the network's votes, the cells' readings, the words of the head, sums.

The network is asked about a few rows as it reads best: each row as a card with a line for each cell, behind the words
of its column's head. So a head tells as much in the last row of the last page as right below it, and the time for a
table does not grow with its length.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cinnabar.engine.model import Canvas, SlotInstance
from cinnabar.engine.models.reader.inputs.mentions import asks_share, asks_tax
from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.engine.models.reader.inputs.views import RowExtent
from cinnabar.engine.models.reader.memory.form import FormMemory, FormRequest
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.priors.config import TableConfig
from cinnabar.engine.models.reader.scoring.spans import WindowScores
from cinnabar.engine.models.reader.tables.charges import CHARGE_MANY_ROWS, coded_columns, numbers_behind
from cinnabar.engine.models.reader.tables.column_codes import options_of_cells
from cinnabar.engine.models.reader.tables.rival_heads import distinct_heads, field_words, lowest_words, name_shares
from cinnabar.engine.models.reader.tables.sums import (
    adding_columns,
    balance_columns,
    counts_up,
    factor_columns,
    number_of,
    total_columns,
)
from cinnabar.engine.models.sentences.encoder import SentenceEncoder
from cinnabar.engine.request import Filler, Passage
from cinnabar.engine.tables.heads import Span, words_of
from cinnabar.engine.tables.table import PrintedTable, TableRow
from cinnabar.schemas.form.form import Form, Slot

#: The rows of a long table that the network is asked about, and of a short one; those whose cells are read as values of
#: each field.
COLUMN_ASKED_ROWS, COLUMN_FEW_ROWS, COLUMN_READ_ROWS = 10, 6, 60
#: The share of a column's cells that are a value of a field that may be matched to it.
COLUMN_READABLE = 0.3
#: The characters before and behind a table in which its codes may be explained.
CODE_REACH = 3000
#: What is added to a field's share of being the sum.
COLUMN_DOUBT = 0.02
#: The network's least share of the column of a factor that is a field's by its head.
COLUMN_FACTOR = 0.4
#: The network's share of a balance from which on it is a field's; the share of the bookings that tells that it is not.
COLUMN_BALANCE, COLUMN_BOOKED = 0.8, 0.1
#: The most changes of a value, by row, in a column that tells groups of rows.
COLUMN_GROUPS = 0.5
Floats = npt.NDArray[np.float64]
#: Scores the slots of requests in the windows that they look at.
Score = Callable[[Sequence[FormRequest]], list[dict[int, WindowScores]]]
#: Reads passages.
Encode = Callable[[Sequence[Passage]], list[Memory]]

#: What a field is like that holds a sum of others, and how sharply that tells fields apart.
_SUM, _APART = ("total of all amounts", "sum of the parts", "total"), 0.1
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class ListFields:
    """The fields of a list, and what they are looked for with: the network, and the encoder of sentences if any.

    beside: loads a language model, if any, that reads a few rows.
    """

    form: Form
    questions: FormMemory
    array: int
    slots: Sequence[Slot]
    score: Score
    encode: Encode
    encoder: Callable[[], SentenceEncoder] | None
    config: TableConfig
    beside: Callable[[], Filler] | None = None


@dataclass(frozen=True, slots=True)
class ColumnFeatures:
    """The signs of the columns of F fields in a table of C columns.

    votes: [F, C + 1], the network's shares, the last one of absence; readable: [F, C], the share of cells that are a
    value; alike: [F, C], cosines of heads and fields; total: [F, C], log odds of a column of sums; constant: [C],
    whether all cells are the same; named: [F, C], the share of the head's own words that the field's words are; empty:
    [F, C], the share of cells without a value, for numbers that each item has; counts: [F], the fields that are
    numbers; runs: [C], the columns that number their rows, and balances; adds: [C], the column of bookings that adds up
    to a number behind the table; barred: [F, C], the columns without any percentage of a field; ungrouped: [F, C], for
    fields of the items around others the columns that neither tell groups of rows nor name the field; read: [F, C + 1],
    the shares that a language model gives to each column and to none (`read_rows`), 0 without one.
    """

    votes: Floats
    readable: Floats
    alike: Floats
    total: Floats
    constant: npt.NDArray[np.bool_]
    named: Floats
    empty: Floats
    counts: npt.NDArray[np.bool_]
    runs: npt.NDArray[np.bool_]
    adds: npt.NDArray[np.bool_]
    barred: npt.NDArray[np.bool_]
    ungrouped: npt.NDArray[np.bool_]
    read: Floats


def column_features(
    asked: ListFields, table: PrintedTable, memory: Memory, headings_from: int | None = None
) -> ColumnFeatures | None:
    """Returns all that tells the columns of a table; None if too few fields have values in it, which costs little.

    headings_from: the first of the columns that the headings above rows make, None for none.
    """
    rows = spread(table.rows, COLUMN_READ_ROWS)
    columns = range(len(table.heads))
    codes = [[codes_in(slot, asked.questions, table, rows, c, memory) for c in columns] for slot in asked.slots]
    readable = _readable(asked.slots, table, rows, codes, memory)
    if (readable.max(1) > COLUMN_READABLE).sum() < asked.config.fewest(len(table.rows), len(asked.slots)):
        return None
    heads = distinct_heads(table, memory.passage.text)
    alike, total = _meanings(asked, heads, table, rows, readable, memory)
    questions = form_questions(asked.form).slots
    fields = [field_words(slot.path, questions[slot.index]) for slot in asked.slots]
    # "Min. stock" in two lines is no "stock", though its upper word may be that of a group.
    own = np.minimum(name_shares(fields, heads), name_shares(fields, distinct_heads(table, memory.passage.text, True)))
    # Words from beside that stand above those of a column's own are not the column's.
    own = np.where(name_shares(fields, lowest_words(table, memory.passage.text)) > 0, own, 0.0)
    text = memory.passage.text
    same = np.array([len({words_of(row.cells[c], text) for row in rows}) == 1 for c in columns])
    bare = np.array([_without_value([row.cells[c] for row in rows], text, asked.config) for c in columns])
    counts = np.array([slot.kind in ("integer", "number") for slot in asked.slots])
    needed = counts & ~np.array([slot.nullable for slot in asked.slots])
    numbers = [[number_of(row.cells[c], memory.reader) for row in table.rows[:COLUMN_READ_ROWS]] for c in columns]
    # A charge has no number among the rows. Of a long table heads and votes tell enough, and numbers may be keys.
    runs = np.array([sum(map(bool, own)) > 2 and counts_up([one for one in own if one]) for own in numbers])
    runs &= len(table.rows) < CHARGE_MANY_ROWS
    balances, steps = balance_columns(table, memory.reader)
    runs |= balances
    votes = _votes(asked, table, memory)
    outer, none = np.outer(needed, bare), np.zeros_like(votes)
    # The "Rate" that a quantity is multiplied by is no tax rate, if the network points elsewhere.
    factors, discounts = factor_columns(table, rows, memory.reader)
    pointed = votes[:, :-1]
    own = np.where(factors & (pointed < COLUMN_FACTOR), 0.0, own)
    shares = np.array([asks_share(slot) for slot in asked.slots])[:, None]
    last = max(span[1] for cell in table.rows[-1].cells for span in cell)
    # What is taken off a price is no tax, though the network points at it.
    taxes = shares & np.array([asks_tax(slot) for slot in asked.slots])[:, None]
    barred = shares & (factors | coded_columns(table, last, memory.reader)) | taxes & discounts
    own = np.where(barred, 0.0, own)
    readable = np.where(barred | (discounts & (pointed < COLUMN_FACTOR) & (own <= 0)), 0.0, readable)
    votes = _without_shares(votes, barred, counts)
    adds = adding_columns(table, numbers_behind(last, memory.reader), steps, memory.reader)
    less = counts[:, None] & (balances | (steps & adds.any() & ~adds)) & (own <= 0)
    votes = _without_balances(votes, less, adds if adds.any() else steps)
    ungrouped = _columns_without_groups(asked.slots, table, text, headings_from) & (own <= 0)
    return ColumnFeatures(votes, readable, alike, total, same, own, outer, counts, runs, adds, barred, ungrouped, none)


def _columns_without_groups(
    slots: Sequence[Slot], table: PrintedTable, text: str, headings_from: int | None
) -> npt.NDArray[np.bool_]:
    """Returns for fields of the items around others the columns that tell no groups, if headings tell them: [F, C].

    A column tells groups of rows if its value stays the same over rows and changes at some; empty cells go on.
    """
    depths = np.array([slot.path.count("/*/") for slot in slots])
    changes = np.zeros(len(table.heads))
    if headings_from in (None, len(table.heads)) or depths.min() == depths.max():
        return np.zeros((len(slots), len(table.heads)), np.bool_)
    for column in range(len(table.heads)):
        filled = [words for row in table.rows if (words := words_of(row.cells[column], text))]
        changes[column] = sum(one != two for one, two in pairwise(filled)) / len(table.rows)
    tells = (changes > 0) & (changes <= COLUMN_GROUPS)
    ungrouped: npt.NDArray[np.bool_] = (depths < depths.max())[:, None] & ~tells & tells[headings_from:].any()
    return ungrouped


def _without_balances(votes: Floats, less: npt.NDArray[np.bool_], steps: npt.NDArray[np.bool_]) -> Floats:
    """Returns votes where those for balances go to the columns that these go up and down by, if some went there.

    votes: [F, C + 1]; less: [F, C], the balances that the heads do not give to a field; steps: [C].
    """
    pointed = votes[:, :-1]
    given = np.where(steps, pointed, 0.0)
    some = given.sum(1, keepdims=True)
    less = less & (pointed < COLUMN_BALANCE) & (some >= COLUMN_BOOKED)
    gone = np.where(less, pointed, 0.0)
    moved = np.where(less, 0.0, pointed) + gone.sum(1, keepdims=True) * given / np.maximum(some, COLUMN_BOOKED)
    return np.concatenate([moved, votes[:, -1:]], 1)


def _without_shares(votes: Floats, barred: npt.NDArray[np.bool_], counts: npt.NDArray[np.bool_]) -> Floats:
    """Returns votes where those of percentages go from columns without any to the number that has most for it, if any.

    votes: [F, C + 1]; barred: [F, C], those columns for the fields that are percentages; counts: [F], the numbers.
    """
    gone = np.where(barred, votes[:, :-1], 0.0)
    votes = np.concatenate([votes[:, :-1] - gone, votes[:, -1:] + gone.sum(1, keepdims=True)], 1)
    for column in np.flatnonzero(gone.any(0)).tolist():
        other = int(np.where(counts, votes[:, column], 0.0).argmax())
        if votes[other, column] >= COLUMN_BOOKED:
            moved = min(float(gone[:, column].sum()), float(votes[other, -1]))
            votes[other, [column, -1]] += moved, -moved
    return votes


def _without_value(cells: Sequence[Sequence[Span]], text: str, config: TableConfig) -> float:
    """Returns the share of cells without a value; an empty one has that of a merged cell above it (`filled_down`)."""
    merged = is_merged(cells, config)
    return sum(not is_filled(cell, text) and (bool(cell) or not merged) for cell in cells) / len(cells)


def is_merged(cells: Sequence[Sequence[Span]], config: TableConfig) -> bool:
    """Returns whether a column may have merged cells: it is empty in most rows, but not in the first one."""
    # A dash tells that its row has no value.
    return bool(cells[0]) and sum(map(bool, cells)) / len(cells) <= config.merged


def spread(rows: Sequence[TableRow], most: int) -> list[TableRow]:
    """Returns at most so many rows from all over a table, those with the most cells filled."""
    groups = np.array_split(np.arange(len(rows)), min(most, len(rows)))
    return [max((rows[at] for at in group), key=lambda row: sum(map(bool, row.cells))) for group in groups]


def cards_of(table: PrintedTable, rows: Sequence[TableRow], text: str) -> tuple[str, list[TableRow]]:
    """Returns rows as cards: a line for each filled cell behind the head of its column; and the rows in this text."""
    written: list[str] = []
    placed: list[TableRow] = []
    at = 0
    for row in rows:
        start, cells = at, list[tuple[Span, ...]]()
        for column, cell in enumerate(row.cells):
            head, words = table.head(column, text), words_of(cell, text)
            lead = f"{head}: " if head else ""
            cells.append(((at + len(lead), at + len(lead) + len(words)),) if words else ())
            written.append(f"{lead}{words}\n" if words else "")
            at += len(written[-1])
        written.append("\n")
        at += 1
        placed.append(TableRow(start, tuple(cells)))
    return "".join(written), placed


def _votes(asked: ListFields, table: PrintedTable, memory: Memory) -> Floats:
    """Returns the mean share of each field's value that the network gives to each column, and to none: [F, C + 1].

    A choice points at nothing: its shares are 0.
    """
    asked_of = COLUMN_ASKED_ROWS if len(table.rows) >= asked.config.long else COLUMN_FEW_ROWS
    text, rows = cards_of(table, spread(table.rows, asked_of), memory.passage.text)
    words = [match.span() for match in _WORD.finditer(text)]
    begins, ends = np.array(words, np.int32).reshape(-1, 2).T
    digest = hashlib.sha256(text.encode()).hexdigest()
    boxes = np.full((len(words), 4), np.nan, np.float32)
    (cards,) = asked.encode([Passage(digest, text, 0, begins, ends, boxes)])
    instances = [SlotInstance(0, slot, at) for at in range(len(rows)) for slot in asked.slots]
    anchors = [cards.pieces.at(row.start) for row in rows]
    until = [*anchors[1:], len(cards.pieces)]
    places = {k: RowExtent(anchors[one.row], until[one.row]) for k, one in enumerate(instances)}
    request = FormRequest(asked.form, asked.questions, cards, Canvas.open(instances), range(len(instances)), places)
    (scores,) = asked.score([request])
    shares = np.zeros((len(asked.slots), len(table.heads) + 1))
    for k, one in enumerate(instances):
        if not one.slot.options:
            shares[k % len(asked.slots)] += _shares(scores[k], rows[one.row], cards) / len(rows)
    return shares


def _shares(scores: WindowScores, row: TableRow, memory: Memory) -> Floats:
    """Returns the share of a value that lies in each cell of a row, and that of its absence: [C + 1]."""
    shares = np.zeros(len(row.cells) + 1)
    start = memory.pieces.start
    for window, absent, places, logs in zip(scores.windows, scores.absent, scores.places, scores.pointed, strict=True):
        there = 1.0 / (1.0 + math.exp(min(absent, 50.0)))
        first = memory.windows[window].first
        for begins, own in zip(places[0], logs, strict=True):
            for place, log in zip(begins, own, strict=True):
                column = column_at(row, int(start[min(place - 1 + first, len(start) - 1)])) if log > -1e3 else -1
                if column >= 0:
                    shares[column] += there * math.exp(log)
        shares[-1] += 1.0 - there
    return shares / max(1, len(scores.windows))


def column_at(row: TableRow, character: int) -> int:
    """Returns the column of a row in whose cell a character stands, -1 if there is none."""
    return next((c for c, cell in enumerate(row.cells) for start, end in cell if start <= character < end), -1)


def codes_in(
    slot: Slot, questions: FormMemory, table: PrintedTable, rows: Sequence[TableRow], column: int, memory: Memory
) -> dict[str, str]:
    """Returns the options of a choice that the cells of a column stand for in these rows."""
    if not slot.options:
        return {}
    text = memory.passage.text
    cells = [words_of(row.cells[column], text) for row in rows if is_filled(row.cells[column], text)]
    lines = [(one.start, one.end) for one in table.between]
    spans = [(max(0, table.start - CODE_REACH), table.start), *lines, (table.end, table.end + CODE_REACH)]
    around = "\n".join(text[start:end] for start, end in spans)
    return options_of_cells(slot, questions, cells, around)


def _readable(
    slots: Sequence[Slot],
    table: PrintedTable,
    rows: Sequence[TableRow],
    codes: list[list[dict[str, str]]],
    memory: Memory,
) -> Floats:
    """Returns the share of the filled cells of each column that are a value of each field: [F, C]; 0 if none is."""
    text = memory.passage.text
    shares = np.zeros((len(slots), len(table.heads)))
    for column in range(len(table.heads)):
        cells = [row.cells[column] for row in rows if is_filled(row.cells[column], text)]
        for at, slot in enumerate(slots):
            own = codes[at][column]
            read = sum(
                words_of(cell, text) in own if slot.options else memory.reader.read(slot, *cell, alone=True) is not None
                for cell in cells
            )
            shares[at, column] = read / len(cells) if cells else 0.0
    return shares


def is_filled(cell: Sequence[Span], text: str) -> bool:
    """Returns whether a cell has a word or a number: a dash stands for none."""
    return any(letter.isalnum() for start, end in cell for letter in text[start:end])


def _meanings(
    asked: ListFields,
    heads: Sequence[str],
    table: PrintedTable,
    rows: Sequence[TableRow],
    readable: Floats,
    memory: Memory,
) -> tuple[Floats, Floats]:
    """Returns how alike each field and each head are in meaning, and which fields may be which sums: twice [F, C].

    The cosine is 0 for a column without a head, the log odds of a sum are 0 for a column that is none.
    """
    alike, total = np.zeros_like(readable), np.zeros_like(readable)
    if asked.encoder is None:
        return alike, total
    told = form_questions(asked.form).slots
    fields = [": ".join(part for part in (told[s.index].label, told[s.index].note) if part) for s in asked.slots]
    vectors = asked.encoder().embed([*fields, *_SUM, *(head or "-" for head in heads)])
    of_fields, of_sums, of_heads = np.split(vectors, [len(fields), len(fields) + len(_SUM)])
    alike = np.where([bool(head) for head in heads], of_fields @ of_heads.T, 0.0).astype(np.float64)
    like_sum = (of_fields @ of_sums.T).max(1).astype(np.float64)
    for column in np.flatnonzero(total_columns(table, rows, memory.reader)).tolist():
        may = np.array([not slot.options for slot in asked.slots]) & (readable[:, column] > 0.5)
        if may.sum() > 1:
            odds = np.exp((like_sum[may] - like_sum[may].max()) / _APART)
            total[may, column] = np.log((odds / odds.sum() + COLUMN_DOUBT) * may.sum())
    return alike, total
