"""Stored weights: they survive the disk within the quantising error, and damage to them is an error."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import torch
from tests.support.tiny_network import VOCABULARY
from training.whole_model import quantise, save_weights

from cinnabar.engine.models.weights import load_weights, restore
from cinnabar.errors import ModelError

LIMIT = 16_000_000


def saved(folder: Path, **weights: torch.Tensor) -> Path:
    save_weights(folder, weights, VOCABULARY, {"size": {}})
    return folder


def test_what_is_saved_is_loaded_within_the_error_of_quantising(tmp_path: Path) -> None:
    torch.manual_seed(0)
    weights = {
        "encoder.words.weight": torch.randn(400, 300),
        "large": torch.randn(300, 400) * torch.logspace(-2, 2, 300)[:, None],
        "small": torch.randn(20, 20),
        "vector": torch.randn(5000),
        "scalar": torch.tensor(-3.0),
    }
    loaded = load_weights(saved(tmp_path, **weights))
    assert loaded.keys() == weights.keys()
    for name, w in weights.items():
        assert loaded[name].dtype == torch.float32 and loaded[name].shape == w.shape
        step = w.abs().amax(-1, keepdim=True) / 127 if w.numel() >= 100_000 else w.abs() / 1024
        assert ((loaded[name] - w).abs() <= 0.6 * step + 1e-6).all(), name


def test_rows_of_zeros_and_of_tiny_values_keep_their_values() -> None:
    weights = torch.zeros(400, 300)
    weights[1] = 1e-9
    back = restore(quantise({"w": weights}))["w"]
    assert back.isfinite().all() and (back[0] == 0).all() and (back[1].abs() < 1e-7).all()


def test_saving_again_what_was_loaded_changes_nothing(tmp_path: Path) -> None:
    first = load_weights(saved(tmp_path / "a", large=torch.randn(400, 300), small=torch.randn(3, 3)))
    second = load_weights(saved(tmp_path / "b", **first))
    assert all((first[k] - second[k]).abs().max() <= 1e-3 * first[k].abs().max() for k in first)


def test_shards_stay_below_the_limit_and_old_ones_are_removed(tmp_path: Path) -> None:
    weights = {f"m{i}": torch.ones(3000, 3000) for i in range(4)}
    saved(tmp_path, **weights)
    shards = sorted(p.name for p in tmp_path.glob("*.safetensors"))
    assert len(shards) == 4
    assert all((tmp_path / name).stat().st_size < LIMIT for name in shards)
    saved(tmp_path, small=torch.ones(3))
    assert len([*tmp_path.glob("*.safetensors")]) == 1
    assert load_weights(tmp_path).keys() == {"small"}


@pytest.mark.parametrize("name", ["body-0.safetensors", "vocab.txt"])
def test_a_flipped_byte_is_an_error_with_both_digests(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path, small=torch.ones(30)) / name
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    damaged = bytearray(path.read_bytes())
    damaged[-5] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelError) as told:
        load_weights(tmp_path)
    assert name in str(told.value) and before in str(told.value)
    assert hashlib.sha256(damaged).hexdigest() in str(told.value)


def test_a_missing_shard_is_an_error(tmp_path: Path) -> None:
    saved(tmp_path, small=torch.ones(30))
    (tmp_path / "body-0.safetensors").unlink()
    with pytest.raises(ModelError, match=r"body-0\.safetensors: expected SHA-256 \w{64}, found no file"):
        load_weights(tmp_path)


def test_a_shard_that_matches_its_digest_and_is_none_is_an_error(tmp_path: Path) -> None:
    path = saved(tmp_path, small=torch.ones(30)) / "body-0.safetensors"
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes((1 << 62).to_bytes(8, "little") + b"{}")
    about = tmp_path / "model.json"
    about.write_text(about.read_text().replace(before, hashlib.sha256(path.read_bytes()).hexdigest()))
    with pytest.raises(ModelError, match=r"body-0\.safetensors: cannot be read as safetensors"):
        load_weights(tmp_path)


@pytest.mark.parametrize("said", ["", "{", "[]", "null", '{"files": {}}', '{"size": {}}'])
def test_a_damaged_description_is_an_error(tmp_path: Path, said: str) -> None:
    (tmp_path / "model.json").write_text(said)
    with pytest.raises(ModelError, match=r"model\.json: expected"):
        load_weights(tmp_path)


def test_a_folder_without_a_description_holds_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"expected a folder with model\.json"):
        load_weights(tmp_path)


def test_the_description_names_every_file(tmp_path: Path) -> None:
    said = json.loads((saved(tmp_path, small=torch.ones(3)) / "model.json").read_text())
    assert {p.name for p in tmp_path.iterdir()} == {*said["files"], "model.json"}
