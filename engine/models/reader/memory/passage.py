"""The model's memory of a passage that it has read.

The rows of a long list are read by cell, so each of its windows is encoded when it is first looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.inputs.tensors import Window
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.network.encoder import WindowStates
from cinnabar.engine.models.reader.priors.priors import Priors
from cinnabar.engine.request import Passage
from cinnabar.engine.tables.table import PrintedTable

#: The log odds of a choice's absence, the log probabilities of its options, and the passage that tells each of them;
#: no passages if the options were not compared with any.
DecidedChoice = tuple[float, list[float], list[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Compared:
    """How alike each option of a choice and the document are in meaning, and the passage that is most like it."""

    alike: list[float]
    passages: list[tuple[int, int]]
    #: The likeness of options as it was measured, whatever the encoder knows of the document's words.
    measured: list[float]


@dataclass(frozen=True, slots=True)
class ListedOption:
    """An option that a list of options has: its probability, and the stretch of the text that tells it."""

    text: str
    chance: float
    stretch: tuple[int, int]


@dataclass(frozen=True, slots=True)
class MatchedRow:
    """A row of a table whose columns are matched.

    cells: those of fields that have one, by the slot's index, with their probability; codes: the options (JSON) that
    the cells of choices stand for; absences: the probability that no column has a field. taken: the characters of
    matched columns, which are no value of another field; is_closed: no field but those in `cells` has a value;
    matches: the most that the values of a field's column may be sure of; barred: the characters that are no value of a
    field, by the slot's index.
    """

    cells: Mapping[int, tuple[tuple[tuple[int, int], ...], float]]
    codes: Mapping[int, Mapping[str, str]]
    absences: Mapping[int, float]
    taken: tuple[tuple[int, int], ...]
    is_closed: bool
    chance: float
    matches: Mapping[int, float] = field(default_factory=dict)
    barred: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)


class LateStates:
    """The states of W windows, [W, T, H], of which some may not be encoded yet.

    encode: returns the states of windows, [n, T, H], by their numbers.
    """

    def __init__(self, shape: tuple[int, int, int], encode: Callable[[Sequence[int]], Tensor]) -> None:
        self.shape = shape
        self._encode = encode
        self._known: dict[int, Tensor] = {}

    def __getitem__(self, windows: Sequence[int]) -> Tensor:
        """Returns the states of these windows: [n, T, H]."""
        missing = sorted({*windows} - self._known.keys())
        if missing:
            self._known |= zip(missing, self._encode(missing), strict=True)
        return torch.stack([self._known[window] for window in windows])


# Compared by identity, as the tensors that it holds.
@dataclass(slots=True, eq=False)
class Memory:
    """A passage as the model keeps it: pieces, W windows of at most T pieces, and their states, [W, T, H].

    `projected` are the decoder's projections of the states, if they are kept, for all passages that were read together;
    those of this passage begin at the window `first`. `columns` the cells of the lines; `plain` the passage's words,
    computed on first use. By the form's fingerprint: `promising` are the windows that its slots look at again;
    `choice_windows` maps each choice's slot to the window with most of its words; `priors` are the scores of the
    passage's words. `supported` is the support of options and its maximum, by form, slot, window and stretch. `matched`
    are the similarities of the words of slots and windows, by form, window and questions. `choices` are the choices as
    the first look decided them, by form, slot, window and row. `stretches` are passages and sentences with their
    vectors, `compared` the meanings of options by form and slot, `listed` the options of lists by form. `matched_rows`
    are the rows of lists that stand in tables, by form, array and first character; `tables` are found on first use,
    and `tables_by_form` are those, continued and with tables side by side apart, each with its array or -1.
    `columns_read` are the shares of columns by a language model, by form, array and heads.
    """

    passage: Passage
    pieces: Pieces
    windows: list[Window]
    states: Tensor | LateStates
    projected: WindowStates | None
    reader: MentionReader
    columns: Columns
    first: int = 0
    plain: str = ""
    promising: dict[str, list[int]] = field(default_factory=dict)
    choice_windows: dict[str, dict[int, int]] = field(default_factory=dict)
    supported: dict[tuple[str | int, ...], tuple[Tensor, Tensor]] = field(default_factory=dict)
    matched: dict[tuple[str, int, bytes], Tensor] = field(default_factory=dict)
    priors: dict[str, Priors] = field(default_factory=dict)
    choices: dict[tuple[str | int, ...], DecidedChoice] = field(default_factory=dict)
    stretches: dict[str, tuple[list[tuple[int, int]], npt.NDArray[np.float32]]] = field(default_factory=dict)
    compared: dict[tuple[str, int], Compared] = field(default_factory=dict)
    listed: dict[str, dict[int, list[ListedOption]]] = field(default_factory=dict)
    matched_rows: dict[str, dict[int, dict[int, MatchedRow]]] = field(default_factory=dict)
    tables: list[PrintedTable] | None = None
    tables_by_form: dict[str, list[tuple[PrintedTable, int]]] = field(default_factory=dict)
    columns_read: dict[tuple[str | int, ...], npt.NDArray[np.float64]] = field(default_factory=dict)
