"""Stopping: training ends sooner where scores stop improving, and keeps the best measured weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.support.tiny_network import bills, tiny_network, wordpieces

from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.training.pool import TrainingSource
from cinnabar.engine.training.trainer import MEASURING, Patience, Stopping, TrainingConfig, train

SOURCES = [TrainingSource("bills", 1.0, bills(4))]


def looking(scores: list[float], patience: Patience | None = None) -> Stopping:
    """A measurement that gives these scores, one after the other."""
    left: Iterator[float] = iter(scores)
    return Stopping(lambda _: next(left), patience or Patience())


def look(stopping: Stopping, network: Network) -> float:
    return stopping.take_measurement(network, lambda: 0.0)


def marked(network: Network, mark: float) -> Network:
    with torch.no_grad():
        network.row_bias.fill_(mark)
    return network


def test_the_best_weights_come_back_and_of_equal_ones_the_later() -> None:
    stopping, network = looking([0.1, 0.7, 0.7, 0.3]), tiny_network()
    for mark in range(4):
        look(stopping, marked(network, mark))
    stopping.give_back(network)
    assert float(network.row_bias.detach()) == 2.0 and stopping.best == 0.7


def test_a_score_within_chance_of_the_best_counts_as_good() -> None:
    left = iter([0.8, 0.78, 0.77, 0.74])
    stopping, network = Stopping(lambda _: next(left), Patience(checks=3), slack=0.03), tiny_network()
    for mark in range(4):
        look(stopping, marked(network, mark))
    stopping.give_back(network)
    assert float(network.row_bias.detach()) == 2.0 and stopping.best == 0.8 and stopping.should_stop


def test_patience_counts_the_measurements_since_the_best() -> None:
    stopping, network = looking([0.5, 0.5, 0.6, 0.2, 0.6], Patience(checks=2)), tiny_network()
    assert [(look(stopping, network), stopping.should_stop)[1] for _ in range(5)] == [
        False,
        False,
        False,
        False,
        True,
    ]


def test_measuring_takes_a_small_share_of_the_time() -> None:
    stopping, clock = looking([0.5], Patience(every=1.0)), iter([50.0, 56.0])
    stopping.take_measurement(tiny_network(), lambda: next(clock))
    assert 6.0 / (stopping.due - 50.0) == pytest.approx(MEASURING)


def test_the_best_weights_survive_a_checkpoint() -> None:
    first, network = looking([0.5, 0.9, 0.1]), tiny_network()
    for mark in range(3):
        look(first, marked(network, mark))
    second, other = looking([]), tiny_network(1)
    second.restore(first.state())
    second.give_back(other)
    assert float(other.row_bias.detach()) == 1.0
    assert (second.best, second.since, second.due) == (first.best, first.since, first.due)


def test_weights_stay_unchanged_without_a_measurement() -> None:
    network = marked(tiny_network(), 5)
    looking([]).give_back(network)
    assert float(network.row_bias.detach()) == 5.0


@pytest.mark.parametrize("wrong", [{"every": -1.0}, {"checks": 0}])
def test_patience_out_of_range_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected every of at least 0 and at least 1 check"):
        Patience(**wrong)


def test_training_that_gets_no_better_comes_to_an_end_with_falling_rates(tmp_path: Path) -> None:
    rows: list[dict[str, float]] = []
    config = TrainingConfig(steps=1000, sources=1, each=1, decay=0.5, save_every=1e9)
    stopping = Stopping(lambda _: 0.5, Patience(every=4.0, checks=3))
    train(tiny_network(), SOURCES, wordpieces(), config, tmp_path, rows.append, stopping=stopping)
    measured = [(row["step"], row["of"]) for row in rows if "held_back" in row]
    # The fall takes as long as the steps before it, as at the end of a schedule of that length.
    assert measured == [(0, 1000), (4, 1000), (8, 1000), (12, 1000), (16, 24), (20, 24), (24, 24)]


def test_training_ends_with_the_best_measured_weights(tmp_path: Path) -> None:
    seen: list[float] = []

    def measure(network: Network) -> float:
        seen.append(float(network.row_bias.detach()))
        return 1.0 if len(seen) == 1 else 0.0

    network = tiny_network()
    config = TrainingConfig(steps=4, sources=1, each=1)
    train(network, SOURCES, wordpieces(), config, tmp_path, stopping=Stopping(measure, Patience(every=0.0)))
    assert len(seen) == 5 and float(network.row_bias.detach()) == seen[0] != seen[-1]
    kept = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert float(kept["network"]["row_bias"]) == seen[0] and kept["stopping"]["best"] == 1.0
