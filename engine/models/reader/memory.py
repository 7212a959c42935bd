"""What the model keeps of a passage that it has read."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.inputs.windows import Window
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.network.states import WindowStates
from cinnabar.engine.models.reader.priors.priors import Priors
from cinnabar.engine.request import Passage


@dataclass(slots=True)
class Memory:
    """A passage as the model keeps it: pieces, W windows of at most T pieces, and their states, [W, T, H].

    `projected` is what slots look at, where it is kept; `columns` the cells of its lines; `plain` the passage's
    words, once they are needed. By the form's fingerprint: `promising` are the windows that its slots look at
    again, `choice_windows` the window that has most of the words of each of its choices, by slot, `priors`
    the scores of the passage's words. `supported` is what was found of choices, by form, slot, window and
    stretch; `matched` how alike the words of slots are to those of windows, by form, windows and questions;
    `choices` what the first look said of choices, absence and options, by form, slot, window and row.
    """

    passage: Passage
    pieces: Pieces
    windows: list[Window]
    states: Tensor
    projected: WindowStates | None
    reader: MentionReader
    columns: Columns
    plain: str = ""
    promising: dict[str, list[int]] = field(default_factory=dict)
    choice_windows: dict[str, dict[int, int]] = field(default_factory=dict)
    supported: dict[tuple[str | int, ...], Tensor] = field(default_factory=dict)
    matched: dict[tuple[str | int, ...], Tensor] = field(default_factory=dict)
    priors: dict[str, Priors] = field(default_factory=dict)
    choices: dict[tuple[str | int, ...], tuple[float, list[float]]] = field(default_factory=dict)
