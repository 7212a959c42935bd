"""What is said of a request's slots: by each window first, then as the scores of the canvas."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from cinnabar.engine.canvas import VOCABULARY
from cinnabar.engine.models.base import Candidate, Scores


@dataclass(slots=True)
class Decided:
    """What the windows say of one slot, before it is made one answer."""

    absent: list[float] = field(default_factory=list)
    spell: list[float] = field(default_factory=list)
    mass: list[float] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    pointed: list[list[list[float]]] = field(default_factory=list)
    places: list[tuple[list[list[int]], list[list[int]]]] = field(default_factory=list)
    options: list[list[float]] = field(default_factory=list)
    states: list[Tensor] = field(default_factory=list)

    def likeliest(self, count: int) -> list[int]:
        """The windows that most likely hold the slot's value, the likeliest first."""
        order = sorted(range(len(self.absent)), key=self.absent.__getitem__)
        return [self.windows[i] for i in order[:count]]

    def likeliest_state(self) -> Tensor:
        """The slot's state, [H], in the window that most likely holds its value."""
        return self.states[self.absent.index(min(self.absent))]


class Answers:
    """Scores of a canvas while they are gathered."""

    def __init__(self, slots: int, length: int) -> None:
        self.length = length
        self.candidates: list[list[Candidate]] = [[] for _ in range(slots)]
        self.logits: list[list[float]] = [[] for _ in range(slots)]
        # A passage without text has no values.
        self.absent = [0.0] * slots
        self.generate = [-math.inf] * slots
        self.refused = [-math.inf] * slots
        self.letters: dict[int, Tensor] = {}

    def scores(self, device: torch.device) -> Scores:
        """All of it as tensors."""
        most = max((len(c) for c in self.logits), default=0)
        logits = [[*own, *[-math.inf] * (most - len(own))] for own in self.logits]
        spelled = sorted(self.letters)
        letters = torch.zeros(len(spelled), self.length, VOCABULARY, device=device)
        for i, k in enumerate(spelled):
            letters[i, : len(self.letters[k])] = self.letters[k]
        generate = [g if k in self.letters else -math.inf for k, g in enumerate(self.generate)]
        return Scores(
            candidates=self.candidates,
            candidate_logits=torch.tensor(logits, dtype=torch.float32, device=device).view(len(logits), most),
            absent_logit=torch.tensor(self.absent, device=device),
            generate_logit=torch.tensor(generate, device=device),
            generating=torch.tensor(spelled, dtype=torch.long, device=device),
            token_logits=letters,
            refused_logit=torch.tensor(self.refused, device=device),
        )
