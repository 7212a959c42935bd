"""The protocol of a model: it encodes a passage once, finds the rows, then scores at each step the canvas, the slots of
a batch with the committed values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch

from cinnabar.engine.request import Filled, Filler, Origin, Passage
from cinnabar.schemas.form.form import Form, Slot


@dataclass(frozen=True, slots=True)
class Candidate:
    """A whole text that a slot may take.

    `text` is canonical JSON in UTF-8, accepted by the slot's automaton. `spans` are [start, end) in
    characters of the passage's text, () for options.
    """

    text: bytes
    spans: tuple[tuple[int, int], ...] = ()
    origin: Origin = "copied"


#: The anchor of a row that has no beginning of its own: the whole passage is the item.
WHOLE = -1


@dataclass(frozen=True, slots=True)
class Row:
    """The beginning of an item of an array.

    `array` indexes `Form.arrays`; `parent` is the index, in the same list, of the row of the enclosing array, -1
    outside of any; `anchor` is a character of the passage's text, or WHOLE. `taken` is False for a place that the model
    held for a possible beginning and decided against: it is no row, but tells how sure the list is complete. `matches`
    are, by slot, the most that the item's values from a column of a table may be sure of, as their column is.
    """

    array: int
    parent: int
    anchor: int
    probability: float
    taken: bool = True
    matches: Mapping[int, float] = field(default_factory=dict)


@dataclass(slots=True)
class Scores:
    """A model's scores for each of the S instances of a canvas, including committed ones.

    candidates: S lists of at most K candidates, every one accepted by its slot's automaton, no text twice.
    candidate_logits: [S, K] float32, -inf beyond a list's end.
    absent_logit: [S] float32, of the document having no such value.
    refused_logit: [S] float32, log mass of the candidates that the automata removed, -inf if there were none.
    classes: the instances whose candidates are classes of the whole document. Such a value is given if it is likely
    that there is one, however little the likeliest class has of that.
    The logits of a slot's candidates and of its absence belong to one softmax.
    """

    candidates: list[list[Candidate]]
    candidate_logits: torch.Tensor
    absent_logit: torch.Tensor
    refused_logit: torch.Tensor
    classes: frozenset[int] = frozenset()


class Calibrator(Protocol):
    """Turns a model's posteriors into calibrated confidences."""

    def calibrate(self, form: Form, passage: Passage, filled: Filled) -> Filled:
        """Returns the same record with calibrated confidences of its leaves and rows."""
        ...


class Model(Protocol):
    """A model that fills slots."""

    #: Identifies weights and code: part of a record's key.
    fingerprint: str
    #: The most tokens of one passage.
    context_tokens: int
    device: torch.device

    @property
    def calibration(self) -> Calibrator | None:
        """The calibrator of its posteriors; None if they are used as they are."""
        ...

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of this text, for chunking and for packing batches."""
        ...

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """Returns the characters [start, end) of the windows that are read as one, in order; [] if the whole text is.

        A passage that begins and ends with such windows has the same ones, so reading it alone gives the same values
        as reading it within the whole text.
        """
        ...

    def prepare(self, form: Form) -> None:
        """Reads a form, which is kept for its requests; from any thread."""
        ...

    def encode(self, passages: Sequence[Passage]) -> list[Any]:
        """Reads each passage once and returns its memories, which are opaque to the engine; a cache may keep them."""
        ...

    def find_rows(self, forms: Sequence[Form], memories: Sequence[Any]) -> list[list[Row]]:
        """Returns for each request the rows of its arrays, in document order, a parent before its children."""
        ...

    def score(
        self, forms: Sequence[Form], memories: Sequence[Any], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        """Scores the canvas in one pass, given everything committed on it."""
        ...


@runtime_checkable
class Helped(Protocol):
    """A model that may ask a language model for a few rows of a table."""

    def beside(self, load: Callable[[], Filler]) -> Model:
        """Returns this model with a filler beside it, which is loaded at the first table."""
        ...


@dataclass(frozen=True, slots=True)
class SlotInstance:
    """A slot of the form in one row. `row` indexes the request's rows, -1 outside of any."""

    request: int
    slot: Slot
    row: int


@dataclass(slots=True)
class Canvas:
    """The open and committed slots of a batch of requests.

    instances: S of them, grouped by request, in document order.
    values: for each instance the committed text, or None while it is open.
    left_out: for each instance, whether it was committed as absent (then its value is `null` or nothing).
    spans: for each instance the spans (characters of the passage) of a committed value, () where it has none.
    known: for each instance, whether it was frozen from the start; the model reads it and is not asked for it.
    """

    instances: list[SlotInstance]
    values: list[bytes | None]
    left_out: list[bool]
    spans: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    known: list[bool] = field(default_factory=list)

    @classmethod
    def open(cls, instances: Sequence[SlotInstance]) -> Canvas:
        """Returns a canvas on which nothing is committed."""
        count = len(instances)
        return cls([*instances], [None] * count, [False] * count, [()] * count, [False] * count)
