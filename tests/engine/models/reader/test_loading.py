"""Loading models by name or folder onto a device, each with its own fingerprint."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from tests.support.tiny_network import SIZE, VOCABULARY, tiny_network
from training.whole_model import save_network, save_weights

from cinnabar.engine.models.backend import device_of
from cinnabar.engine.models.identity import fingerprint_of, model_folder
from cinnabar.engine.models.reader.loading import load_model, load_network
from cinnabar.errors import ModelError, UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_network(tmp_path, tiny_network(), VOCABULARY, {"name": "tiny"})
    return tmp_path


def test_a_saved_network_is_loaded_with_its_sizes_and_words(folder: Path) -> None:
    network, words = load_network(folder)
    assert network.size == SIZE
    assert words.size == SIZE.vocabulary
    for name, w in tiny_network().state_dict().items():
        assert torch.allclose(network.state_dict()[name], w, atol=0.05), name


def test_loading_draws_no_values_and_keeps_which_parameters_learn(folder: Path) -> None:
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    network, _ = load_network(folder)
    assert torch.equal(torch.random.get_rng_state(), before)
    learned = {name: w.requires_grad for name, w in tiny_network().named_parameters()}
    assert {name: w.requires_grad for name, w in network.named_parameters()} == learned
    assert {w.dtype for w in network.parameters()} == {torch.float32}


def test_a_model_is_loaded_once_for_each_folder_and_device(folder: Path) -> None:
    model = load_model(folder, "cpu")
    assert model is load_model(folder, "cpu")
    assert (model.device, model.fingerprint) == (torch.device("cpu"), fingerprint_of(folder))
    assert not model.network.training


def test_the_fingerprint_follows_the_weights_and_not_the_place(folder: Path, tmp_path: Path) -> None:
    save_network(tmp_path / "same", tiny_network(), VOCABULARY, {"name": "another name"})
    save_network(tmp_path / "other", tiny_network(1), VOCABULARY, {"name": "tiny"})
    assert fingerprint_of(tmp_path / "same") == fingerprint_of(folder) != fingerprint_of(tmp_path / "other")


def test_weights_of_another_shape_are_refused(folder: Path) -> None:
    said = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(said | {"size": said["size"] | {"layers": 2}}))
    with pytest.raises(ModelError, match="the weights do not fit this version"):
        load_network(folder)
    (folder / "model.json").write_text(json.dumps(said | {"size": said["size"] | {"hidden": 64}}))
    with pytest.raises(ModelError, match="the weights do not fit this version"):
        load_network(folder)
    (folder / "model.json").write_text(json.dumps(said | {"size": {"wings": 2}}))
    with pytest.raises(ModelError, match="the weights do not fit this version"):
        load_network(folder)


def test_an_unknown_model_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--model .*expected `default` or a folder with model\.json"):
        model_folder(tmp_path / "none")


def test_a_device_is_cpu_or_a_cuda_device_that_is_there() -> None:
    assert device_of("cpu") == torch.device("cpu")
    assert device_of("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(UsageError, match="device tpu: expected auto, cpu or cuda"):
        device_of("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="for cuda a CUDA device"):
            device_of("cuda")


def test_weights_from_before_there_were_tags_point_as_they_did(tmp_path: Path) -> None:
    network = tiny_network()
    with torch.no_grad():
        network.tag_slot.weight.fill_(1.0)
    kept = {name: weight for name, weight in network.state_dict().items() if not name.startswith("tag_")}
    save_weights(tmp_path, kept, VOCABULARY, {"name": "before", "size": asdict(network.size)})
    loaded, _ = load_network(tmp_path)
    assert not any(weight.any() for name, weight in loaded.state_dict().items() if name.startswith("tag_"))
