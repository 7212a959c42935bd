"""Traits of DiffusionGemma, whose layers are of two kinds: from config.json, and back; needs no torch."""

from __future__ import annotations

import json
from typing import Any

from cinnabar.engine.models.language.configuration import ConfigSettings
from cinnabar.engine.models.language.traits import ExpertTraits, LocalTraits, Traits
from cinnabar.schemas.errors import ModelError

#: DiffusionGemma denoises canvases of this length.
CANVAS = 256
#: The settings that the network computes: key, allowed values, and the value of a missing key.
_DEMANDED: tuple[tuple[str, tuple[Any, ...], Any], ...] = (
    ("hidden_activation", ("gelu_pytorch_tanh",), "gelu_pytorch_tanh"),
    ("attention_bias", (False,), False),
    # Images may be seen from both sides; documents come as text.
    ("use_bidirectional_attention", ("vision", None), None),
    ("tie_word_embeddings", (True,), True),
    ("attention_k_eq_v", (True,), True),
    ("enable_moe_block", (True,), True),
    ("use_double_wide_mlp", (False, None), None),
    ("hidden_size_per_layer_input", (0, None), None),
    ("num_kv_shared_layers", (0, None), None),
)


def read_gemma(settings: ConfigSettings) -> Traits:
    """Returns the traits of DiffusionGemma. Raises ModelError for settings that its network does not compute."""
    settings.demand("tie_word_embeddings", True, default=True)
    text = ConfigSettings(settings.table("text_config"), settings.path)
    for key, allowed, default in _DEMANDED:
        text.demand(key, *allowed, default=default)
    layers, key_heads = text.whole("num_hidden_layers"), text.whole("num_key_value_heads")
    sliding = _window_layers(text, layers)
    width, wide_heads = _full_layers(text, sliding, key_heads)
    rope = text.table("rope_parameters")
    near = ConfigSettings(rope.get("sliding_attention") or {}, settings.path)
    far = ConfigSettings(rope.get("full_attention") or {}, settings.path)
    near.demand("rope_type", "default", default="default")
    far.demand("rope_type", "proportional", default="proportional")
    share = far.number("partial_rotary_factor", default=0.25)
    if share > 1:
        raise ModelError(f"{settings.path}: expected `partial_rotary_factor` up to 1, found {share}")
    return Traits(
        family="diffusion_gemma",
        vocabulary=text.whole("vocab_size"),
        width=text.whole("hidden_size"),
        layers=layers,
        heads=text.whole("num_attention_heads"),
        key_heads=wide_heads,
        head_width=width,
        inner=text.whole("intermediate_size"),
        epsilon=text.number("rms_norm_eps", default=1e-6),
        window=text.whole("max_position_embeddings"),
        visibility="token_causal",
        block=settings.whole("canvas_length", default=CANVAS),
        mask=None,
        qk_norm=True,
        tied=True,
        revises=True,
        rope_theta=far.number("rope_theta", default=1_000_000.0),
        rope={"rope_type": "proportional", "partial_rotary_factor": share},
        experts=ExpertTraits(
            count=text.whole("num_experts"),
            chosen=text.whole("top_k_experts"),
            inner=text.whole("moe_intermediate_size"),
        ),
        noise="uniform",
        local=LocalTraits(
            sliding=sliding,
            window=text.whole("sliding_window"),
            key_heads=key_heads,
            head_width=text.whole("head_dim"),
            rope_theta=near.number("rope_theta", default=10_000.0),
        ),
        softcap=text.number("final_logit_softcapping", default=30.0),
    )


def _window_layers(text: ConfigSettings, layers: int) -> tuple[bool, ...]:
    """Returns whether each layer has a window: without `layer_types` all but every sixth one and the last."""
    kinds = text.values.get("layer_types")
    if kinds is None:
        kinds = ["full_attention" if at % 6 == 0 else "sliding_attention" for at in range(1, layers + 1)]
    known = ("sliding_attention", "full_attention")
    if not isinstance(kinds, list) or len(kinds) != layers or any(kind not in known for kind in kinds):
        raise ModelError(
            f"{text.path}: expected `layer_types` to name {layers} layers, each {' or '.join(known)}, found"
            f" {json.dumps(kinds)[:80]}"
        )
    # The last layer has no window, whatever the key says.
    return (*(kind == "sliding_attention" for kind in kinds[:-1]), False)


def _full_layers(text: ConfigSettings, sliding: tuple[bool, ...], key_heads: int) -> tuple[int, int]:
    """Returns width and number of the key heads of layers without a window, which two forms of config.json tell."""
    if text.values.get("per_layer_config") is None:
        return text.whole("global_head_dim", default=512), text.whole("num_global_key_value_heads", default=key_heads)
    by_layer = text.table("per_layer_config")
    if not by_layer:
        # Of no layer anything else is said.
        return text.whole("head_dim"), key_heads
    # `transformers` pads the numbers of layers, from ten layers on.
    by_layer = {str(int(at)) if at.isdecimal() else at: own for at, own in by_layer.items()}
    full = [by_layer.get(str(layer)) for layer, near in enumerate(sliding) if not near]
    if len(by_layer) != len(full) or not isinstance(full[0], dict) or any(one != full[0] for one in full):
        raise ModelError(
            f"{text.path}: expected `per_layer_config` to say the same of all layers without a window and nothing of"
            f" others, found {json.dumps(by_layer)[:80]}"
        )
    one = ConfigSettings(full[0], text.path)
    return one.whole("head_dim"), one.whole("num_key_value_heads", default=key_heads)


def gemma_config(traits: Traits, local: LocalTraits, architecture: str) -> dict[str, Any]:
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
        "architectures": [architecture],
        "canvas_length": traits.block,
        "model_type": traits.family,
        "text_config": text,
        "tie_word_embeddings": True,
    }
