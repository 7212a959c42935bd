"""Writes a decoder as a checkpoint in Hugging Face form, by the names of its family."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from cinnabar.engine.models.language.configuration import CONFIG, PRECISION
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.families import family_of
from cinnabar.engine.models.language.traits import ExpertTraits, LocalTraits, Traits
from cinnabar.engine.settings import Precision

#: The families that always have biases of queries, keys and values.
BIASED = ("qwen2", "Fast_dLLM_Qwen")


def save_decoder(folder: Path, decoder: Decoder, precision: Precision = "float32") -> None:
    """Writes config.json and model.safetensors of a decoder, by the names of its family; each file atomically.

    precision: the one that config.json states, for which the model is made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    traits = decoder.traits
    pieces: dict[str, dict[int, torch.Tensor]] = {}
    for name, tensor in decoder.state_dict().items():
        if traits.tied and name == "lm_head.weight":
            continue
        parts, kept = family_of(traits).parts(name, traits), tensor.detach().to("cpu")
        rows = [kept] if len(parts) == 1 else kept.view((len(kept) * kept.shape[1], *kept.shape[2:])).chunk(len(parts))
        for part, piece in zip(parts, rows, strict=True):
            pieces.setdefault(part.name, {})[part.begin] = piece
    state = {name: torch.cat([held[at] for at in sorted(held)]).contiguous() for name, held in pieces.items()}
    part_file = folder / "model.safetensors.part"
    save_file(state, part_file, metadata={"format": "pt"})
    part_file.replace(folder / "model.safetensors")
    part_file = folder / f"{CONFIG}.part"
    config = config_of(traits) | ({} if precision == "float32" else {PRECISION: precision})
    part_file.write_text(json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    part_file.replace(folder / CONFIG)


def config_of(traits: Traits) -> dict[str, Any]:
    """Returns the config.json from which `read_family` reads these traits."""
    if traits.local is not None:
        return gemma_config(traits, traits.local)
    shared = {"model_type": traits.family, "rms_norm_eps": traits.epsilon}
    shared |= {"rope_theta": traits.rope_theta, "vocab_size": traits.vocabulary}
    shared |= {} if traits.mask is None else {"mask_token_id": traits.mask}
    own: dict[str, Any] = {} if traits.family in BIASED else {"attention_bias": traits.qkv_bias}
    if traits.visibility == "token_causal":
        own |= {"block_size": traits.block, "next_position": traits.shift, "revises": traits.revises}
    if traits.visibility == "block_causal":
        key = "bd_size" if traits.family == "Fast_dLLM_Qwen" else "block_size"
        own |= {key: traits.block, "revises": traits.revises}
    if traits.experts is not None:
        own |= _expert_config(traits, traits.experts)
    return (
        shared
        | own
        | {
            "head_dim": traits.head_width,
            "hidden_act": "silu",
            "hidden_size": traits.width,
            "intermediate_size": traits.inner,
            "max_position_embeddings": traits.window,
            "num_attention_heads": traits.heads,
            "num_hidden_layers": traits.layers,
            "num_key_value_heads": traits.key_heads,
            "rope_scaling": dict(traits.rope) or None,
            "tie_word_embeddings": traits.tied,
        }
    )


def _expert_config(traits: Traits, experts: ExpertTraits) -> dict[str, Any]:
    """Returns the keys of a model with experts."""
    if experts.softmax:
        return {
            "norm_topk_prob": experts.normed,
            "num_experts": experts.count,
            "num_experts_per_tok": experts.chosen,
            "moe_intermediate_size": experts.inner,
        }
    return {
        "first_k_dense_replace": experts.dense,
        "moe_intermediate_size": experts.inner,
        "n_group": experts.groups,
        "num_experts": experts.count,
        "num_experts_per_tok": experts.chosen,
        "num_shared_experts": experts.shared // experts.inner,
        "partial_rotary_factor": (traits.rotary_width or traits.head_width) / traits.head_width,
        "routed_scaling_factor": experts.scale,
        "topk_group": experts.chosen_groups,
        "use_bias": traits.output_bias,
        "use_qk_norm": traits.qk_norm,
        "use_qkv_bias": traits.qkv_bias,
    }


def gemma_config(traits: Traits, local: LocalTraits) -> dict[str, Any]:
    """Returns the config.json from which `read_gemma` reads these traits."""
    assert traits.experts is not None
    text = {
        "final_logit_softcapping": traits.softcap,
        "global_head_dim": traits.head_width,
        "head_dim": local.head_width,
        "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size": traits.width,
        "intermediate_size": traits.inner,
        "layer_types": ["sliding_attention" if near else "full_attention" for near in local.sliding],
        "max_position_embeddings": traits.window,
        "model_type": f"{traits.family}_text",
        "moe_intermediate_size": traits.experts.inner,
        "num_attention_heads": traits.heads,
        "num_experts": traits.experts.count,
        "num_global_key_value_heads": traits.key_heads,
        "num_hidden_layers": traits.layers,
        "num_key_value_heads": local.key_heads,
        "rms_norm_eps": traits.epsilon,
        "rope_parameters": {
            "full_attention": {**traits.rope, "rope_theta": traits.rope_theta},
            "sliding_attention": {"rope_type": "default", "rope_theta": local.rope_theta},
        },
        "sliding_window": local.window,
        "top_k_experts": traits.experts.chosen,
        "vocab_size": traits.vocabulary,
    }
    return {
        "canvas_length": traits.block,
        "model_type": traits.family,
        "text_config": text,
        "tie_word_embeddings": True,
    }
