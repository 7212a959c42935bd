"""The adapter in a checkpoint's folder that teaches it to fill fields: its changes are added as weights are read."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from tests.support.tiny_checkpoint import TRAITS, write_checkpoint

from cinnabar.engine.models.language.identity import checkpoint_fingerprint
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.settings import Precision
from cinnabar.errors import ModelError

CAUSAL = replace(TRAITS, visibility="causal", noise="none", block=1, shift=True)


UP = "model.layers.1.mlp.up_proj"
BOTH = {f"{UP}.lora_A.weight": (4, 32), f"{UP}.lora_B.weight": (48, 4)}


def write_adapter(folder: Path, tensors: dict[str, torch.Tensor], **settings: Any) -> None:
    """Writes a LoRA folder beside a checkpoint's weights."""
    (folder / "fields").mkdir()
    stored = {f"base_model.model.{name}": one.contiguous() for name, one in tensors.items()}
    save_file(stored, folder / "fields" / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": 4, "lora_alpha": 8} | settings
    (folder / "fields" / "adapter_config.json").write_text(json.dumps(config))


def add_adapter(folder: Path) -> torch.Tensor:
    """Writes an adapter for one projection; returns the change that it makes."""
    torch.manual_seed(3)
    down, up = torch.randn(4, 32), torch.randn(48, 4)
    write_adapter(folder, {f"{UP}.lora_A.weight": down, f"{UP}.lora_B.weight": up})
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


@pytest.mark.parametrize("stabilised", [False, True])
def test_products_have_the_scales_that_the_folder_tells(stabilised: bool, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "model", traits=CAUSAL, family="qwen3")
    plain = load_language_model(folder, "cpu", "float32", fields=False).decoder.model.layers[1].mlp.up_proj.weight
    thin = (torch.randn(2, 32), torch.randn(48, 2))
    stored = {f"{UP}.lora_A.weight": thin[0], f"{UP}.lora_B.weight": thin[1]}
    patterns = {"rank_pattern": {"up_proj": 2}, "alpha_pattern": {"up_proj": 6}}
    write_adapter(folder, stored, **patterns, use_rslora=stabilised)
    made = load_language_model(folder, "cpu", "float32").decoder.model.layers[1].mlp.up_proj.weight
    torch.testing.assert_close(made, plain + 6 / (math.sqrt(2) if stabilised else 2) * thin[1] @ thin[0])


@pytest.mark.parametrize(
    ("tensors", "settings", "told"),
    [
        ({f"{UP.replace('1', '7')}.lora_A.weight": (4, 32), f"{UP.replace('1', '7')}.lora_B.weight": (48, 4)}, {},
         r"changes model\.layers\.7\.mlp\.up_proj\.weight, .* which its model does not have"),
        ({f"{UP}.lora_A.weight": (4, 33), f"{UP}.lora_B.weight": (48, 4)}, {}, r"\[48, 33\], .* has \[48, 32\]"),
        ({f"{UP}.lora_A.weight": (4, 32)}, {}, "expected both matrices of a product, found one"),
        ({f"{UP}.lora_A.weight": (4, 32), f"{UP}.lora_B.weight": (48, 4)}, {"use_dora": True}, "`use_dora` is true"),
        ({"model.norm.modules_to_save.default.weight": (32,)}, {}, "low-rank products alone; merge it with `peft`"),
        ({f"{UP}.lora_A.weight": (4,), f"{UP}.lora_B.weight": (48, 4)}, {}, "low-rank products alone"),
        ({f"{UP}.lora_A.weight": (4, 32), f"{UP}.lora_B.weight": (48, 5)}, {}, "different ranks"),
        (BOTH, {"rank_pattern": {"(": 1}}, r"`rank_pattern`: '\(' is no pattern"),
        (BOTH, {"alpha_pattern": {"up_proj": "x"}}, "expected `up_proj` to be a number above 0"),
    ],
    ids=["elsewhere", "wide", "half", "dora", "whole", "flat", "ranks", "pattern", "alpha"],
)  # fmt: skip
def test_changes_that_cannot_be_applied_are_refused_by_name(
    tensors: dict[str, tuple[int, ...]], settings: dict[str, Any], told: str, tmp_path: Path
) -> None:
    folder = write_checkpoint(tmp_path / "model", traits=CAUSAL, family="qwen3")
    write_adapter(folder, {name: torch.randn(shape) for name, shape in tensors.items()}, **settings)
    with pytest.raises(ModelError, match=told):
        load_language_model(folder, "cpu", "float32")


def test_an_adapter_is_part_of_a_models_name(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "model", traits=CAUSAL, family="qwen3")
    before = checkpoint_fingerprint(folder)
    add_adapter(folder)
    assert checkpoint_fingerprint(folder) != before
