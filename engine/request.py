"""What goes into the engine and what comes out: exactly one result for each request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from cinnabar.schemas.form.form import Form

Origin = Literal["copied", "chosen", "generated", "absent", "default", "known", "minimal"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document, as the model reads it.

    `digest` names the content (cache key). `text` begins at character `offset` of the document.
    word_start, word_end: [W] int32, characters of `text`, end exclusive.
    word_box: [W, 4] float32, (x0, top, x1, bottom) as shares of the page's width and height; NaN where none.
    """

    digest: str
    text: str
    offset: int
    word_start: npt.NDArray[np.int32]
    word_end: npt.NDArray[np.int32]
    word_box: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Request:
    """Fill this form from this passage.

    `known` maps JSON pointers (`/seller/name`) to canonical JSON texts that are frozen: shown to the model,
    never changed. None freezes a place as left out. `counted` are the arrays (their indices in `Form.arrays`)
    whose rows are known: `rows` has them all, (array, character of the document at which it begins), in
    order, none where the array is empty. They lie in no other array, and the model looks for none of theirs.
    """

    id: str
    form: Form
    passage: Passage
    known: Mapping[str, str | None] = field(default_factory=dict)
    counted: frozenset[int] = frozenset()
    rows: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Leaf:
    """The value of one slot.

    `text` is its canonical JSON text, None where the place is left out. `confidence` in [0, 1]. `spans` are
    [start, end) in characters of the whole document, the words that the value was read from. `missing` says
    that the model found no value although the schema demands one: `text` is then its best guess, or minimal.
    `allowed_mass` is the natural logarithm of the share that the model gave to allowed texts, measured before
    the constraint. `absence` is the probability of there being no value, of which `confidence` is one way to
    be otherwise: with several readings both may be low. `posterior` and `rival` are what the model itself
    gives to its likeliest text, written or not, and to the next one: `calibration.py` makes the confidence of
    them. `slot` indexes `Form.slots`, -1 where no slot was asked.
    `demanded` says that the schema leaves no room for there being no value.
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


@dataclass(frozen=True, slots=True)
class Filled:
    """A whole, valid record.

    `record` is its canonical JSON text. `leaves` maps JSON pointers of the record's scalars, and of optional
    ones that were left out, to what is known of them. `rows` maps the pointer of each row of an array to the
    character of the whole document that its anchor is, and the row's probability. `steps` counts denoising
    steps, `reopened` the positions or slots that were opened again.
    """

    id: str
    record: str
    leaves: Mapping[str, Leaf]
    rows: Mapping[str, tuple[int, float]]
    steps: int
    reopened: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A request that could not be filled: a reason code and what was seen."""

    id: str
    code: str
    detail: str = ""


Result = Filled | Failed
