"""The difference of a fine-tuned model: it takes two bits a weight and restores the weights on the right base only."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tiny_network import VOCABULARY, tiny_network
from training.whole_model import save_network

from cinnabar.engine.models import identity
from cinnabar.engine.models.identity import base_of, fingerprint_of
from cinnabar.engine.models.reader.loading import load_model, load_network
from cinnabar.engine.models.weight_difference import add_difference, difference
from cinnabar.engine.models.weights import load_weights, save_difference
from cinnabar.errors import ModelError


@pytest.fixture
def base(tmp_path: Path) -> Path:
    save_network(tmp_path / "base", tiny_network(), VOCABULARY, {"name": "tiny"})
    return tmp_path / "base"


def tuned(folder: Path, base: Path, seed: int) -> Path:
    """A model with the base's trained weights and a little noise."""
    torch.manual_seed(seed)
    weights = load_weights(base)
    other = {
        k: w if k == "encoder.words.weight" else w + 0.01 * torch.randn_like(w) for k, w in weights.items()
    }
    save_difference(folder, difference(weights, other), base, {"name": folder.name})
    return folder


@given(st.integers(1, 70), st.integers(1, 130), st.floats(1e-6, 10), st.integers(0, 2**31))
def test_a_difference_comes_back_near_enough(rows: int, columns: int, size: float, seed: int) -> None:
    torch.manual_seed(seed)
    base = {"w": torch.randn(rows, columns)}
    delta = size * torch.randn(rows, 1) * torch.randn(rows, columns)
    back = add_difference(base, difference(base, {"w": base["w"] + delta}))["w"] - base["w"]
    # Four even levels leave 0.119 of the variance of normally distributed values (Max 1960).
    assert (back - delta).pow(2).sum() <= 0.3 * delta.pow(2).sum() + 1e-6


def test_matrices_take_two_bits_a_weight_and_unchanged_ones_none() -> None:
    base = {
        "large": torch.zeros(200, 301),
        "same": torch.ones(300, 300),
        "small": torch.zeros(7),
        "one": torch.zeros(()),
    }
    stored = difference(base, {k: v if k == "same" else v + torch.randn(v.shape) for k, v in base.items()})
    assert {k: (v.dtype, v.numel()) for k, v in stored.items()} == {
        "large.moves": (torch.uint8, 200 * 301 // 4),
        "large.step": (torch.float16, 200),
        "small.plus": (torch.float16, 7),
        "one.plus": (torch.float16, 1),
    }


def test_rows_that_did_not_change_stay_as_they_are() -> None:
    base = {"w": torch.randn(100, 100)}
    other = base["w"].clone()
    other[3] += 0.5
    back = add_difference(base, difference(base, {"w": other}))["w"]
    assert torch.equal(back[4:], base["w"][4:]) and (back[3] - other[3]).abs().max() < 0.3


@pytest.mark.parametrize("other", [{}, {"w": torch.zeros(2)}, {"v": torch.zeros(3)}])
def test_weights_of_other_names_and_shapes_are_no_difference(other: dict[str, torch.Tensor]) -> None:
    with pytest.raises(ValueError, match="expected weights of the same names and shapes"):
        difference({"w": torch.zeros(3)}, other)


def test_a_difference_is_loaded_on_top_of_its_base_and_a_base_may_have_one(
    base: Path, tmp_path: Path
) -> None:
    first = tuned(tmp_path / "first", base, 1)
    second = tuned(tmp_path / "second", first, 2)
    assert [base_of(x) for x in (base, first, second)] == [None, base, first]
    zero, one, two = (load_weights(x)["decoder.0.inner.weight"] for x in (base, first, second))
    assert 0.008 < (one - zero).std() < 0.011 and 0.008 < (two - one).std() < 0.011
    assert len({fingerprint_of(x) for x in (base, first, second)}) == 3
    network, words = load_network(second)
    assert torch.equal(network.decoder[0].inner.weight, two) and words.size == network.size.vocabulary
    assert load_model(second, "cpu").fingerprint == fingerprint_of(second)


def test_a_model_stays_whole_until_its_successor_is_whole(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tuned(tmp_path / "first", base, 1)
    before = load_weights(first)
    replace = Path.replace

    def cut(source: Path, target: Path) -> Path:
        if target.name == "model.json":
            raise OSError("cut")
        return replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", cut)
        with pytest.raises(OSError, match="cut"):
            tuned(first, base, 2)
    assert all(torch.equal(w, before[k]) for k, w in load_weights(first).items())
    tuned(first, base, 3)
    assert not all(torch.equal(w, before[k]) for k, w in load_weights(first).items())
    assert sorted(p.suffix for p in first.iterdir()) == [".json", ".safetensors"]


def test_a_difference_and_its_base_can_move_together(base: Path, tmp_path: Path) -> None:
    first = tuned(tmp_path / "first", base, 1)
    before = fingerprint_of(first)
    (tmp_path / "elsewhere").mkdir()
    for folder in (base, first):
        shutil.move(folder, tmp_path / "elsewhere" / folder.name)
    assert fingerprint_of(tmp_path / "elsewhere" / "first") == before


def test_the_base_that_ships_is_found_by_its_name(tmp_path: Path) -> None:
    save_difference(tmp_path / "own", {}, "default", {})
    assert json.loads((tmp_path / "own" / "model.json").read_text())["base"]["name"] == "default"
    assert base_of(tmp_path / "own") == identity.SHIPPED


def test_another_base_is_refused(base: Path, tmp_path: Path) -> None:
    first = tuned(tmp_path / "first", base, 1)
    was = fingerprint_of(base)
    save_network(base, tiny_network(1), VOCABULARY, {"name": "tiny"})
    now = fingerprint_of(base)
    told = rf"first: made from \.\./base with fingerprint {was}, found \.\./base with {now}: .*train it again"
    for use in (fingerprint_of, base_of, load_weights):
        with pytest.raises(ModelError, match=told):
            use(first)


def test_a_missing_base_is_an_error(base: Path, tmp_path: Path) -> None:
    first = tuned(tmp_path / "first", base, 1)
    shutil.rmtree(base)
    with pytest.raises(ModelError, match=r"first: expected its base in .*base, found none: .*move both"):
        fingerprint_of(first)


@pytest.mark.parametrize("said", ["default", {}, {"name": "default"}, {"name": 3, "fingerprint": "x"}])
def test_a_base_without_name_and_fingerprint_is_an_error(base: Path, said: object) -> None:
    about = json.loads((base / "model.json").read_text())
    (base / "model.json").write_text(json.dumps(about | {"base": said}))
    with pytest.raises(ModelError, match=r"model\.json: expected a base with name and fingerprint"):
        fingerprint_of(base)


def test_a_difference_in_weights_that_the_base_lacks_is_an_error(base: Path, tmp_path: Path) -> None:
    save_difference(tmp_path / "own", {"wings.plus": torch.zeros(3)}, base, {})
    with pytest.raises(ModelError, match="the weights do not fit this version"):
        load_network(tmp_path / "own")
