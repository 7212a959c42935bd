"""The scores of a request's slots: first in each window, then as the scores of the canvas."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from cinnabar.engine.model import Candidate, Scores


@dataclass(slots=True)
class WindowScores:
    """The scores of one slot in each window that it looked at, before they become one answer.

    absent: logits of the value's absence; mass: the logarithm of the share of the start pointer's probability that lies
    on allowed pieces; pointed: the log probabilities of the spans at `places` (starts, ends); options: log
    probabilities; passages: the one that tells each option, if they were compared with any; states: those of a group of
    views, [N, S, H], with the view and the slot's place in it.
    """

    absent: list[float] = field(default_factory=list)
    mass: list[float] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    pointed: list[list[list[float]]] = field(default_factory=list)
    places: list[tuple[list[list[int]], list[list[int]]]] = field(default_factory=list)
    options: list[list[float]] = field(default_factory=list)
    passages: list[tuple[int, int]] = field(default_factory=list)
    states: list[tuple[Tensor, int, int]] = field(default_factory=list)

    def add(
        self,
        window: int,
        state: tuple[Tensor, int, int],
        absent: float,
        mass: float,
        pointed: list[list[float]],
        starts: list[list[int]],
        ends: list[list[int]],
    ) -> None:
        """Adds the scores in one more window; the caller adds those of options."""
        self.windows.append(window)
        self.states.append(state)
        self.absent.append(absent)
        self.mass.append(mass)
        self.pointed.append(pointed)
        self.places.append((starts, ends))

    def likeliest(self, count: int) -> list[int]:
        """Returns the windows that most likely hold the slot's value, the likeliest first."""
        order = sorted(range(len(self.absent)), key=self.absent.__getitem__)
        return [self.windows[i] for i in order[:count]]

    def likeliest_state(self) -> Tensor:
        """Returns the slot's state, [H], in the window that most likely holds its value."""
        states, view, slot = self.states[self.absent.index(min(self.absent))]
        return states[view, slot]


class Answers:
    """The scores of a canvas while they are gathered."""

    def __init__(self, slots: int) -> None:
        self.candidates: list[list[Candidate]] = [[] for _ in range(slots)]
        self.logits: list[list[float]] = [[] for _ in range(slots)]
        # A passage without text has no values.
        self.absent = [0.0] * slots
        self.refused = [-math.inf] * slots
        self.classes: set[int] = set()

    def scores(self, device: torch.device) -> Scores:
        """Returns all scores as tensors."""
        most = max((len(c) for c in self.logits), default=0)
        logits = [[*own, *[-math.inf] * (most - len(own))] for own in self.logits]
        return Scores(
            candidates=self.candidates,
            candidate_logits=torch.tensor(logits, dtype=torch.float32, device=device).view(len(logits), most),
            absent_logit=torch.tensor(self.absent, device=device),
            refused_logit=torch.tensor(self.refused, device=device),
            classes=frozenset(self.classes),
        )
