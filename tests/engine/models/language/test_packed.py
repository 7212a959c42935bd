"""A checkpoint in few bits: written in parts, and back as a folder that loads."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_checkpoint import TRAITS, tiny_decoder, write_checkpoint

from cinnabar.engine.models.language import packed
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.models.language.quantised import dequantise, quantise
from cinnabar.schemas.errors import ModelError


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and matrices of the size of a tiny model."""
    monkeypatch.setattr(packed, "LARGEST", 4000)
    monkeypatch.setattr(packed, "_SMALL", 1000)


@pytest.mark.usefixtures("small_files")
def test_a_packed_checkpoint_comes_back_with_its_weights_rounded_to_their_bits(tmp_path: Path) -> None:
    whole = write_checkpoint(tmp_path / "whole")
    size = packed.pack(whole, tmp_path / "packed")
    files = sorted((tmp_path / "packed").glob("*.safetensors"))
    assert len(files) > 2 and all(path.stat().st_size < 2 * 4000 for path in files)
    assert size < sum(path.stat().st_size for path in whole.iterdir())
    packed.unpack(tmp_path / "packed", tmp_path / "back")
    model = load_language_model(tmp_path / "back", "cpu", "bfloat16")
    own, before = model.decoder.state_dict(), tiny_decoder(TRAITS).state_dict()
    name = "model.layers.0.mlp.up_proj.weight"
    values = dequantise(*quantise(before[name].float(), 4), torch.bfloat16)
    assert torch.equal(own[name], values)
    embedding = "model.embed_tokens.weight"
    assert (own[embedding].float() - before[embedding]).abs().max() < before[embedding].abs().max() / 60
    assert torch.equal(own["model.norm.weight"], before["model.norm.weight"].bfloat16())


@pytest.mark.usefixtures("small_files")
def test_a_packed_checkpoint_is_unpacked_once_and_again_when_it_changes(tmp_path: Path) -> None:
    packed.pack(write_checkpoint(tmp_path / "whole"), tmp_path / "packed")
    packed.unpack(tmp_path / "packed", tmp_path / "back")
    weights = tmp_path / "back" / "model.safetensors"
    first = weights.stat().st_mtime_ns
    packed.unpack(tmp_path / "packed", tmp_path / "back")
    assert weights.stat().st_mtime_ns == first
    packed.pack(write_checkpoint(tmp_path / "other", seed=1), tmp_path / "packed")
    before = load_file(weights)["model.embed_tokens.weight"]
    packed.unpack(tmp_path / "packed", tmp_path / "back")
    assert not torch.equal(load_file(weights)["model.embed_tokens.weight"], before)


@pytest.mark.usefixtures("small_files")
def test_a_damaged_or_missing_file_is_named(tmp_path: Path) -> None:
    packed.pack(write_checkpoint(tmp_path / "whole"), tmp_path / "packed")
    path = sorted((tmp_path / "packed").glob("*.safetensors"))[0]
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(ModelError, match=path.name):
        packed.unpack(tmp_path / "packed", tmp_path / "back")
    with pytest.raises(ModelError, match=r"packed\.json"):
        packed.unpack(tmp_path / "whole", tmp_path / "back")
    assert not (tmp_path / "back").exists()
