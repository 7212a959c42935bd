"""`cinnabar model merge`: what it writes and says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.apps.cli.main import run


def test_a_lora_folder_is_merged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, lora = write_checkpoint(tmp_path / "base"), tmp_path / "lora"
    lora.mkdir()
    (lora / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 4, "lora_alpha": 8}')
    name = "base_model.model.model.layers.0.self_attn.q_proj"
    thin = {f"{name}.lora_A.weight": torch.ones(4, 32), f"{name}.lora_B.weight": torch.ones(32, 4)}
    save_file(thin, lora / "adapter_model.safetensors")
    assert run(["model", "merge", str(lora), "--base", str(base), "--out", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"folder": str(tmp_path / "out"), "changed": 1}
    assert run(["model", "merge", str(lora), "--base", str(base), "--out", str(tmp_path / "other")]) == 0
    assert "1 tensor changed" in capsys.readouterr().out
