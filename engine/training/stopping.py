"""Early stopping: training measures the network on held-back documents and keeps the best weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from cinnabar.engine.models.reader.network.network import Network

#: The largest share of the time for measuring.
MEASURING = 0.1


@dataclass(frozen=True, slots=True)
class Patience:
    """The intervals of measuring and stopping.

    every: seconds (or steps if the schedule counts steps) between two measurements. checks: after so many measurements
    without improvement the final fall of the learning rates begins early, shortened in proportion.
    """

    every: float = 15.0
    checks: int = 4

    def __post_init__(self) -> None:
        if self.every < 0 or self.checks < 1:
            raise ValueError(f"expected every of at least 0 and at least 1 check, got {self}")


class Stopping:
    """The best weights so far by a given measure, such as F1 on held-back documents."""

    def __init__(self, measure: Callable[[Network], float], patience: Patience, slack: float = 0.0) -> None:
        """slack: the random error of a measurement; a later state is kept if it is worse by at most this."""
        self.measure, self.patience, self.slack = measure, patience, slack
        self.best, self.since, self.due = float("-inf"), 0, 0.0
        self._weights: dict[str, Tensor] = {}

    @property
    def should_stop(self) -> bool:
        """Whether `patience.checks` measurements in a row brought no improvement."""
        return self.since >= self.patience.checks

    def take_measurement(self, network: Network, gone: Callable[[], float]) -> float:
        """Measures the network and keeps its weights if none were better.

        gone: the elapsed part of the schedule, in seconds or steps. Of two equally good states the later one is kept:
        it has seen more documents, at lower rates.
        """
        begun = gone()
        measured = self.measure(network)
        network.train()
        took = gone() - begun
        self.since = 0 if measured > self.best else self.since + 1
        if measured >= self.best - self.slack:
            self.best = max(self.best, measured)
            self._weights = {k: v.detach().cpu().clone() for k, v in network.state_dict().items()}
        self.due = begun + took + max(self.patience.every, took * (1 / MEASURING - 1))
        return measured

    def give_back(self, network: Network) -> None:
        """Loads the best weights into the network."""
        if self._weights:
            network.load_state_dict(self._weights)

    def state(self) -> dict[str, Any]:
        """Returns the state for a checkpoint."""
        return {"best": self.best, "since": self.since, "due": self.due, "weights": self._weights}

    def restore(self, kept: dict[str, Any]) -> None:
        """Restores a state that `state` returned."""
        self.best, self.since, self.due = kept["best"], kept["since"], kept["due"]
        self._weights = kept["weights"]
