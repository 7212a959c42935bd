"""The model's memory of a passage that it has read."""

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

    `projected` are the decoder's projections of the states, if they are kept; `columns` the cells of the lines; `plain`
    the passage's words, computed on first use. By the form's fingerprint: `promising` are the windows that its slots
    look at again; `choice_windows` maps each choice's slot to the window with most of its words; `priors` are the
    scores of the passage's words. `supported` is the support of options, by form, slot, window and stretch. `matched`
    are the similarities of the words of slots and windows, by form, windows and questions. `choices` are the absence
    and the options of choices at the first look, by form, slot, window and row.
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
