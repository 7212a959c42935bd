"""What a training canvas asks and shows: drawn slots, their options, and visible values."""

from __future__ import annotations

import random

import torch

from cinnabar.engine.models.reader.inputs.tensors import KINDS, STATES, Board
from cinnabar.engine.models.reader.inputs.windows import Window
from cinnabar.engine.training.examples import LabelledPassage, RowsTarget, is_held
from cinnabar.engine.training.targets import SlotTarget

#: The most slots of one training window: outside of rows, arrays, rows, and slots of rows.
_SCALARS, _ARRAYS, _ROWS, _ROW_SLOTS = 14, 3, 5, 8
#: Options of a choice beside the true one.
_OPTIONS = 12
#: A target that does not count.
IGNORE = -100

#: Places of a window, (first, last), both inclusive.
Places = list[tuple[int, int]]


def draw_slots(
    passage: LabelledPassage, window: Window, rng: random.Random
) -> list[SlotTarget | RowsTarget]:
    """Draws some of the fields, some arrays, and some slots of rows that begin in the window.

    Most fields of a long document are not in the window. At most half as many of these as of the others are drawn;
    with more of them the model learns to answer that nothing is there.
    """
    held: list[SlotTarget] = []
    others: list[SlotTarget] = []
    for x in rng.sample(passage.scalars, len(passage.scalars)):
        (held if not x.absent and is_held(x, window) else others).append(x)
    held = held[: rng.randint(_SCALARS // 2, _SCALARS)]
    scalars = held + others[: max(2, len(held) // 2)]
    rng.shuffle(scalars)
    arrays = rng.sample(passage.arrays, min(len(passage.arrays), _ARRAYS))
    seen = [r for r in passage.rows if window.first <= r[0].anchor < window.last]
    picked = sorted(rng.sample(range(len(seen)), min(len(seen), _ROWS)))
    in_rows = [x for k in picked for x in rng.sample(seen[k], min(len(seen[k]), _ROW_SLOTS))]
    return [*scalars, *arrays, *in_rows]


def some_options(target: SlotTarget, rng: random.Random) -> list[int]:
    """Draws the options of a choice: the true one, those that the text names, and others up to the limit."""
    others = [o for o in range(len(target.options)) if o != target.option]
    if len(others) > _OPTIONS:
        named = [o for o in others if target.printed[o]][: _OPTIONS // 2]
        others = named + rng.sample([o for o in others if o not in named], _OPTIONS - len(named))
    return sorted([target.option, *others] if target.option >= 0 else others)


def show_value(
    board: Board, i: int, j: int, target: SlotTarget, own: Places, size: int, rng: random.Random
) -> None:
    """Puts the true value on the canvas; a tenth of the values are corrupted, so that the model learns to doubt."""
    if not target.known:
        return
    corrupted = rng.random() < 0.1
    if corrupted and not target.options and size > 4:
        first = rng.randint(1, size - 1)
        own = [(first, min(size, first + rng.randint(0, 3)))]
        board.state[i, j] = STATES.index("copied")
    elif target.absent and target.default < 0:
        board.state[i, j] = STATES.index("absent")
        return
    elif target.options or target.kind == KINDS.index("boolean"):
        board.state[i, j] = STATES.index("chosen")
    elif own:
        board.state[i, j] = STATES.index("copied")
    else:
        board.state[i, j] = STATES.index("written")
    if own:
        a, b = rng.choice(own)
        board.span[i, j] = torch.tensor((a, b + 1))
    if not corrupted and target.words:
        board.words[i, j, : len(target.words)] = torch.tensor(target.words)
