"""Early stopping: what is reached is measured now and then on a held-back part, and the best is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from cinnabar.engine.models.reader.network.network import Network

#: Measuring takes at most this share of the time.
MEASURING = 0.1


@dataclass(frozen=True, slots=True)
class Patience:
    """When to measure, and when to stop.

    every: seconds, or steps where the schedule counts them, between two measurements. checks: measurements
    without a better one after which the learning rates begin to fall; what falls late in a schedule falls
    sooner then, in proportion.
    """

    every: float = 15.0
    checks: int = 4

    def __post_init__(self) -> None:
        if self.every < 0 or self.checks < 1:
            raise ValueError(f"expected every of at least 0 and at least 1 check, got {self}")


class Stopping:
    """The best weights so far by a measure of one's own, such as F1 on held-back documents."""

    def __init__(self, measure: Callable[[Network], float], patience: Patience, slack: float = 0.0) -> None:
        """slack: what a measurement may be off by chance; a later state that is no worse by more is kept."""
        self.measure, self.patience, self.slack = measure, patience, slack
        self.best, self.since, self.due = float("-inf"), 0, 0.0
        self._weights: dict[str, Tensor] = {}

    @property
    def tired(self) -> bool:
        """Whether it is time to come to an end."""
        return self.since >= self.patience.checks

    def look(self, network: Network, gone: Callable[[], float]) -> float:
        """Measure the network, and keep its weights where none were better.

        gone: how much of the schedule has passed, in seconds or in steps. Of two that are as good the later
        one is kept: it has seen more, at lower rates.
        """
        begun = gone()
        found = self.measure(network)
        network.train()
        took = gone() - begun
        self.since = 0 if found > self.best else self.since + 1
        if found >= self.best - self.slack:
            self.best = max(self.best, found)
            self._weights = {k: v.detach().cpu().clone() for k, v in network.state_dict().items()}
        self.due = begun + took + max(self.patience.every, took * (1 / MEASURING - 1))
        return found

    def give_back(self, network: Network) -> None:
        """Put the best weights into the network."""
        if self._weights:
            network.load_state_dict(self._weights)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"best": self.best, "since": self.since, "due": self.due, "weights": self._weights}

    def restore(self, kept: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.best, self.since, self.due = kept["best"], kept["since"], kept["due"]
        self._weights = kept["weights"]
