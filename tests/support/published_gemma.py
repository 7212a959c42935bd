"""Small checkpoints of DiffusionGemma with random weights as `transformers` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

CANVAS, WINDOW, VOCABULARY = 8, 6, 352


def published(folder: Path) -> Any:
    """Writes such a checkpoint, an image tower included, and returns the model of `transformers`."""
    from transformers.models.diffusion_gemma.configuration_diffusion_gemma import (
        DiffusionGemmaConfig,
        DiffusionGemmaTextConfig,
    )
    from transformers.models.diffusion_gemma.modeling_diffusion_gemma import DiffusionGemmaForBlockDiffusion

    torch.manual_seed(5)
    text = DiffusionGemmaTextConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=40, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, global_head_dim=16, num_global_key_value_heads=1, sliding_window=WINDOW,
        layer_types=["sliding_attention", "full_attention"] * 2, num_experts=4, top_k_experts=2,
        moe_intermediate_size=24, final_logit_softcapping=5.0, max_position_embeddings=512,
    )  # fmt: skip
    sight = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    sight |= {"num_key_value_heads": 2, "head_dim": 8}
    config = DiffusionGemmaConfig(
        text_config=text, vision_config={"model_type": "gemma4_vision", **sight}, canvas_length=CANVAS
    )
    made = DiffusionGemmaForBlockDiffusion(config).eval().requires_grad_(False)
    for name, weight in made.model.decoder.named_parameters():
        weight.normal_(1.0 if "norm" in name or "scale" in name else 0.0, 0.3)
    for number, layer in enumerate(made.model.encoder.language_model.layers):
        layer.layer_scalar.fill_(0.8 + 0.1 * number)
        made.model.decoder.layers[number].layer_scalar.fill_(1.2 - 0.1 * number)
    made.save_pretrained(folder)
    return made
