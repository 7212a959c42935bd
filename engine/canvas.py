"""The canvas of a batch: its slots with the committed values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cinnabar.schemas.form.form import Slot


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
