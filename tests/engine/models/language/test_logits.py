"""The decoder computes what the published code of each family computes, from the same checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

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
        found = ours.logits(ours(tokens, torch.arange(48).expand(2, -1)))
    assert (found - expected).abs().max() < 1e-4
    assert expected.abs().max() > 0.5
    assert (traits.visibility, traits.block, traits.shift) == ("causal", 1, True)
