"""The seam between the engine and a model: encode once, find the rows, then score the canvas each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from cinnabar.engine.canvas import Canvas
from cinnabar.engine.request import Filled, Origin, Passage
from cinnabar.schemas.form.form import Form


@dataclass(frozen=True, slots=True)
class Candidate:
    """A whole text that a slot may take.

    `text` is canonical JSON in UTF-8, accepted by the slot's automaton. `spans` are [start, end) in
    characters of the passage's text, () for options.
    """

    text: bytes
    spans: tuple[tuple[int, int], ...] = ()
    origin: Origin = "copied"


@dataclass(frozen=True, slots=True)
class Row:
    """The beginning of an item of an array.

    `array` indexes `Form.arrays`; `parent` is the index, in the same list of rows, of the row of the
    enclosing array that this item lies in, -1 outside of any; `anchor` is a character of the passage's text.
    """

    array: int
    parent: int
    anchor: int
    probability: float


@dataclass(slots=True)
class Scores:
    """What a model says of a canvas, for each of its S instances, committed ones too.

    candidates: S lists of at most K candidates, every one accepted by its slot's automaton, no text twice.
    candidate_logits: [S, K] float32, -inf beyond a list's end.
    absent_logit: [S] float32, that the document has no such value.
    generate_logit: [S] float32, that the value is to be spelled out; -inf where it is not offered.
    generating: [G] int64, the instances that have token logits, ascending.
    token_logits: [G, L, VOCABULARY] float32.
    The first three are logits of one softmax: absent, spelled out, or one of the candidates. A candidate's
    share of log mass that the automata removed is in `refused_logit`: [S] float32, -inf where nothing was.
    """

    candidates: list[list[Candidate]]
    candidate_logits: torch.Tensor
    absent_logit: torch.Tensor
    generate_logit: torch.Tensor
    generating: torch.Tensor
    token_logits: torch.Tensor
    refused_logit: torch.Tensor


class Calibrator(Protocol):
    """Knows what a model's probabilities are worth."""

    def calibrated(self, form: Form, passage: Passage, filled: Filled) -> Filled:
        """The same record, its leaves and rows with confidences that mean something."""
        ...


class Model(Protocol):
    """A model that fills slots."""

    #: Identifies weights and code: part of a record's key.
    fingerprint: str
    #: Tokens that one passage may have.
    context_tokens: int
    device: torch.device

    @property
    def calibration(self) -> Calibrator | None:
        """What its probabilities are worth; None where they are taken as they are."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of this text, for chunking and for packing batches."""
        ...

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """The characters [start, end) of a text that are read as one, in order; [] where all of it is.

        A passage that begins and ends with such windows has the same ones: what is found in it is what is
        found there in the whole text.
        """
        ...

    def encode(self, passages: Sequence[Passage]) -> list[Any]:
        """Read each passage once; what comes back is opaque to the engine and may be cached by digest."""
        ...

    def find_rows(self, forms: Sequence[Form], memories: Sequence[Any]) -> list[list[Row]]:
        """For each request the items of its arrays, in document order, a parent before its children."""
        ...

    def score(
        self, forms: Sequence[Form], memories: Sequence[Any], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        """One pass over the canvas, given all that is committed on it."""
        ...
