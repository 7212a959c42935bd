"""Angles equal those of `transformers` for every kind of scaling, and stay exact at position 131,071."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.tiny_checkpoint import TRAITS, write_checkpoint
from tests.support.whole_texts import whole

from cinnabar.engine.models.language.checkpoint import load_decoder
from cinnabar.engine.models.language.decoder import Rotary
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.traits import Traits

#: Positions up to the last of 128K, most of them no numbers of bfloat16 or float16.
AT = torch.tensor([0, 1, 17, 4095, 8191, 32_767, 32_769, 40_961, 65_537, 99_991, 131_071])
#: Each case: model_type, max_position_embeddings, head_dim, rope_theta, scaling, expected window. The first ones are as
#: published, or as their cards tell users to write them.
CASES: dict[str, tuple[str, int, int, float, dict[str, Any], int]] = {
    "qwen2.5-32k": ("qwen2", 32_768, 128, 1e6, {}, 32_768),
    "qwen2.5-card-yarn": (
        "qwen2", 32_768, 128, 1e6,
        {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}, 131_072,
    ),
    "qwen3-card-yarn": (
        "qwen3", 40_960, 128, 1e6,
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}, 131_072,
    ),
    "qwen3-2507": ("qwen3", 262_144, 128, 5e6, {}, 262_144),
    "llama-3.1": (
        "llama", 131_072, 128, 5e5,
        {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        }, 131_072,
    ),
    "sdar": ("sdar", 32_768, 128, 1e6, {}, 32_768),
    "sdar-yarn": (
        "sdar", 32_768, 128, 1e6,
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}, 131_072,
    ),
    "fast-dllm": ("Fast_dLLM_Qwen", 32_768, 128, 1e6, {}, 32_768),
    "linear": ("llama", 16_384, 64, 1e5, {"type": "linear", "factor": 4.0}, 16_384),
    "linear-first-window": (
        "llama", 4096, 64, 1e4,
        {"rope_type": "linear", "factor": 4.0, "original_max_position_embeddings": 4096}, 16_384,
    ),
    "dynamic": ("llama", 131_072, 64, 1e4, {"rope_type": "dynamic", "factor": 2.0}, 131_072),
    "yarn-without-factor": (
        "qwen3", 131_072, 64, 1e6, {"rope_type": "yarn", "original_max_position_embeddings": 16_384}, 131_072,
    ),
    "yarn-untruncated": (
        "qwen3", 65_536, 64, 1e4,
        {
            "rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192, "truncate": False,
            "attention_factor": 1.2, "beta_fast": 16.0, "beta_slow": 2.0,
        }, 65_536,
    ),
}  # fmt: skip


def config_of(case: str) -> dict[str, Any]:
    kind, window, width, theta, scaling, _ = CASES[case]
    return {
        "model_type": kind,
        "hidden_size": 4 * width,
        "head_dim": width,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 2,
        "intermediate_size": 64,
        "vocab_size": 200_000,
        **({"block_size": 4} if kind == "sdar" else {}),
        "max_position_embeddings": window,
        "rope_theta": theta,
        "rope_scaling": scaling or None,
    }


def read(folder: Path, config: dict[str, Any]) -> Traits:
    (folder / "config.json").write_text(json.dumps(config))
    return read_family(folder)[1]


def theirs(config: dict[str, Any], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns cosines and sines [1, T, W] of the rotary embedding of `transformers`."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    rope = {"rope_type": "default", **(config["rope_scaling"] or {}), "rope_theta": config["rope_theta"]}
    rope["rope_type"] = rope.pop("type", rope["rope_type"])
    if rope["rope_type"] == "yarn":
        rope.setdefault("factor", None)
    kept = {key: value for key, value in config.items() if key not in ("rope_theta", "rope_scaling", "model_type")}
    made = LlamaRotaryEmbedding(LlamaConfig(**kept, rope_parameters=rope))
    cosines, sines = made(torch.zeros(1, dtype=dtype), AT[None])
    return cosines, sines


@pytest.mark.parametrize("case", CASES)
def test_angles_equal_those_of_transformers_up_to_128k(case: str, tmp_path: Path) -> None:
    config = config_of(case)
    turn = Rotary(read(tmp_path, config))(AT[None], torch.float32)
    cosines, sines = theirs(config, torch.float32)
    # A last bit of a frequency would be worth .008 at the last position.
    torch.testing.assert_close(turn.cosines[:, 0], cosines, atol=1e-6, rtol=0)
    torch.testing.assert_close(turn.sines[:, 0], sines, atol=1e-6, rtol=0)


@pytest.mark.parametrize("case", CASES)
def test_the_window_is_the_scaled_one(case: str, tmp_path: Path) -> None:
    assert read(tmp_path, config_of(case)).window == CASES[case][-1]


@pytest.mark.parametrize("case", ["qwen2.5-card-yarn", "llama-3.1", "linear", "qwen2.5-32k"])
def test_the_keys_of_transformers_5_say_the_same(case: str, tmp_path: Path) -> None:
    old = config_of(case)
    new = {key: value for key, value in old.items() if not key.startswith("rope")}
    scaling = dict(old["rope_scaling"] or {})
    rope = {"rope_type": scaling.pop("type", "default"), **scaling, "rope_theta": old["rope_theta"]}
    expected = read(tmp_path, old)
    assert read(tmp_path, new | {"rope_parameters": rope}) == expected
    assert read(tmp_path, new | {"rope_parameters": {"full_attention": rope}}) == expected


def test_angles_are_computed_in_float32_whatever_the_precision(tmp_path: Path) -> None:
    traits = read(tmp_path, config_of("qwen2.5-card-yarn"))
    exact = Rotary(traits)
    turned = Rotary(traits).to(torch.bfloat16)
    assert turned.frequencies.dtype == torch.float32
    wide, narrow = exact(AT[None], torch.float32), turned(AT[None], torch.bfloat16)
    assert torch.equal(narrow.cosines, wide.cosines.to(torch.bfloat16))
    assert torch.equal(narrow.sines, wide.sines.to(torch.bfloat16))
    # Beside arithmetic in float64 the frequencies' own rounding is left.
    angles = AT.double()[:, None] * exact.frequencies.double()
    cosines = torch.cat([angles, angles], -1).cos() * exact.scale
    assert (wide.cosines[0, 0].double() - cosines).abs().max() < 0.006


def test_a_loaded_model_in_bfloat16_has_exact_angles(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    decoder = load_decoder(tmp_path, TRAITS, torch.device("cpu"), "bfloat16")
    assert decoder.rotary.frequencies.dtype == torch.float32
    assert torch.equal(decoder.rotary.frequencies, Rotary(TRAITS).frequencies)


def test_a_model_gives_the_logits_of_transformers_beyond_its_first_window(tmp_path: Path) -> None:
    import transformers

    rope = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "rope_theta": 1e4}
    torch.manual_seed(3)
    config = transformers.Qwen3Config(
        vocab_size=96, hidden_size=32, intermediate_size=56, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=80, rope_parameters=rope,
    )  # fmt: skip
    model = transformers.Qwen3ForCausalLM(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(1.0 if "norm" in name else 0.0, 0.3)
    model.save_pretrained(tmp_path)
    _, traits = read_family(tmp_path)
    assert traits.window == 256
    ours = load_decoder(tmp_path, traits, torch.device("cpu"), "float32")
    tokens = torch.randint(0, 96, (1, 256), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected, found = model(tokens).logits, ours.logits(whole(ours, tokens, torch.arange(256)[None]))
    assert (found - expected).abs().max() < 1e-4
    # Without the scaling they are others.
    plain = load_decoder(tmp_path, replace(traits, rope={}), torch.device("cpu"), "float32")
    with torch.no_grad():
        other = plain.logits(whole(plain, tokens, torch.arange(256)[None]))
    assert (other - expected).abs().max() > 0.1
