"""A model moves to another machine with all files that it needs."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.support.tiny_network import VOCABULARY, tiny_network
from training.whole_model import save_network

from cinnabar.engine.models.identity import fingerprint_of, pack_model, unpack_model
from cinnabar.engine.models.reader.loading import load_network
from cinnabar.engine.models.weight_difference import difference
from cinnabar.engine.models.weights import load_weights, save_difference
from cinnabar.errors import ModelError


@pytest.fixture
def tuned(tmp_path: Path) -> Path:
    """A model that was fine-tuned twice, in a folder far from its bases."""
    save_network(tmp_path / "base", tiny_network(), VOCABULARY, {"name": "tiny"})
    base = tmp_path / "base"
    for number in range(2):
        weights = load_weights(base)
        torch.manual_seed(number)
        other = {k: w + 0.01 * torch.randn_like(w) for k, w in weights.items()}
        folder = tmp_path / "far" / str(number) / "tuned"
        save_difference(folder, difference(weights, other), base, {"name": folder.name})
        base = folder
    (base / "calibration.json").write_text("{}")
    (base / "notes.txt").write_text("What is no part of the model stays where it is.")
    return base


def test_a_linked_model_finds_its_base_beside_its_real_folder(tuned: Path, tmp_path: Path) -> None:
    link = tmp_path / "current"
    link.symlink_to(tuned)
    assert fingerprint_of(link) == fingerprint_of(tuned)


def test_a_tuned_model_goes_along_with_its_bases(tuned: Path, tmp_path: Path) -> None:
    model = pack_model(tuned)
    assert ["vocab.txt" in files for files in model.folders] == [False, False, True]
    scale, changed, description = sorted(model.folders[0])
    assert (scale, description) == ("calibration.json", "model.json") and changed.startswith("difference-")
    wanted, fingerprint = load_network(tuned)[0].state_dict(), fingerprint_of(tuned)
    shutil.rmtree(tmp_path / "base")
    shutil.rmtree(tmp_path / "far")
    (tmp_path / "there").mkdir()
    name = unpack_model(model, tmp_path / "there")
    assert fingerprint_of(name) == fingerprint
    found = load_network(Path(name))[0].state_dict()
    assert all(torch.equal(found[key], w) for key, w in wanted.items())


def test_the_shipped_model_is_sent_by_name_and_must_have_the_same_fingerprint(tmp_path: Path) -> None:
    model = pack_model("default")
    assert model.folders == ()
    assert unpack_model(model, tmp_path) == "default"
    with pytest.raises(ModelError, match=r"expected the model 0123, got .* install the same version"):
        unpack_model(replace(model, fingerprint="0123"), tmp_path)
