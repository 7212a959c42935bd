"""Families without a class in `transformers`: our decoder computes what plain implementations of them do."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.support.family_traits import EXPERTS, FAST_DLLM, LLADA2, SDAR_MOE
from tests.support.plain_decoders import PLAIN
from tests.support.saved_decoder import save_decoder
from tests.support.tiny_checkpoint import tiny_decoder
from tests.support.whole_texts import whole

from cinnabar.engine.models.language.checkpoint import load_decoder
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.traits import Traits

#: Each case is there for the trait that its name gives.
CASES: dict[str, Traits] = {
    "llada2": LLADA2,
    "llada2-one-group-no-shared-expert": replace(
        LLADA2, experts=replace(EXPERTS, groups=1, chosen_groups=1, shared=0, chosen=1)
    ),
    "llada2-biases-tied-whole-rotary-blocks-of-32": replace(
        LLADA2, qkv_bias=True, output_bias=True, tied=True, rotary_width=8, block=32
    ),
    "llada2-wide-shared-expert-all-groups": replace(
        LLADA2, qk_norm=False, experts=replace(EXPERTS, chosen_groups=4, shared=48, dense=0, scale=1.0)
    ),
    "fast-dllm": FAST_DLLM,
    "fast-dllm-blocks-of-32-tied": replace(FAST_DLLM, block=32, tied=True),
}
#: As deep as releases are, with sizes that no power of two divides.
CASES |= {
    f"{name}-twelve-layers-odd-sizes": replace(
        CASES[name], layers=12, width=36, heads=6, key_heads=3, head_width=10, inner=52
    )
    for name in ("llada2", "fast-dllm")
}


@pytest.mark.parametrize("case", CASES)
def test_logits_equal_those_of_a_plain_implementation(case: str, tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder(CASES[case]))
    _, traits = read_family(tmp_path)
    assert traits == CASES[case]
    ours = load_decoder(tmp_path, traits, torch.device("cpu"), "float32")
    tokens = np.random.RandomState(7).randint(0, 352, 41)
    tokens[24:35:2] = traits.mask
    hidden = whole(ours, torch.from_numpy(tokens)[None], torch.arange(41)[None])
    found = ours.logits(hidden)[0].numpy()
    expected = PLAIN[traits.family](tmp_path, tokens)
    assert np.abs(found - expected).max() < 1e-4
    assert np.abs(expected).max() > 0.5


@pytest.mark.parametrize(
    ("kind", "traits"),
    [
        ("Qwen2", FAST_DLLM),
        ("Qwen3Moe", replace(SDAR_MOE, layers=3)),
    ],
    ids=["fast-dllm", "sdar-moe"],
)
def test_the_body_computes_what_that_of_transformers_does_with_its_mask(
    kind: str, traits: Traits, tmp_path: Path
) -> None:
    import transformers

    save_decoder(tmp_path, tiny_decoder(traits))
    ours = load_decoder(tmp_path, traits, torch.device("cpu"), "float32")
    config = json.loads((tmp_path / "config.json").read_text())
    rope = {"rope_theta": config.pop("rope_theta"), "rope_type": "default", **(config.pop("rope_scaling") or {})}
    made = getattr(transformers, f"{kind}Config")(**config, rope_parameters=rope)
    theirs = getattr(transformers, f"{kind}ForCausalLM")(made).eval()
    state = ours.state_dict()
    theirs.load_state_dict({re.sub(r"(\.experts\..*)\.weight", r"\1", name): one for name, one in state.items()})
    tokens, at = torch.arange(100, 141)[None], torch.arange(41)
    blocks = at // traits.block
    with torch.no_grad():
        expected = theirs(tokens, attention_mask=(blocks[None, :] <= blocks[:, None])[None, None]).logits
    assert (ours.logits(whole(ours, tokens, at[None])) - expected).abs().max() < 1e-4


@pytest.mark.parametrize("apart", [True, False], ids=["gates-apart", "gates-and-inner-values-as-one"])
@pytest.mark.parametrize("traits", [LLADA2, SDAR_MOE], ids=["llada2", "sdar-moe"])
def test_experts_that_are_stored_as_one_tensor_are_those_that_are_stored_each(
    traits: Traits, apart: bool, tmp_path: Path
) -> None:
    save_decoder(tmp_path, tiny_decoder(traits))
    one_by_one = load_decoder(tmp_path, traits, torch.device("cpu"), "float32").state_dict()
    state = load_file(tmp_path / "model.safetensors")
    own = {name: state.pop(name) for name in [*state] if re.search(r"\.experts\.\d", name)}
    for stem in {name.split(".experts.")[0] for name in own}:
        whole = {
            kind: torch.stack([own[f"{stem}.experts.{at}.{kind}.weight"] for at in range(traits.experts.count)])  # type: ignore[union-attr]
            for kind in ("gate_proj", "up_proj", "down_proj")
        }
        if not apart:
            whole["gate_up_proj"] = torch.cat([whole.pop("gate_proj"), whole.pop("up_proj")], 1)
        state |= {f"{stem}.experts.{kind}": one for kind, one in whole.items()}
    save_file(state, tmp_path / "model.safetensors", metadata={"format": "pt"})
    merged = load_decoder(tmp_path, traits, torch.device("cpu"), "float32").state_dict()
    assert merged.keys() == one_by_one.keys()
    assert all(torch.equal(merged[name], one_by_one[name]) for name in merged)
