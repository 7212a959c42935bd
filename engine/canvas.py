"""The canvas of a batch: its slots as rows of tokens, with the committed values and positions."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from cinnabar.schemas.form.form import Slot

#: The slot alphabet of a byte model: the 256 bytes, then PAD (fills the slot after the end of a value) and MORE (the
#: value continues beyond the last position of the slot).
PAD, MORE, VOCABULARY = 256, 257, 258
#: In `Canvas.tokens`: a position that is not committed.
MASK = -1


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
    tokens: [S, L] int64, the committed positions of open slots, MASK where open; only the first `length[s]`
        positions of a slot count.
    length: [S] int64, positions of each slot, a power of two.
    spans: for each instance the spans (characters of the passage) of a committed value, () where it has none.
    known: for each instance, whether it was frozen from the start; the model reads it and is not asked for it.
    """

    instances: list[SlotInstance]
    values: list[bytes | None]
    left_out: list[bool]
    tokens: torch.Tensor
    length: torch.Tensor
    spans: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    known: list[bool] = field(default_factory=list)
