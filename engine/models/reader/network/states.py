"""The hidden states of questions, of windows, and of the slots decoded in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cinnabar.engine.models.reader.network.support import Statements


@dataclass(frozen=True, slots=True)
class QuestionStates:
    """The states of Q questions.

    vectors: [Q, H], the mean of each question's states; statements: each as a statement, [Q, …]; named: [Q, NAMED, H],
    the mean of the states of each value that it names, 0 if there is none; is_named: [Q, NAMED] bool.
    """

    vectors: Tensor
    statements: Statements
    named: Tensor
    is_named: Tensor

    @classmethod
    def cat(cls, parts: Sequence[QuestionStates]) -> QuestionStates:
        """Returns all parts, one after the other."""
        vectors, named, is_named = (
            torch.cat([getattr(p, name) for p in parts]) for name in ("vectors", "named", "is_named")
        )
        return cls(vectors, Statements.cat([p.statements for p in parts]), named, is_named)


@dataclass(slots=True)
class WindowStates:
    """N windows of T pieces, projected for the decoder and the pointers; they depend on no question.

    states: [N, T, H]; keys, values: one [N, heads, T, H / heads] for each layer of the decoder; starts, end_starts,
    ends, rows: [N, T, P], which the pointers compare with slots.
    """

    states: Tensor
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    starts: Tensor
    end_starts: Tensor
    ends: Tensor
    rows: Tensor

    @classmethod
    def cat(cls, parts: Sequence[WindowStates]) -> WindowStates:
        """Returns the windows of all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]

        def joined(name: str) -> Tensor:
            return torch.cat([getattr(part, name) for part in parts])

        keys, values = (
            tuple(torch.cat(layer) for layer in zip(*(getattr(part, name) for part in parts), strict=True))
            for name in ("keys", "values")
        )
        rest = map(joined, ("starts", "end_starts", "ends", "rows"))
        return cls(joined("states"), keys, values, *rest)

    def windows(self, chosen: Tensor) -> WindowStates:
        """Returns these windows, in this order; chosen: int64."""

        def taken(x: Tensor) -> Tensor:
            return x.index_select(0, chosen)

        keys, values = tuple(map(taken, self.keys)), tuple(map(taken, self.values))
        rest = map(taken, (self.starts, self.end_starts, self.ends, self.rows))
        return WindowStates(taken(self.states), keys, values, *rest)


@dataclass(slots=True)
class Decoded:
    """The decoder's output: the states of slots, [N, S, H], the windows, and biases on pointers, [N, S, T]."""

    slots: Tensor
    windows: WindowStates
    pointer_bias: Tensor
