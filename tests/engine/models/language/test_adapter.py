"""A LoRA folder merged with its base: the model computes what `peft` would compute, or one line says why not."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.engine.models.language.adapter import merge_adapter
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.errors import ModelError, UsageError

QUERY, UP = "model.layers.0.self_attn.q_proj", "model.layers.1.mlp.up_proj"


def write_adapter(folder: Path, tensors: dict[str, torch.Tensor], **settings: Any) -> Path:
    folder.mkdir()
    said = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "base_model_name_or_path": "org/base"} | settings
    (folder / "adapter_config.json").write_text(json.dumps(said))
    stored = {f"base_model.model.{name}": one.contiguous() for name, one in tensors.items()}
    save_file(stored, folder / "adapter_model.safetensors")
    return folder


def thin(name: str, rank: int, inputs: int, outputs: int) -> dict[str, torch.Tensor]:
    return {f"{name}.lora_A.weight": torch.randn(rank, inputs), f"{name}.lora_B.weight": torch.randn(outputs, rank)}


@pytest.mark.parametrize("stabilised", [False, True])
def test_products_are_added_with_their_scales_and_whole_tensors_take_their_place(
    stabilised: bool, tmp_path: Path
) -> None:
    base = write_checkpoint(tmp_path / "base")
    (base / "calibration.json").write_text("{}")
    before = load_file(base / "model.safetensors")
    inner, width = before[f"{UP}.weight"].shape
    tensors = thin(QUERY, 4, width, before[f"{QUERY}.weight"].shape[0]) | thin(UP, 2, width, inner)
    norm = torch.randn(width)
    adapter = write_adapter(
        tmp_path / "lora", {**tensors, "model.norm.modules_to_save.default.weight": norm}, use_rslora=stabilised,
        rank_pattern={"up_proj": 2}, alpha_pattern={"up_proj": 6},
    )  # fmt: skip
    assert merge_adapter(adapter, base, tmp_path / "out") == 3
    after = load_file(tmp_path / "out" / "model.safetensors")
    for name, rank, alpha in ((QUERY, 4, 8), (UP, 2, 6)):
        scale = alpha / (math.sqrt(rank) if stabilised else rank)
        wanted = before[f"{name}.weight"] + scale * tensors[f"{name}.lora_B.weight"] @ tensors[f"{name}.lora_A.weight"]
        torch.testing.assert_close(after[f"{name}.weight"], wanted)
    assert torch.equal(after["model.norm.weight"], norm)
    changed = {f"{QUERY}.weight", f"{UP}.weight", "model.norm.weight"}
    assert all(torch.equal(after[name], one) for name, one in before.items() if name not in changed)
    load_language_model(tmp_path / "out", "cpu")
    assert not (tmp_path / "out" / "calibration.json").exists()


def test_what_cannot_be_merged_is_refused_by_name(tmp_path: Path) -> None:
    base = write_checkpoint(tmp_path / "base")
    with pytest.raises(UsageError, match=r"expected a LoRA folder with adapter_config\.json"):
        merge_adapter(base, base, tmp_path / "out")
    elsewhere = write_adapter(tmp_path / "elsewhere", thin("model.layers.7.self_attn.q_proj", 4, 32, 32))
    with pytest.raises(ModelError, match=r"it changes model\.layers\.7\.self_attn\.q_proj\.weight, which .* does not"):
        merge_adapter(elsewhere, base, tmp_path / "out")
    wide = write_adapter(tmp_path / "wide", thin(QUERY, 4, 33, 32))
    with pytest.raises(ModelError, match="expected shape"):
        merge_adapter(wide, base, tmp_path / "out")
    half = write_adapter(tmp_path / "half", {f"{QUERY}.lora_A.weight": torch.randn(4, 32)})
    with pytest.raises(ModelError, match="expected both matrices of a product, found one"):
        merge_adapter(half, base, tmp_path / "out")
    dora = write_adapter(tmp_path / "dora", thin(QUERY, 4, 32, 32), use_dora=True)
    with pytest.raises(ModelError, match="`use_dora` is true"):
        merge_adapter(dora, base, tmp_path / "out")
    odd = write_adapter(tmp_path / "odd", {"model.embed_tokens.lora_embedding_A": torch.randn(4, 32)})
    with pytest.raises(ModelError, match="changes of this kind are not merged"):
        merge_adapter(odd, base, tmp_path / "out")
    with pytest.raises(UsageError, match="expected a folder of its own"):
        merge_adapter(elsewhere, base, base)
