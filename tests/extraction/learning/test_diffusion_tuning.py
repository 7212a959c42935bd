"""Fine-tuning a diffusion language model on labelled sets."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.support.family_traits import FAMILY_TRAITS
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.errors import UsageError
from cinnabar.extraction.learning.diffusion_tuning import DiffusionTuning, tune_diffusion


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of which every record is the same, so that a few steps learn it."""
    folder = tmp_path_factory.mktemp("set")
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}},
        "required": ["kind"],
        "additionalProperties": False,
    }
    (folder / "schema.json").write_text(json.dumps(schema))
    lines = []
    for number in range(12):
        (folder / f"{number}.txt").write_text(f"page {number}: b\n")
        lines.append(json.dumps({"file": f"{number}.txt", "truth": {"kind": "b"}}))
    (folder / "truth.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("rank", [None, pytest.param(4, marks=pytest.mark.slow)])
def test_training_reads_the_set_better_and_writes_a_folder_that_runs(
    labelled: Path, tmp_path: Path, rank: int | None
) -> None:
    base, out = tmp_path / "base", tmp_path / "out"
    write_checkpoint(base, window=1024)
    settings = DiffusionTuning(steps=40 if rank is None else 200, rate=3e-3, rank=rank)
    rows: list[dict[str, float]] = []
    done = tune_diffusion([labelled], base, out, settings, "cpu", rows.append)
    assert rows[-1]["hidden"] < rows[0]["hidden"]
    (one,) = done.sets
    assert done.kept == (one.after["f1"] > one.before["f1"])
    assert one.trained == 9 and one.measured == 3
    assert not list((out / "training").glob("*/checkpoint.pt"))
    if done.kept:
        changed = load_file(out / "model.safetensors")
        assert changed.keys() == load_file(base / "model.safetensors").keys()
        assert {tensor.dtype for tensor in changed.values()} == {torch.bfloat16}
        load_language_model(out)


def test_a_model_without_a_mask_token_is_refused(labelled: Path, tmp_path: Path) -> None:
    write_checkpoint(tmp_path, family="qwen3", visibility="causal", noise="none", block=1, shift=True)
    with pytest.raises(UsageError, match="qwen3 has no mask token"):
        tune_diffusion([labelled], tmp_path, tmp_path / "out", DiffusionTuning(), "cpu", lambda _: None)


@pytest.mark.slow
def test_a_model_with_logits_for_the_next_position_is_trained(labelled: Path, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "base", traits=replace(FAMILY_TRAITS["fast-dllm"], window=2048))
    losses: list[float] = []
    settings = DiffusionTuning(steps=40, rate=0.01)
    tune_diffusion(
        [labelled], tmp_path / "base", tmp_path / "out", settings, "cpu", lambda row: losses.append(row["hidden"])
    )
    assert losses[-1] < losses[0]


def test_documents_that_are_longer_than_the_window_are_left_out_and_told(labelled: Path, tmp_path: Path) -> None:
    long = tmp_path / "long"
    shutil.copytree(labelled, long)
    for number in range(12):
        (long / f"{number}.txt").write_text("page " * (500 if number % 2 else 2))
    base = tmp_path / "base"
    write_checkpoint(base, window=1024)
    told: list[str] = []
    settings = DiffusionTuning(steps=2)
    tune_diffusion([long], base, tmp_path / "out", settings, "cpu", lambda _: None, told.append)
    assert len(told) == 1 and "documents longer than the model's window of 1024 tokens: left out" in told[0]
