"""The states of a long list's windows, each encoded when it is first looked at: its rows are read by cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


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
