"""What tells which column holds which field: the network's votes, the cells' readings, and the words of the head."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from cinnabar.engine.canvas import Canvas, SlotInstance
from cinnabar.engine.models.reader.inputs.questions import form_questions, plain_words
from cinnabar.engine.models.reader.inputs.views import Place
from cinnabar.engine.models.reader.memory.form import FormMemory
from cinnabar.engine.models.reader.memory.form_request import FormRequest
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.engine.models.reader.scoring.choices import printed_options
from cinnabar.engine.models.reader.scoring.scores import WindowScores
from cinnabar.engine.models.sentences.encoder import SentenceEncoder
from cinnabar.engine.tables.table import Row, Span, Table, words_of
from cinnabar.schemas.form.form import Form, Slot

Floats = npt.NDArray[np.float64]
#: Scores the slots of requests in the windows that they look at.
Score = Callable[[Sequence[FormRequest]], list[dict[int, WindowScores]]]

#: The rows of a table that the network is asked about, and those whose cells are read as values of each field.
ASKED, READ = 10, 60


def spread(rows: Sequence[Row], most: int) -> list[Row]:
    """Returns at most so many rows from all over a table, those with the most cells filled."""
    groups = np.array_split(np.arange(len(rows)), min(most, len(rows)))
    return [max((rows[at] for at in group), key=lambda row: sum(map(bool, row.cells))) for group in groups]


def votes(
    form: Form, questions: FormMemory, slots: Sequence[Slot], table: Table, memory: Memory, score: Score
) -> Floats:
    """Returns the mean share of each field's value that the network gives to each column: [F, C + 1].

    The last column is the share of its absence. A choice points at nothing: its shares are 0.
    """
    rows = spread(table.rows, ASKED)
    instances = [SlotInstance(0, slot, at) for at in range(len(rows)) for slot in slots]
    count = len(instances)
    canvas = Canvas.open(instances)
    begins = [memory.pieces.at(row.start) for row in table.rows]
    until = dict(zip(begins, [*begins[1:], memory.pieces.at(table.end - 1) + 1], strict=True))
    anchors = [memory.pieces.at(row.start) for row in rows]
    places = {k: Place(anchors[one.row], until[anchors[one.row]]) for k, one in enumerate(instances)}
    (scores,) = score([FormRequest(form, questions, memory, canvas, range(count), places)])
    shares = np.zeros((len(slots), len(table.heads) + 1))
    for k, one in enumerate(instances):
        if not one.slot.options:
            shares[k % len(slots)] += _shares(scores[k], rows[one.row], memory) / len(rows)
    return shares


def _shares(scores: WindowScores, row: Row, memory: Memory) -> Floats:
    """Returns the share of a value that lies in each cell of a row, and that of its absence: [C + 1]."""
    shares = np.zeros(len(row.cells) + 1)
    start = memory.pieces.start
    for window, absent, places, logs in zip(scores.windows, scores.absent, scores.places, scores.pointed, strict=True):
        there = 1.0 / (1.0 + math.exp(min(absent, 50.0)))
        first = memory.windows[window].first
        for begins, own in zip(places[0], logs, strict=True):
            for place, log in zip(begins, own, strict=True):
                column = _column(row, int(start[min(place - 1 + first, len(start) - 1)])) if log > -1e3 else -1
                if column >= 0:
                    shares[column] += there * math.exp(log)
        shares[-1] += 1.0 - there
    return shares / max(1, len(scores.windows))


def _column(row: Row, character: int) -> int:
    """Returns the column of a row in whose cell a character stands, -1 if there is none."""
    return next((c for c, cell in enumerate(row.cells) for start, end in cell if start <= character < end), -1)


def readable(slots: Sequence[Slot], questions: FormMemory, table: Table, memory: Memory) -> Floats:
    """Returns the share of the filled cells of each column that are a value of each field: [F, C]; 0 if none is."""
    rows = spread(table.rows, READ)
    shares = np.zeros((len(slots), len(table.heads)))
    for column in range(len(table.heads)):
        cells = [row.cells[column] for row in rows if is_filled(row.cells[column], memory.passage.text)]
        for at, slot in enumerate(slots):
            read = sum(reads(slot, questions, cell, memory) for cell in cells)
            shares[at, column] = read / len(cells) if cells else 0.0
    return shares


def is_filled(cell: Sequence[Span], text: str) -> bool:
    """Returns whether a cell has a word or a number: a dash stands for none."""
    return any(letter.isalnum() for start, end in cell for letter in text[start:end])


def reads(slot: Slot, questions: FormMemory, cell: Sequence[Span], memory: Memory) -> bool:
    """Returns whether a whole cell is a value that a slot accepts."""
    if slot.options:
        return sum(printed_options(questions, slot, words_in(cell, memory.passage.text))) == 1
    return memory.reader.read(slot, *cell) is not None


def words_in(cell: Sequence[Span], text: str) -> str:
    """Returns the words of a cell as options are looked for in it."""
    return plain_words(words_of(cell, text))


def alike(form: Form, slots: Sequence[Slot], table: Table, text: str, encoder: SentenceEncoder) -> Floats:
    """Returns how alike each field and each head are in meaning: [F, C] cosines, 0 for a column without a head."""
    heads = [table.head(column, text) for column in range(len(table.heads))]
    asked = form_questions(form).slots
    fields = [": ".join(part for part in (asked[s.index].label, asked[s.index].note) if part) for s in slots]
    vectors = encoder.embed([*fields, *(head or "-" for head in heads)])
    cosines = vectors[: len(fields)] @ vectors[len(fields) :].T
    return np.where([bool(head) for head in heads], cosines, 0.0).astype(np.float64)
