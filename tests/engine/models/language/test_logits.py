"""The decoder computes what the published code of each family computes, from the same checkpoint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.support.saved_decoder import save_decoder
from tests.support.tiny_checkpoint import TRAITS, tiny_decoder
from tests.support.whole_texts import whole

from cinnabar.engine.models.language.checkpoint import load_decoder
from cinnabar.engine.models.language.families import read_family

SIZES: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 56,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
    "rope_theta": 500.0,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 10_000.0}
#: Each case is there for the trait that its name gives.
CASES = {
    "qwen2-biases-grouped": ("Qwen2", {}),
    "qwen2-tied": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen2-no-groups": ("Qwen2", {"num_key_value_heads": 4}),
    "qwen3-norms-wide-heads": ("Qwen3", {"head_dim": 16}),
    "qwen3-tied-biases": ("Qwen3", {"head_dim": 8, "tie_word_embeddings": True, "attention_bias": True}),
    "qwen3-yarn": ("Qwen3", {"head_dim": 16, "rope_parameters": YARN}),
    "llama-one-key-head": ("Llama", {"num_key_value_heads": 1}),
    "llama-biases": ("Llama", {"attention_bias": True}),
    "llama-llama3-rope": ("Llama", {"rope_parameters": LLAMA3}),
    "llama-linear-rope": ("Llama", {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e4}}),
}


def written(folder: Path, kind: str, changed: dict[str, Any]) -> Any:
    """Writes a checkpoint of `transformers` with random weights; returns its model."""
    import transformers

    torch.manual_seed(3)
    config = getattr(transformers, f"{kind}Config")(**(SIZES | changed))
    model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(1.0 if "norm" in name else 0.0, 0.3)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("case", CASES)
def test_logits_equal_those_of_transformers(case: str, tmp_path: Path) -> None:
    kind, changed = CASES[case]
    theirs = written(tmp_path, kind, changed)
    _, traits = read_family(tmp_path)
    ours = load_decoder(tmp_path, traits, torch.device("cpu"), "float32")
    tokens = torch.randint(0, 96, (2, 48), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = theirs(tokens).logits
        found = ours.logits(whole(ours, tokens, torch.arange(48).expand(2, -1)))
    assert (found - expected).abs().max() < 1e-4
    assert expected.abs().max() > 0.5
    assert (traits.visibility, traits.block, traits.shift) == ("causal", 1, True)


_SDAR = replace(TRAITS, mask=303)
#: By case: the traits of a checkpoint of `tiny_decoder`, and the logits that the published code of the family computes
#: from it, at [0, 22, :6] and [1, 36, 100:103]. training/log.md names the code and says how they were made.
PUBLISHED = {
    "sdar-blocks-of-4": (
        replace(_SDAR, rope_theta=1e6),
        [1.8342, 0.4855, -0.2252, 1.0589, -0.1032, 0.7806, -0.5022, 0.513, -1.5288],
    ),
    "sdar-blocks-of-16-tied-one-key-head": (
        replace(_SDAR, block=16, tied=True, key_heads=1, head_width=16, layers=3),
        [-1.4655, -0.2254, -0.1858, 3.7265, -0.7725, 2.328, -0.0232, -2.6515, -0.1143],
    ),
    "sdar-biases": (
        replace(_SDAR, block=8, qkv_bias=True, output_bias=True),
        [-1.4522, -0.0523, -0.2204, -1.736, 0.4316, 0.4595, -1.4953, 0.1401, -3.1125],
    ),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_logits_equal_those_of_the_published_code(case: str, tmp_path: Path) -> None:
    traits, expected = PUBLISHED[case]
    save_decoder(tmp_path, tiny_decoder(traits))
    _, read = read_family(tmp_path)
    ours = load_decoder(tmp_path, read, torch.device("cpu"), "float32")
    tokens = torch.from_numpy(np.random.RandomState(7).randint(0, 352, (2, 37)))
    tokens[:, 20:29:2] = 303
    logits = ours.logits(whole(ours, tokens, torch.arange(37).expand(2, -1)))
    found = torch.cat([logits[0, 22, :6], logits[1, 36, 100:103]])
    assert (found - torch.tensor(expected)).abs().max() < 1.5e-4
