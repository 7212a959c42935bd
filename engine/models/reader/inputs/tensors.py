"""The network's inputs as tensors: the windows of pages, questions, and the slots to be filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy.typing as npt
import torch
from torch import Tensor

#: The kinds of slots that the network distinguishes.
KINDS = ("text", "number", "date", "time", "pattern", "choice", "boolean", "rows")
ROWS = KINDS.index("rows")
#: The states of a slot on the canvas: open, or committed with this origin.
STATES = ("open", "copied", "chosen", "absent", "written")
#: The pieces of a question that are matched with the window one by one: of its label, then of its description.
LABEL_PIECES, NOTE_PIECES = 8, 16
#: The pieces of a committed value that the decoder sees.
VALUE_PIECES = 6


@dataclass(slots=True)
class Sheet:
    """N windows of T pieces. ids: int64; mask: bool; around: [N, T, 4] int64; line: int64.

    cell: [N, T, 3] int64, left and right edge of the piece's cell and the line of the next cell above it; above: [N, C,
    8] int64, the pieces before the window and its own: id (0 for none), line, then left and right edge of the cell, of
    the word, and of the cell's room.
    """

    ids: Tensor
    mask: Tensor
    around: Tensor
    line: Tensor
    cell: Tensor
    above: Tensor


@dataclass(slots=True)
class Questions:
    """Q distinct questions; slots, arrays and options refer to them.

    ids: [Q, n] int64; mask: [Q, n] bool; label: [Q, LABEL_PIECES] and note: [Q, NOTE_PIECES] int64, the pieces of the
    name and of the description, 0 beyond their end; named: [Q, NAMED, 2] int64, the pieces [start, end) of `ids` of the
    values that the description names, (0, 0) beyond the last; spelt: [Q, NAME_WORDS, RUNS] int64, the words of the name
    (letter_ngrams.py).
    """

    ids: Tensor
    mask: Tensor
    label: Tensor
    note: Tensor
    named: Tensor
    spelt: Tensor

    def part(self, first: int, last: int) -> Questions:
        """Returns the questions [first, last)."""
        return Questions(*(getattr(self, f.name)[first:last] for f in fields(self)))


@dataclass(slots=True)
class Phrases:
    """The words of N windows and of the text before them: W distinct ones, P in a window (letter_ngrams.py).

    spelt: [W, RUNS] int64; word: [N, P] int64, the place of each among the distinct ones, -1 beyond the last; run: [N,
    P] int64, equal for words that stand together; of_piece: [N, C] int64, the word of each piece of `Sheet.above`, -1
    for none; own: [N] int64, the first of those pieces that is the window's.
    """

    spelt: Tensor
    word: Tensor
    run: Tensor
    of_piece: Tensor
    own: Tensor


@dataclass(slots=True)
class Board:
    """The slots of N windows, S each.

    question: index into Questions; mask: bool; kind: into KINDS; anchor: piece at which the slot's row begins, -1
    outside of rows; until: piece at which the next row begins; state: into STATES; span: [N, S, 2] pieces [start, end)
    of a copied value; words: [N, S, VALUE_PIECES] pieces of the committed text, 0 beyond its end.
    """

    question: Tensor
    mask: Tensor
    kind: Tensor
    anchor: Tensor
    until: Tensor
    state: Tensor
    span: Tensor
    words: Tensor

    def windows(self, chosen: Sequence[int]) -> Board:
        """Returns these windows of a board on the CPU, in this order."""
        if len(chosen) == len(self.question):
            return self
        return Board(*(torch.from_numpy(array[chosen]) for array in self.arrays().values()))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Returns the tensors of a board on the CPU as arrays in the same memory, which are quicker to write."""
        return {f.name: getattr(self, f.name).numpy() for f in fields(self)}

    @classmethod
    def blank(cls, windows: int, slots: int, width: int) -> Board:
        """Returns a board of open slots outside of rows, all masked out, for windows of `width` pieces."""
        shape = (windows, slots)
        question, kind, state = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
        return cls(
            question=question, mask=torch.zeros(shape, dtype=torch.bool), kind=kind,
            anchor=torch.full(shape, -1), until=torch.full(shape, width), state=state,
            span=torch.zeros(*shape, 2, dtype=torch.long),
            words=torch.zeros(*shape, VALUE_PIECES, dtype=torch.long),
        )  # fmt: skip


T = TypeVar("T", Sheet, Questions, Board, Phrases)


def to_device(batch: T, device: torch.device) -> T:
    """Returns the same batch on another device."""
    return type(batch)(**{f.name: getattr(batch, f.name).to(device) for f in fields(batch)})
