"""The network of DiffusionGemma computes what `transformers` computes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from cinnabar.engine.models.language.diffusion_gemma import DiffusionGemma, GemmaTraits

TRAITS = GemmaTraits(
    vocabulary=96, width=32, heads=4, key_heads=2, full_key_heads=1, head_width=8, full_head_width=16, inner=40,
    experts=4, chosen=2, expert_inner=24, window=6, sliding=(True, False, True, False), softcap=5.0,
)  # fmt: skip


def both() -> tuple[DiffusionGemma, Any]:
    """Returns our network and that of `transformers` with the same random weights."""
    from transformers.models.diffusion_gemma import modeling_diffusion_gemma as published
    from transformers.models.diffusion_gemma.configuration_diffusion_gemma import (
        DiffusionGemmaConfig,
        DiffusionGemmaTextConfig,
    )

    torch.manual_seed(5)
    text = DiffusionGemmaTextConfig(
        vocab_size=96, hidden_size=32, intermediate_size=40, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, global_head_dim=16, num_global_key_value_heads=1, sliding_window=6,
        layer_types=["sliding_attention", "full_attention"] * 2, num_experts=4, top_k_experts=2,
        moe_intermediate_size=24, final_logit_softcapping=5.0, max_position_embeddings=64,
    )  # fmt: skip
    sight = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    sight |= {"num_key_value_heads": 2, "head_dim": 8}
    config = DiffusionGemmaConfig(
        text_config=text, vision_config={"model_type": "gemma4_vision", **sight}, canvas_length=8
    )
    theirs = published.DiffusionGemmaForBlockDiffusion(config).eval()
    with torch.no_grad():
        for name, weight in theirs.model.decoder.named_parameters():
            weight.normal_(1.0 if "norm" in name or "scale" in name else 0.0, 0.3)
        for number in range(4):
            theirs.model.encoder.language_model.layers[number].layer_scalar.fill_(0.8 + 0.1 * number)
            theirs.model.decoder.layers[number].layer_scalar.fill_(1.2 - 0.1 * number)
    ours = DiffusionGemma(TRAITS).eval()
    held = {name: value for name, value in theirs.model.decoder.state_dict().items() if "rotary" not in name}
    for number, layer in enumerate(theirs.model.encoder.language_model.layers):
        held[f"layers.{number}.encoder_scalar"] = layer.layer_scalar
    ours.load_state_dict(held)
    return ours, theirs


@pytest.mark.parametrize("conditioned", [False, True])
def test_logits_of_a_canvas_equal_those_of_transformers_in_one_pass_and_with_a_cache(conditioned: bool) -> None:
    ours, theirs = both()
    tokens = torch.randint(0, 96, (2, 28), generator=torch.Generator().manual_seed(1))
    last = torch.randn(2, 8, 96, generator=torch.Generator().manual_seed(2)) * 3 if conditioned else None
    with torch.no_grad():
        expected = theirs(
            input_ids=tokens[:, :20], decoder_input_ids=tokens[:, 20:], self_conditioning_logits=last
        ).logits
        whole, _ = ours(tokens, 0, 20, None, last)
        _, held = ours(tokens[:, :13], 0, 20)
        _, held = ours(tokens[:, 13:20], 13, 20, held)
        cached, _ = ours(tokens[:, 20:], 20, 20, held, last)
    assert (whole[:, 20:] - expected).abs().max() < 1e-4
    assert (cached - expected).abs().max() < 1e-4
    assert expected.abs().max() > 0.5
