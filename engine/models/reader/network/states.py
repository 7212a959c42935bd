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


# Compared by identity: to compare tensors of other sizes is an error.
@dataclass(slots=True, eq=False)
class WindowStates:
    """N windows of T pieces, projected for the decoder and the pointers; they depend on no question.

    states: [N, T, H]; projected: [N, T, …], in this order the keys and the values of each layer of the decoder, H each,
    then four projections that the pointers compare with slots, and the logits of the tags; sizes: the values of each.
    """

    states: Tensor
    projected: Tensor
    sizes: tuple[int, ...]
    _parts: tuple[Tensor, ...] = ()

    def __len__(self) -> int:
        return len(self.states)

    @property
    def parts(self) -> tuple[Tensor, ...]:
        """The projections one by one: [N, T, size] each."""
        self._parts = self._parts or torch.split(self.projected, list(self.sizes), -1)
        return self._parts

    @property
    def starts(self) -> Tensor:
        """What starts are compared with."""
        return self.parts[-5]

    @property
    def end_starts(self) -> Tensor:
        """What is added to a slot's query for the end, given the start."""
        return self.parts[-4]

    @property
    def ends(self) -> Tensor:
        """What ends are compared with."""
        return self.parts[-3]

    @property
    def rows(self) -> Tensor:
        """What beginnings of rows are compared with."""
        return self.parts[-2]

    @property
    def tags(self) -> Tensor:
        """The logits of the kinds of value that each piece may be part of: [N, T, TAGS]."""
        return self.parts[-1]

    @classmethod
    def cat(cls, parts: Sequence[WindowStates]) -> WindowStates:
        """Returns the windows of all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        states, projected = (torch.cat([getattr(p, name) for p in parts]) for name in ("states", "projected"))
        return cls(states, projected, parts[0].sizes)

    def windows(self, chosen: Sequence[int]) -> WindowStates:
        """Returns these windows, in this order."""
        first, count = chosen[0], len(chosen)
        if list(chosen) == list(range(first, first + count)):
            if count == len(self):
                return self
            return WindowStates(self.states[first : first + count], self.projected[first : first + count], self.sizes)
        at = torch.tensor(chosen, device=self.states.device)
        return WindowStates(self.states.index_select(0, at), self.projected.index_select(0, at), self.sizes)


@dataclass(slots=True)
class DecoderOutput:
    """The decoder's output: the states of slots, [N, S, H], the windows, and biases on pointers, [N, S, T]."""

    slots: Tensor
    windows: WindowStates
    pointer_bias: Tensor
