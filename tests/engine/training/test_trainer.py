"""The trainer: it ends with its schedule, and a run that was cut resumes at its last step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.tiny_network import bills, tiny_network, wordpieces

from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.training.pool import TrainingSource
from cinnabar.engine.training.trainer import TrainingConfig, optimizer_for, rate_at, train

SOURCES = [TrainingSource("bills", 1.0, bills(4))]


class Killed(BaseException):
    """The error that stops these runs."""


def config(steps: int) -> TrainingConfig:
    return TrainingConfig(steps=steps, sources=1, each=1, save_every=0.0, new_rate=3e-3)


def killed(network: Network, folder: Path) -> list[float]:
    """Train until step 20 is reported; the steps that ran."""
    reported: list[float] = []

    def stop(row: dict[str, float]) -> None:
        reported.append(row["step"])
        raise Killed

    with pytest.raises(Killed):
        train(network, SOURCES, wordpieces(), config(10_000), folder, stop)
    return reported


def kept(folder: Path) -> dict[str, Any]:
    return dict(torch.load(folder / "checkpoint.pt", weights_only=True))


@pytest.mark.slow
def test_a_killed_run_resumes_from_its_checkpoint(tmp_path: Path) -> None:
    assert killed(tiny_network(), tmp_path) == [20]
    first = kept(tmp_path)
    assert first["step"] == 19
    assert {p.name for p in tmp_path.iterdir()} == {"checkpoint.pt"}
    # The new run starts from other weights, so any resumed ones can only come from the checkpoint.
    resumed = tiny_network(1)
    assert killed(resumed, tmp_path) == [20]
    for name, w in resumed.state_dict().items():
        assert (w - first["network"][name]).abs().max() < 0.05, name
    assert first["spent"] <= kept(tmp_path)["spent"]


def test_an_interrupt_from_the_keyboard_loses_no_step(tmp_path: Path) -> None:
    def stop(_: dict[str, float]) -> None:
        raise KeyboardInterrupt

    rarely = TrainingConfig(10_000, sources=1, each=1, save_every=3600.0, new_rate=3e-3)
    with pytest.raises(KeyboardInterrupt):
        train(tiny_network(), SOURCES, wordpieces(), rarely, tmp_path, stop)
    assert kept(tmp_path)["step"] == 20


def test_a_finished_schedule_is_not_started_again(tmp_path: Path) -> None:
    first = tiny_network()
    train(first, SOURCES, wordpieces(), config(4), tmp_path)
    state = kept(tmp_path)
    assert state["step"] == 4
    second = tiny_network(1)
    train(second, SOURCES, wordpieces(), config(4), tmp_path)
    assert kept(tmp_path)["step"] == state["step"]
    for name, w in first.state_dict().items():
        assert torch.equal(second.state_dict()[name], w), name
    assert any(not torch.equal(w, tiny_network().state_dict()[n]) for n, w in first.state_dict().items())


def test_a_schedule_ends_by_the_clock_if_its_seconds_are_over(tmp_path: Path) -> None:
    config = TrainingConfig(1_000_000, sources=1, each=1, at_most=0.3)
    train(tiny_network(), SOURCES, wordpieces(), config, tmp_path)
    assert kept(tmp_path)["spent"] >= 0.3 and kept(tmp_path)["step"] < 10_000


def test_two_schedules_of_equal_length_learn_the_same(tmp_path: Path) -> None:
    networks = [tiny_network(), tiny_network()]
    for number, network in enumerate(networks):
        train(network, SOURCES, wordpieces(), config(6), tmp_path / str(number))
    first, second = (network.state_dict() for network in networks)
    assert all(torch.equal(w, second[name]) for name, w in first.items())


def test_vectors_of_words_and_letters_stay_and_every_other_parameter_has_one_rate() -> None:
    network = tiny_network()
    groups = optimizer_for(network, TrainingConfig(1)).param_groups
    assert [g["lr"] for g in groups] == [1e-4, 3e-4, TrainingConfig(1).new_rate]
    trained = [id(p) for g in groups for p in g["params"]]
    assert len(trained) == len(set(trained))
    stay = {id(network.encoder.words.weight), id(network.letters.weight)}
    assert {id(p) for p in network.parameters()} - set(trained) == stay


def test_rates_rise_stay_and_fall() -> None:
    settings = TrainingConfig(1, warmup=0.1, decay=0.5)
    shares = (0.0, 0.05, 0.1, 0.3, 0.5, 0.75, 1.0, 1.5)
    assert [round(rate_at(s, settings), 6) for s in shares] == [0.02, 0.5, 1, 1, 1, 0.5, 0, 0]


@pytest.mark.parametrize("wrong", [{"at_most": 0}, {"sources": 0}, {"each": 0}, {"steps": 0}])
def test_settings_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected positive at_most, sources, each and steps"):
        TrainingConfig(**{"steps": 1} | wrong)
