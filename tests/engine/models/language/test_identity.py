"""The fingerprint of a checkpoint: it follows what a record depends on, and not the place."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.support.tiny_checkpoint import HEADERS, write_checkpoint

from cinnabar.engine.models.language import identity
from cinnabar.engine.models.language.identity import checkpoint_fingerprint, model_fingerprint


def test_the_fingerprint_follows_the_content_and_not_the_place(tmp_path: Path) -> None:
    first = write_checkpoint(tmp_path / "first")
    shutil.copytree(first, tmp_path / "second")
    assert checkpoint_fingerprint(first) == checkpoint_fingerprint(tmp_path / "second")
    assert checkpoint_fingerprint(first) != checkpoint_fingerprint(write_checkpoint(tmp_path / "other", seed=1))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"])
def test_every_text_that_a_record_depends_on_is_in_the_fingerprint(name: str, tmp_path: Path) -> None:
    before = checkpoint_fingerprint(write_checkpoint(tmp_path))
    text = (tmp_path / name).read_text()
    (tmp_path / name).write_text(HEADERS if name.endswith("jinja") else json.dumps(json.loads(text) | {"new": 1}))
    assert checkpoint_fingerprint(tmp_path) != before
    (tmp_path / "README.md").write_text("about")
    (tmp_path / name).write_text(text)
    assert checkpoint_fingerprint(tmp_path) == before


def test_a_change_of_any_tensor_changes_the_fingerprint(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, vocabulary=3000)
    weights = tmp_path / "model.safetensors"
    tensors = {name: w.clone() for name, w in load_file(weights).items()}
    assert any(w.nbytes > identity._WHOLE for w in tensors.values())
    before = checkpoint_fingerprint(tmp_path)
    torch.manual_seed(0)
    for name, w in tensors.items():
        # A step of training.
        save_file(tensors | {name: w + 1e-3 * torch.randn_like(w)}, weights)
        assert checkpoint_fingerprint(tmp_path) != before, name
    save_file(tensors, weights)
    assert checkpoint_fingerprint(tmp_path) == before


def test_the_calibration_is_part_of_the_models_fingerprint_only(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    weights = checkpoint_fingerprint(tmp_path)
    assert model_fingerprint(tmp_path) == weights
    (tmp_path / "calibration.json").write_text("{}")
    assert checkpoint_fingerprint(tmp_path) == weights != model_fingerprint(tmp_path)


def test_the_fingerprint_is_known_without_torch(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    code = (
        "import sys; from cinnabar.engine.models.language.identity import model_fingerprint;"
        f" print(model_fingerprint({str(tmp_path)!r}), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [model_fingerprint(tmp_path), "False"]


def test_unchanged_files_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path)
    before = checkpoint_fingerprint(tmp_path)
    monkeypatch.setattr(identity, "stored_tensors", lambda _: pytest.fail("the weights were read again"))
    assert checkpoint_fingerprint(tmp_path) == before
