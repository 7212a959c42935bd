"""The small model's folder, its tokenizer, and a few steps of its training."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
import torch
from training.diffusion.recipe import make_small_model, train_small_model

from cinnabar.engine.models.language.language_model import fresh_language_model, load_language_model
from cinnabar.engine.training.diffusion.trainer import DiffusionTraining, add_low_rank, merge_low_rank


@pytest.fixture(scope="module")
def small() -> Path:
    """The trained model of the tests, made by this recipe."""
    return Path(__file__).parents[2] / "data" / "small_diffusion_model"


def test_a_value_has_the_same_tokens_on_a_page_and_in_a_record(small: Path) -> None:
    tokenizer = load_language_model(small).tokenizer
    for value in ("Kolva Brun", "Q8-77A", "2031-04-05", "118.25"):
        own = tokenizer.encode(value)
        for before, behind in ((": ", "\n"), ('{"name": "', '", "'), ('{"name": ', "}"), (" | ", " |\n")):
            tokens = tokenizer.encode(f"{before}{value}{behind}")
            assert any(tokens[at : at + len(own)] == own for at in range(len(tokens))), (before, value)


@pytest.mark.slow
def test_the_same_seed_makes_the_same_model(tmp_path: Path) -> None:
    for once in ("one", "two"):
        make_small_model(tmp_path / once)
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.slow
def test_training_goes_on_from_its_checkpoint(small: Path, tmp_path: Path) -> None:
    rows: list[dict[str, float]] = []
    shutil.copytree(small, tmp_path / "model")
    for steps in (20, 40):
        train_small_model(tmp_path, DiffusionTraining(steps=steps, batch=40), report=rows.append)
    assert [row["step"] for row in rows] == [20, 40]
    with (tmp_path / "progress.csv").open() as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["20", "40"]
    before = fresh_language_model(small, "cpu", "float32").decoder.state_dict()
    after = fresh_language_model(tmp_path / "model", "cpu", "float32").decoder.state_dict()
    moved = [name for name, weight in after.items() if not torch.equal(weight, before[name])]
    assert set(moved) >= {name for name, weight in after.items() if weight.dim() == 2}


def test_merged_low_rank_matrices_give_the_same_states(small: Path) -> None:
    decoder = fresh_language_model(small, "cpu", "float32").decoder
    tokens, positions = torch.randint(4, 500, (1, 20)), torch.arange(20)[None]
    with torch.inference_mode():
        plain = decoder(tokens, positions)
    add_low_rank(decoder, 3)
    trained = [weight for weight in decoder.parameters() if weight.requires_grad]
    assert {min(weight.shape) for weight in trained} == {3}
    with torch.inference_mode():
        torch.testing.assert_close(decoder(tokens, positions), plain)
        for weight in trained:
            weight += 0.05 * torch.randn_like(weight)
        changed = decoder(tokens, positions)
        assert not torch.allclose(changed, plain)
        merge_low_rank(decoder)
        torch.testing.assert_close(decoder(tokens, positions), changed, atol=1e-4, rtol=1e-3)
