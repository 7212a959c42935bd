"""config.json to traits: the keys of each family, and what is refused by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.family_traits import DIFFUSION_GEMMA, FAST_DLLM, LLADA2, SDAR_MOE
from tests.support.saved_decoder import config_of
from tests.support.tiny_checkpoint import TRAITS

from cinnabar.engine.models.language.families import FAMILIES, read_family
from cinnabar.engine.models.language.traits import Traits
from cinnabar.errors import ModelError, UsageError

#: As SDAR-4B-Chat has them, without keys that say nothing of the network.
SDAR_4B = {
    "_name_or_path": "JetLM/SDAR-4B-Chat",
    "architectures": ["SDARForCausalLM"],
    "attention_bias": False,
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 2560,
    "intermediate_size": 9728,
    "max_position_embeddings": 32768,
    "max_window_layers": 36,
    "model_type": "sdar",
    "num_attention_heads": 32,
    "num_hidden_layers": 36,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_sliding_window": False,
    "vocab_size": 151936,
}
CAUSAL = replace(TRAITS, visibility="causal", noise="none", block=1, shift=True)


def read(folder: Path, config: Any) -> Traits:
    (folder / "config.json").write_text(json.dumps(config))
    return read_family(folder)[1]


def test_a_released_config_of_sdar_gives_blocks_of_four_and_no_shift(tmp_path: Path) -> None:
    traits = read(tmp_path, SDAR_4B)
    assert (traits.visibility, traits.block, traits.shift, traits.qk_norm) == ("block_causal", 4, False, True)
    assert (traits.head_width, traits.key_heads, traits.rope_theta, traits.window) == (128, 8, 1e6, 32768)
    assert (traits.mask, traits.revises) == (None, False)
    longer = read(tmp_path, SDAR_4B | {"block_size": 32, "mask_token_id": 151669, "revises": True})
    assert (longer.block, longer.mask, longer.revises) == (32, 151669, True)


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("SDAR-1.7B-Chat", 4),
        ("SDAR-8B-Chat-b32", 32),
        ("SDAR-30B-A3B-Chat", 4),
        ("SDAR-30B-A3B-Chat-b8", 8),
        ("my-b16", 16),
        ("mine", None),
    ],
)
def test_without_a_block_size_the_name_of_the_release_tells_it_or_the_folder_is_refused(
    name: str, block: int | None, tmp_path: Path
) -> None:
    folder, unnamed = named(tmp_path, name), {key: value for key, value in SDAR_4B.items() if key != "_name_or_path"}
    if block is None:
        with pytest.raises(ModelError, match=r"expected `block_size`.*4 for SDAR-…-Chat, 32 for SDAR-…-Chat-b32"):
            read(folder, unnamed)
        (folder / "origin.json").write_text('{"name": "JetLM/SDAR-4B-Chat-b32"}')
        assert read(folder, unnamed).block == 32
        assert read(folder, SDAR_4B | {"_name_or_path": "JetLM/SDAR-4B-Chat"}).block == 32
        (folder / "origin.json").unlink()
        assert read(folder, SDAR_4B | {"_name_or_path": "JetLM/SDAR-4B-Chat"}).block == 4
    else:
        assert read(folder, unnamed).block == block
        assert read(folder, unnamed | {"block_size": 64}).block == 64


def test_releases_that_edit_are_known_by_their_names(tmp_path: Path) -> None:
    config = config_of(LLADA2)
    del config["revises"]
    edits = {name: read(named(tmp_path, name), config).revises for name in ("LLaDA2.0-mini", "LLaDA2.1-mini", "mine")}
    assert edits == {"LLaDA2.0-mini": False, "LLaDA2.1-mini": True, "mine": False}
    assert not read(named(tmp_path, "LLaDA2.1-flash"), config | {"revises": False}).revises


def test_what_the_authors_say_of_running_a_model_is_taken(tmp_path: Path) -> None:
    folder = named(tmp_path, "mine")
    (folder / "generation_config.json").write_text('{"block_length": 32, "mask_token_id": 303, "threshold": 0.95}')
    traits = read(folder, {**SDAR_4B, "vocab_size": 352})
    assert (traits.block, traits.mask, traits.threshold) == (32, 303, 0.95)
    assert read(folder, {**SDAR_4B, "vocab_size": 352, "block_size": 4}).block == 4


def named(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def test_rope_is_read_from_either_key(tmp_path: Path) -> None:
    scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
    old = SDAR_4B | {"model_type": "llama", "rope_theta": 5e5, "rope_scaling": scaling | {"type": "llama3"}}
    new = {key: value for key, value in old.items() if not key.startswith("rope")}
    new["rope_parameters"] = scaling | {"rope_type": "llama3", "rope_theta": 5e5}
    assert read(tmp_path, old) == read(tmp_path, new)
    assert read(tmp_path, new).rope["rope_type"] == "llama3"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_config_of_traits_gives_the_traits(family: str, tmp_path: Path) -> None:
    traits = replace(
        {
            "sdar": replace(TRAITS, mask=3, revises=True, block=16, qkv_bias=True, output_bias=True),
            "llada2_moe": replace(LLADA2, mask=3, revises=True, qkv_bias=True, output_bias=True),
            "Fast_dLLM_Qwen": FAST_DLLM,
            "diffusion_gemma": DIFFUSION_GEMMA,
            "sdar_moe": SDAR_MOE,
            # It is written with an expert's tensors apart.
            "llada2_moe_veomni": LLADA2,
            "qwen2": replace(CAUSAL, qk_norm=False, qkv_bias=True, tied=True),
            "qwen3": CAUSAL,
            "llama": replace(
                CAUSAL,
                qk_norm=False,
                rope={"rope_type": "linear", "factor": 2.0, "original_max_position_embeddings": 256},
            ),
        }[family],
        family=family.removesuffix("_veomni"),
    )
    assert read(tmp_path, config_of(traits) | {"model_type": family}) == traits


REFUSED = {
    "unknown": ({"model_type": "dream"}, r"`model_type` is \"dream\", a family that .* SDAR \(sdar\), LLaDA 2"),
    "left": ({"model_type": "nemotron_labs_diffusion"}, r"a family that this version cannot run.* DiffusionGemma"),
    "grown": (
        {"rope_scaling": {"rope_type": "yarn", "factor": 2.0, "llama_4_scaling_beta": 0.1}},
        "`llama_4_scaling_beta` of rotary positions cannot be run",
    ),
    "none": ({"model_type": None}, "`model_type` is null"),
    "act": ({"hidden_act": "gelu"}, r"`hidden_act` is \"gelu\", which this version cannot run; expected \"silu\""),
    "quantised": ({"quantization_config": {"quant_method": "awq"}}, "quantised weights cannot be run"),
    "sliding": ({"use_sliding_window": True, "max_window_layers": 3}, "sliding-window attention"),
    "layers": ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding-window attention"),
    "kinds": ({"layer_types": 3}, "expected `layer_types` to be a list, found 3"),
    "infinite": ({"rope_theta": float("inf")}, "expected `rope_theta` to be a number above 0, found Infinity"),
    "block": ({"block_size": 100_000}, "expected a block of at most the window of [0-9]+ tokens, found 100000"),
    "rope": ({"rope_scaling": {"rope_type": "longrope", "factor": 2.0}}, r"rotary scaling \"longrope\" cannot be run"),
    "factor": ({"rope_scaling": {"rope_type": "linear"}}, "expected `factor` in `rope_scaling`"),
    "kind": ({"rope_scaling": {"rope_type": ["yarn"]}}, r"rotary scaling \[\"yarn\"\] cannot be run"),
    "no number": ({"rope_scaling": {"rope_type": "yarn", "factor": "4"}}, "expected `factor` to be a number above 0"),
    "partial": ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "`partial_rotary_factor` is 0.5, which"),
    "zero": ({"hidden_size": 0}, "expected `hidden_size` to be a whole number from 1 to 16,777,216, found 0"),
    "text": ({"vocab_size": "many"}, "expected `vocab_size` to be a whole number from 1 to 16,777,216, found \"many\""),
    "huge": ({"vocab_size": 1 << 40}, "a whole number from 1 to 16,777,216, found 1099511627776"),
    "missing": ({"num_attention_heads": None}, "expected `num_attention_heads`, a whole number above 0; the key is"),
    "heads": ({"num_key_value_heads": 5}, "expected heads that 5 key heads divide, found 32"),
    "flag": ({"tie_word_embeddings": "yes"}, "expected `tie_word_embeddings` to be true or false"),
    "mask": ({"mask_token_id": 151936}, "`mask_token_id` is 151936, beyond the vocabulary of 151936 tokens"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_decoder_cannot_compute_is_refused_by_name(case: str, tmp_path: Path) -> None:
    changed, message = REFUSED[case]
    with pytest.raises(ModelError, match=message):
        read(tmp_path, SDAR_4B | changed)


@pytest.mark.parametrize(
    ("named", "title"),
    [("llada", "LLaDA or LLaDA-MoE"), ("llada_moe", "LLaDA-MoE"), ("Dream", "Dream or DiffuCoder")],
)
def test_a_family_with_full_attention_is_refused_with_the_families_that_are_run(
    named: str, title: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError) as refused:
        read(tmp_path, {"model_type": named})
    begin = f'`model_type` is "{named}" ({title}), which cannot be run: each of its steps computes the whole text anew'
    assert str(refused.value).startswith(f"{tmp_path / 'config.json'}: {begin}; expected one of SDAR (sdar), ")
    assert all(f"{family.title} ({name})" in str(refused.value) for name, family in FAMILIES.items())


def test_a_broken_config_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "sdar", ')
    with pytest.raises(ModelError, match=r"config\.json: expected JSON, and it cannot be read: .*; fetch the file"):
        read_family(tmp_path)
    with pytest.raises(ModelError, match=r"expected a JSON object, found list"):
        read(tmp_path, [1])


def test_a_folder_without_config_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a folder with config\.json, \*\.safetensors and tokenizer\.json"):
        read_family(tmp_path)
