"""Hidden states: of windows, whatever is asked of them, and of the slots that looked at them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(slots=True)
class Held:
    """N windows of T pieces as the decoder and the pointers want them, whatever is asked of them.

    states: [N, T, H]; keys, values: one [N, heads, T, H / heads] for each layer of the decoder; starts,
    end_starts, ends, rows: [N, T, P], what the pointers compare slots with.
    """

    states: Tensor
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    starts: Tensor
    end_starts: Tensor
    ends: Tensor
    rows: Tensor

    def windows(self, chosen: Tensor) -> Held:
        """These windows, in this order; chosen: int64."""

        def taken(x: Tensor) -> Tensor:
            return x.index_select(0, chosen)

        keys, values = tuple(map(taken, self.keys)), tuple(map(taken, self.values))
        rest = map(taken, (self.starts, self.end_starts, self.ends, self.rows))
        return Held(taken(self.states), keys, values, *rest)


@dataclass(slots=True)
class Look:
    """What the decoder saw: slot states [N, S, H], the windows, biases on pointers [N, S, T]."""

    slots: Tensor
    held: Held
    pointer_bias: Tensor
