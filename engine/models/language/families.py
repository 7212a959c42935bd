"""The families of language models: their traits from config.json, and the names of their tensors; needs no torch.

A family's checkpoints differ from another's in the keys of config.json, in the names of the tensors, and in traits. One
entry of `FAMILIES` says all of it, and `traits.py` says what the decoder makes of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cinnabar.engine.models.language import tensor_places
from cinnabar.engine.models.language.configuration import CONFIG, GENERATION, ConfigSettings, read_settings
from cinnabar.engine.models.language.gguf_folder import checkpoint_folder
from cinnabar.engine.models.language.tensor_places import Parts
from cinnabar.engine.models.language.traits import (
    ExpertTraits,
    LocalTraits,
    Traits,
    read_fast_dllm,
    read_llada2,
    read_llama,
    read_qwen2,
    read_qwen3,
    read_sdar,
    read_sdar_moe,
)
from cinnabar.errors import CinnabarError, ModelError

#: Families with full attention, by their `model_type`: they are slow by nature and refused.
_FULL = {"llada": "LLaDA or LLaDA-MoE", "llada_moe": "LLaDA-MoE", "Dream": "Dream or DiffuCoder"}


@dataclass(frozen=True)
class Family:
    """A family of checkpoints.

    title: its name in messages. read: config.json to traits. parts: the
    places of a tensor in the checkpoint. template: variables that the chat template gets. sought: the name under which
    a stored tensor is sought, None for one that is not used.
    """

    title: str
    read: Callable[[ConfigSettings], Traits]
    parts: Parts = tensor_places.same
    template: Mapping[str, Any] = field(default_factory=dict)
    sought: Callable[[str], str | None] = lambda name: name


def read_family(folder: str | Path) -> tuple[Family, Traits]:
    """Returns the family and the traits that a checkpoint's config.json tells.

    Raises ModelError for a family, or a part of one, that the decoder does not compute. The mask token may still be
    missing from the traits of a family that needs one: then the tokenizer tells it.
    """
    settings = read_settings(checkpoint_folder(folder) / CONFIG)
    named = settings.text("model_type")
    family = FAMILIES.get(named or "")
    if family is None:
        known = ", ".join(f"{one.title} ({name})" for name, one in FAMILIES.items())
        what = ", a family that this version cannot run"
        if named in _FULL:
            what = f" ({_FULL[named]}), which cannot be run: each of its steps computes the whole text anew"
        raise ModelError(f"{settings.path}: `model_type` is {json.dumps(named)}{what}; expected one of {known}")
    if settings.values.get("quantization_config") is not None:
        raise ModelError(f"{settings.path}: quantised weights cannot be run; take the release in bfloat16 or float16")
    as_run = _as_run(settings.path.parent)
    settings = ConfigSettings({**as_run.values, **settings.values}, settings.path)
    traits = family.read(settings)
    if traits.noise == "mask" and 0 < (threshold := as_run.number("threshold", default=0.0)) < 1:
        traits = replace(traits, threshold=threshold)
    kinds: tuple[Traits | LocalTraits, ...] = (traits,) if traits.local is None else (traits, traits.local)
    for layers in kinds:
        if traits.heads % layers.key_heads:
            raise ModelError(
                f"{settings.path}: expected heads that {layers.key_heads} key heads divide, found {traits.heads}"
            )
        if layers.head_width % 2:
            raise ModelError(f"{settings.path}: expected heads of an even width, found {layers.head_width}")
    experts = traits.experts
    if experts is not None and experts.chosen > experts.count:
        raise ModelError(
            f"{settings.path}: expected at most {experts.count} experts of a token, found {experts.chosen}"
        )
    if traits.block > traits.window:
        raise ModelError(
            f"{settings.path}: expected a block of at most the window of {traits.window} tokens, found {traits.block}"
        )
    if traits.mask is not None and traits.mask >= traits.vocabulary:
        raise ModelError(
            f"{settings.path}: `mask_token_id` is {traits.mask}, beyond the vocabulary of {traits.vocabulary} tokens"
        )
    return family, traits


def _as_run(folder: Path) -> ConfigSettings:
    """Returns what is taken of a release's generation_config.json."""
    settings = read_settings(folder / GENERATION)
    taken = ("block_length", "mask_token_id", "threshold")
    values = {key: settings.values[key] for key in taken if settings.values.get(key) is not None}
    return ConfigSettings(values, settings.path)


def fingerprint_extras(folder: Path) -> str:
    """Returns, for a fingerprint, what other files and the name of a release say of it; empty if they say nothing.

    It says nothing of a folder that cannot be run.
    """
    config = read_settings(folder / CONFIG)
    said: dict[str, Any] = {**_as_run(folder).values}
    by_name = {"sdar": "block_size", "sdar_moe": "block_size", "llada2_moe": "revises", "llada2_moe_veomni": "revises"}
    if config.values.get(by_name.get(str(config.values.get("model_type")), "model_type")) is None:
        with suppress(CinnabarError):
            traits = read_family(folder)[1]
            said |= {"block": traits.block, "revises": traits.revises}
    return json.dumps(said, sort_keys=True) if said else ""


def family_of(traits: Traits) -> Family:
    """Returns the family of these traits."""
    return FAMILIES[traits.family]


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


#: The families by their `model_type`. Qwen3 would otherwise begin its answer with its thoughts.
FAMILIES: Mapping[str, Family] = {
    "sdar": Family("SDAR", read_sdar),
    "llada2_moe": Family("LLaDA 2", read_llada2, tensor_places.llada2),
    "llada2_moe_veomni": Family("LLaDA 2 (merged experts)", read_llada2, tensor_places.llada2),
    "sdar_moe": Family("SDAR-MoE", read_sdar_moe, tensor_places.each_expert),
    "Fast_dLLM_Qwen": Family("Fast-dLLM v2", read_fast_dllm),
    "diffusion_gemma": Family(
        "DiffusionGemma",
        read_gemma,
        tensor_places.diffusion_gemma,
        sought=tensor_places.stored_in_gemma,
    ),
    "qwen2": Family("Qwen2", read_qwen2),
    "qwen3": Family("Qwen3", read_qwen3, template={"enable_thinking": False}),
    "llama": Family("Llama", read_llama),
}
