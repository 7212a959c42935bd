"""Requests, their results, exactly one for each, and the protocols of what fills them: the engine, or a model behind a
server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from cinnabar.engine.readings.locale import Locale
from cinnabar.schemas.automata.strings import json_text
from cinnabar.schemas.form.form import Form

Origin = Literal["copied", "chosen", "generated", "absent", "default", "known", "fact", "minimal"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document for the model to read.

    `digest` identifies the content (cache key). `text` begins at character `offset` of the document.
    word_start, word_end: [W] int32, characters of `text`, end exclusive.
    word_box: [W, 4] float32, (x0, top, x1, bottom) as shares of the page's width and height; NaN where none.
    headers: the characters [start, end) of `text` that are headers of mails, but for their subjects. `locale` has the
    conventions of the whole document; None if this text alone tells them. `draft` is what another model read: drafts
    begin with its record, which changes no value.
    """

    digest: str
    text: str
    offset: int
    word_start: npt.NDArray[np.int32]
    word_end: npt.NDArray[np.int32]
    word_box: npt.NDArray[np.float32]
    locale: Locale | None = None
    headers: tuple[tuple[int, int], ...] = ()
    draft: Filled | None = None


def text_passage(text: str) -> Passage:
    """Returns a text as a passage without places of its words, for what reads the text alone."""
    none = np.zeros(0, np.int32)
    return Passage("", text, 0, none, none, np.zeros((0, 4), np.float32))


@dataclass(frozen=True, slots=True)
class Request:
    """A form to fill from a passage.

    `known` maps JSON pointers (`/seller/name`) to frozen canonical JSON texts: the model sees them, nothing changes
    them. None freezes a place as left out. `counted` has the arrays (indices in `Form.arrays`) with known rows. `rows`
    has all rows of these arrays in order, as (array, character of the document at which the row begins). A counted
    array lies in no other array, and the model does not look for its rows. `elsewhere` are places outside of lists
    that other passages of the document are asked for: their values in the result say nothing.
    """

    id: str
    form: Form
    passage: Passage
    known: Mapping[str, str | None] = field(default_factory=dict)
    counted: frozenset[int] = frozenset()
    rows: tuple[tuple[int, int], ...] = ()
    elsewhere: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Leaf:
    """The value of one slot.

    `text` is its canonical JSON text, None if the place is left out. `confidence` in [0, 1]. `spans` are [start, end)
    in characters of the whole document: the words that the value was read from. `missing`: the schema demands a value
    and the model found none; `text` is then its best guess, or minimal. `allowed_mass` is the natural logarithm of the
    model's share on allowed texts before the constraint. `absence` is the probability that there is no value; with
    several readings `absence` and `confidence` may both be low. `posterior` and `rival` are the model's own
    probabilities of its likeliest text, written or not, and of the next one; `engine/models/reader/calibration.py`
    computes the confidence from them. `slot` indexes `Form.slots`, -1 if no slot was asked.
    `demanded`: the schema allows no absence here. `flags` tell what stands beside it (extraction/filling/surroundings).
    """

    text: str | None
    confidence: float
    spans: tuple[tuple[int, int], ...] = ()
    origin: Origin = "copied"
    missing: bool = False
    allowed_mass: float = 0.0
    absence: float = 0.0
    posterior: float = 0.0
    rival: float = 0.0
    slot: int = -1
    demanded: bool = False
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A place that the model held for a possible beginning of an item of an array, and decided against.

    `array` indexes `Form.arrays`, `anchor` is a character of the whole document.
    """

    array: int
    anchor: int
    probability: float


@dataclass(frozen=True, slots=True)
class Filled:
    """A whole, valid record.

    `value` is its parsed JSON in the order of the form; nobody changes it. `leaves` maps JSON pointers of the record's
    scalars, and of optional ones that were left out, to their leaves. `rows` maps the pointer of each row of an array
    to its anchor (a character of the whole document) and its probability. `steps` counts denoising steps, `reopened`
    the re-opened positions and slots.
    `lists` maps the pointer of each list to the probability that it is complete: it has every item of the document and
    nothing else. Lists of a model that cannot tell are left out. `refused` are the places that could have been rows.
    `matches` are those of the rows (`Row.matches`) by their anchors.
    `others` maps the pointer of a list to another reading of its rows, as JSON, where two differ in their number.
    `alone`: it is the first model's, for a stronger one was asked and gave no answer.
    """

    id: str
    value: Any
    leaves: Mapping[str, Leaf]
    rows: Mapping[str, tuple[int, float]]
    steps: int
    reopened: int
    lists: Mapping[str, float] = field(default_factory=dict)
    refused: tuple[RefusedRow, ...] = ()
    alone: bool = False
    matches: Mapping[int, Mapping[int, float]] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def record(self) -> str:
        """The canonical JSON text of the record."""
        return json_text(self.value)


@dataclass(frozen=True, slots=True)
class Failed:
    """A request that could not be filled: a reason code and a detail."""

    id: str
    code: str
    detail: str = ""


Result = Filled | Failed


class Filler(Protocol):
    """Fills requests, each by itself; the records depend on nothing that `fingerprint` leaves out."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of everything that a record depends on."""
        ...

    @property
    def context_tokens(self) -> int:
        """The most tokens of one passage, as `count_tokens` counts them."""
        ...

    def context_beside(self, form: Form) -> int:  # noqa: ARG002
        """Returns the most tokens of one passage beside this form: fewer if a prompt tells the form in words.

        Raises UsageError if there is no room for any.
        """
        return self.context_tokens

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of this text, for chunking."""
        ...

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """Returns the characters [start, end) that are read as one window, for chunking (`Model.windows`)."""
        ...

    def prepare(self, form: Form) -> None:
        """Does what the first request of a form would do; it takes long for thousands of fields or choices.

        Another thread may fill requests meanwhile. Raises the errors of `fill`.
        """
        del form  # Most have nothing to do.

    def fill(self, requests: Sequence[Request]) -> list[Result]:
        """Returns exactly one result for each request, in their order. Raises RunError if it can give none.

        A filler on this machine keeps the time limit of `engine/work_time.py`.
        """
        ...

    def usage(self) -> Mapping[str, int | str | None] | None:
        """Returns this run's requests, tokens and cost as JSON values, dollars as decimal text; None if it is free."""
        return None


class OverEngine(Filler):
    """A filler over another one: all but `fill` is that one's own; no client is told what others cost."""

    _engine: Filler

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the engine."""
        return self._engine.fingerprint

    @property
    def context_tokens(self) -> int:
        """The most tokens of one passage."""
        return self._engine.context_tokens

    def context_beside(self, form: Form) -> int:
        """Returns the most tokens of a passage beside this form. Raises UsageError if none is left."""
        return self._engine.context_beside(form)

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of this text, for chunking."""
        return self._engine.count_tokens(text)

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """Returns the characters [start, end) that the model reads as one window, for chunking."""
        return self._engine.windows(passage)
