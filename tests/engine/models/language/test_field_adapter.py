"""The adapter in a checkpoint's folder that teaches it to fill fields: its changes are added as weights are read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tests.support.tiny_checkpoint import TRAITS, write_checkpoint

from cinnabar.engine.models.language.identity import checkpoint_fingerprint
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.settings import Precision

CAUSAL = replace(TRAITS, visibility="causal", noise="none", block=1, shift=True)


def add_adapter(folder: Path) -> torch.Tensor:
    """Writes an adapter for one projection; returns the change that it makes."""
    (folder / "fields").mkdir()
    torch.manual_seed(3)
    down, up = torch.randn(4, 32), torch.randn(48, 4)
    stem = "base_model.model.model.layers.1.mlp.up_proj.lora_"
    save_file({f"{stem}A.weight": down, f"{stem}B.weight": up}, folder / "fields" / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": 4, "lora_alpha": 8}
    (folder / "fields" / "adapter_config.json").write_text(json.dumps(config))
    return 2.0 * up @ down


@pytest.mark.parametrize(("precision", "off"), [("float32", 1e-5), ("int8", 0.2)])
def test_fields_are_filled_with_the_adapter_and_chats_without(tmp_path: Path, precision: Precision, off: float) -> None:
    folder = write_checkpoint(tmp_path / "model", traits=CAUSAL, family="qwen3")
    plain = load_language_model(folder, "cpu", precision).decoder.model.layers[1].mlp.up_proj
    change = add_adapter(folder)
    taught = load_language_model(folder, "cpu", precision).decoder.model.layers[1].mlp.up_proj
    chat = load_language_model(folder, "cpu", precision, fields=False).decoder.model.layers[1].mlp.up_proj
    x = torch.eye(32)
    torch.testing.assert_close(taught(x) - plain(x), change.T, atol=off, rtol=0)
    assert torch.equal(chat(x), plain(x))


def test_an_adapter_is_part_of_a_models_name(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "model", traits=CAUSAL, family="qwen3")
    before = checkpoint_fingerprint(folder)
    add_adapter(folder)
    assert checkpoint_fingerprint(folder) != before
