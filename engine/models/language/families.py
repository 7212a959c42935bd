"""The families of language models: their traits from config.json, and the names of their tensors; needs no torch.

A family's checkpoints differ from another's in the keys of config.json, in the names of the tensors, and in traits. One
entry of `FAMILIES` says all of it, and `traits.py` says what the decoder makes of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cinnabar.engine.models.language import tensor_names
from cinnabar.engine.models.language.configuration import CONFIG, Settings, checkpoint_folder, read_settings
from cinnabar.engine.models.language.tensor_names import Parts
from cinnabar.engine.models.language.traits import ExpertTraits, LocalTraits, Traits
from cinnabar.schemas.errors import ModelError

#: The kinds of rotary scaling that `rotary.py` computes, by the numbers that each needs. The angles of `dynamic` depend
#: on the length of the whole text as soon as it is longer than the first window, and those of tokens that were read
#: before would have to change with it, so that window stays the model's.
ROPES: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "yarn": ("factor",),
}
_ORIGINAL = "original_max_position_embeddings"
#: Keys beside the numbers of a scaling.
_BESIDE_SCALING = ("type", "rope_type", "rope_theta", "partial_rotary_factor")
#: The mask tokens of releases whose config.json names none.
LLADA2_MASK, DREAM_MASK, FAST_MASK, NEMOTRON_MASK = 156_895, 151_666, 151_665, 100
#: The length of a block of SDAR's first releases, in whose config.json it is missing.
SDAR_BLOCK = 4
#: LLaDA and Dream denoise their whole answer; released samplers go through it in parts of this length. LLaDA 2,
#: Fast-dLLM v2 and Nemotron-Labs-Diffusion were trained with it.
BLOCK = 32
#: DiffusionGemma denoises canvases of this length.
CANVAS = 256
#: The families that always have biases of queries, keys and values.
_BIASED = ("qwen2", "Dream", "Fast_dLLM_Qwen")


@dataclass(frozen=True)
class Family:
    """A family of checkpoints.

    title: its name in messages. architecture: the class that config.json names. read: config.json to traits. parts: the
    places of a tensor in the checkpoint. template: variables that the chat template gets. sought: the name under which
    a stored tensor is sought, None for one that is not used.
    """

    title: str
    architecture: str
    read: Callable[[Settings], Traits]
    parts: Parts = tensor_names.same
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
        raise ModelError(
            f"{settings.path}: `model_type` is {json.dumps(named)}, a family that this version cannot run; expected one"
            f" of {known}"
        )
    if settings.values.get("quantization_config") is not None:
        raise ModelError(f"{settings.path}: quantised weights cannot be run; take the release in bfloat16 or float16")
    traits = replace(family.read(settings), thinks=settings.flag("thinks", default=True))
    if traits.heads % traits.key_heads:
        raise ModelError(
            f"{settings.path}: expected heads that {traits.key_heads} key heads divide, found {traits.heads}"
        )
    local = traits.local
    if local is not None and traits.heads % local.key_heads:
        raise ModelError(
            f"{settings.path}: expected heads that {local.key_heads} key heads divide, found {traits.heads}"
        )
    if traits.head_width % 2 or (local is not None and local.head_width % 2):
        raise ModelError(f"{settings.path}: expected heads of an even width, found {traits.head_width}")
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


def family_of(traits: Traits) -> Family:
    """Returns the family of these traits."""
    return FAMILIES[traits.family]


def config_of(traits: Traits) -> dict[str, Any]:
    """Returns the config.json from which `read_family` reads these traits."""
    family = FAMILIES[traits.family]
    if traits.local is not None:
        own_keys = {} if traits.thinks else {"thinks": False}
        return _gemma_config(traits, traits.local, family.architecture) | own_keys
    shared = {"architectures": [family.architecture], "model_type": traits.family, "rms_norm_eps": traits.epsilon}
    shared |= {"rope_theta": traits.rope_theta, "vocab_size": traits.vocabulary}
    shared |= {} if traits.mask is None else {"mask_token_id": traits.mask}
    shared |= {} if traits.thinks else {"thinks": False}
    if traits.family == "llada":
        return shared | {
            "activation_type": "silu",
            "block_type": "llama",
            "block_length": traits.block,
            "d_model": traits.width,
            "embedding_size": traits.vocabulary,
            "include_bias": False,
            "include_qkv_bias": traits.qkv_bias,
            "layer_norm_type": "rms",
            "max_sequence_length": traits.window,
            "mlp_hidden_size": traits.inner,
            "n_heads": traits.heads,
            "n_kv_heads": traits.key_heads,
            "n_layers": traits.layers,
            "rope": True,
            "weight_tying": traits.tied,
        }
    own: dict[str, Any] = {} if traits.family in _BIASED else {"attention_bias": traits.qkv_bias}
    if traits.visibility == "token_causal":
        own |= {"block_size": traits.block}
    if traits.visibility == "block_causal":
        key = "bd_size" if traits.family == "Fast_dLLM_Qwen" else "block_size"
        own |= {key: traits.block, "revises": traits.revises}
    if traits.experts is not None:
        experts = traits.experts
        own |= {
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


def _body(settings: Settings, family: str) -> Traits:
    """Returns the traits that most families tell by the same keys: those of an autoregressive model."""
    settings.demand("hidden_act", "silu", default="silu")
    settings.demand("mlp_bias", False, default=False)
    width, heads = settings.whole("hidden_size"), settings.whole("num_attention_heads")
    layers = settings.whole("num_hidden_layers")
    kinds = settings.values.get("layer_types") or []
    if not isinstance(kinds, list):
        raise ModelError(f"{settings.path}: expected `layer_types` to be a list, found {json.dumps(kinds)[:80]}")
    sliding = settings.flag("use_sliding_window") and settings.whole("max_window_layers", default=layers) < layers
    if sliding or any(kind != "full_attention" for kind in kinds):
        raise ModelError(f"{settings.path}: layers with sliding-window attention cannot be run in this version")
    said = _rope_settings(settings)
    theta = said.number("rope_theta", default=settings.number("rope_theta", default=10_000.0))
    rope = _rope(said, settings)
    return Traits(
        family=family,
        vocabulary=settings.whole("vocab_size"),
        width=width,
        layers=layers,
        heads=heads,
        key_heads=settings.whole("num_key_value_heads", default=heads),
        head_width=settings.whole("head_dim", default=width // heads),
        inner=settings.whole("intermediate_size"),
        epsilon=settings.number("rms_norm_eps", default=1e-6),
        window=_window(rope, said, settings),
        visibility="causal",
        block=1,
        mask=None,
        noise="none",
        shift=True,
        tied=settings.flag("tie_word_embeddings"),
        rope_theta=theta,
        rope=rope,
    )


def _rope_settings(settings: Settings) -> Settings:
    """Returns what config.json says of rotary positions: `rope_scaling`, or the newer `rope_parameters`.

    The latter may be an object for each kind of layer, of which these families have one.
    """
    said = settings.table("rope_parameters") or settings.table("rope_scaling")
    if isinstance(said.get("full_attention"), dict):
        said = said["full_attention"]
    return Settings(said, settings.path)


def _rope(said: Settings, settings: Settings) -> dict[str, Any]:
    """Returns the scaling of the rotary embedding with `rope_type` and its numbers; an empty one if there is none."""
    values = said.values
    kind = values.get("rope_type", values.get("type", "default"))
    if not isinstance(kind, str) or kind not in ROPES:
        raise ModelError(
            f"{settings.path}: rotary scaling {json.dumps(kind)} cannot be run in this version; expected one of"
            f" {', '.join(ROPES)}"
        )
    if kind == "default":
        return {}
    trained = settings.whole("max_position_embeddings")
    numbers = {key: value for key, value in values.items() if key not in _BESIDE_SCALING}
    original = settings.values.get(_ORIGINAL)
    if original is not None or values.get(_ORIGINAL) is not None or kind in ("llama3", "yarn"):
        numbers[_ORIGINAL] = settings.whole(_ORIGINAL, default=said.whole(_ORIGINAL, default=trained))
    if kind == "yarn" and values.get("factor") is None and numbers[_ORIGINAL] < trained:
        numbers["factor"] = trained / numbers[_ORIGINAL]
    missing = [key for key in ROPES[kind] if numbers.get(key) is None]
    if missing:
        raise ModelError(f"{settings.path}: expected `{missing[0]}` in `rope_scaling`; the key is missing")
    own = Settings(numbers, settings.path)
    for key in ROPES[kind]:
        own.number(key, default=1.0)
    return {"rope_type": kind, **numbers}


def _window(rope: Mapping[str, Any], said: Settings, settings: Settings) -> int:
    """Returns the most positions: `max_position_embeddings`, or more where the scaling says so.

    Models are scaled in two ways: their makers write the scaled window, and users of Qwen's and SDAR's releases add
    `rope_scaling` with the first window and a factor, as the cards tell them, and leave the rest as it is.
    """
    told = settings.whole("max_position_embeddings")
    if rope.get("rope_type") in ("linear", "yarn") and said.values.get(_ORIGINAL) is not None:
        return max(told, int(rope[_ORIGINAL] * rope["factor"]))
    return told


def _demand_whole_heads(settings: Settings) -> None:
    for one in (settings, _rope_settings(settings)):
        one.demand("partial_rotary_factor", None, 1, default=None)


def _qwen2(settings: Settings) -> Traits:
    _demand_whole_heads(settings)
    return replace(_body(settings, "qwen2"), qkv_bias=True)


def _with_attention_bias(settings: Settings, family: str) -> Traits:
    _demand_whole_heads(settings)
    bias = settings.flag("attention_bias")
    return replace(_body(settings, family), qkv_bias=bias, output_bias=bias)


def _qwen3(settings: Settings) -> Traits:
    return replace(_with_attention_bias(settings, "qwen3"), qk_norm=True)


def _llama(settings: Settings) -> Traits:
    return _with_attention_bias(settings, "llama")


def _sdar(settings: Settings) -> Traits:
    return replace(
        _with_attention_bias(settings, "sdar"),
        qk_norm=True,
        visibility="block_causal",
        noise="mask",
        block=settings.whole("block_size", "block_length", default=SDAR_BLOCK),
        mask=settings.token("mask_token_id"),
        shift=False,
        revises=settings.flag("revises"),
    )


def _llada(settings: Settings) -> Traits:
    for key, allowed, default in (
        ("block_type", ("llama",), "llama"),
        ("activation_type", ("silu",), "silu"),
        ("layer_norm_type", ("rms",), "rms"),
        ("layer_norm_with_affine", (True,), True),
        ("bias_for_layer_norm", (False, None), None),
        ("attention_layer_norm", (False,), False),
        ("include_bias", (False,), False),
        ("input_emb_norm", (False,), False),
        ("scale_logits", (False,), False),
        ("alibi", (False,), False),
        ("rope", (True,), True),
        ("rope_scaling", (None,), None),
        ("block_group_size", (1,), 1),
    ):
        settings.demand(key, *allowed, default=default)
    width, heads = settings.whole("d_model"), settings.whole("n_heads")
    return Traits(
        family="llada",
        vocabulary=settings.whole("embedding_size", "vocab_size"),
        width=width,
        layers=settings.whole("n_layers"),
        heads=heads,
        key_heads=settings.whole("n_kv_heads", default=heads),
        head_width=width // heads,
        inner=settings.whole("mlp_hidden_size", default=settings.whole("mlp_ratio", default=4) * width),
        epsilon=settings.number("rms_norm_eps", default=1e-5),
        window=settings.whole("max_sequence_length"),
        visibility="full",
        block=settings.whole("block_length", default=BLOCK),
        mask=settings.token("mask_token_id"),
        qkv_bias=settings.flag("include_qkv_bias"),
        tied=settings.flag("weight_tying"),
        rope_theta=settings.number("rope_theta", default=10_000.0),
    )


def _llada2(settings: Settings) -> Traits:
    settings.demand("score_function", "sigmoid", default="sigmoid")
    settings.demand("norm_topk_prob", True, default=True)
    settings.demand("moe_router_enable_expert_bias", True, default=True)
    settings.demand("norm_head", False, default=False)
    body = _body(settings, "llada2_moe")
    share = settings.number("partial_rotary_factor", default=0.5)
    rotary = int(body.head_width * _rope_settings(settings).number("partial_rotary_factor", default=share))
    if rotary < 2 or rotary % 2 or rotary > body.head_width:
        raise ModelError(
            f"{settings.path}: expected `partial_rotary_factor` to give an even part of a head of {body.head_width}"
            f" numbers, found {rotary}"
        )
    return replace(
        body,
        visibility="block_causal",
        noise="mask",
        block=settings.whole("block_size", "block_length", default=BLOCK),
        mask=_mask(settings, body, LLADA2_MASK),
        shift=False,
        qk_norm=settings.flag("use_qk_norm", True),
        qkv_bias=settings.flag("use_qkv_bias"),
        output_bias=settings.flag("use_bias"),
        revises=settings.flag("revises"),
        rotary_width=rotary,
        experts=_experts(settings),
    )


def _mask(settings: Settings, body: Traits, usual: int) -> int | None:
    """Returns the mask token: the one that is named, else the usual one if the vocabulary is so large."""
    named = settings.token("mask_token_id")
    return usual if named is None and usual < body.vocabulary else named


def _dream(settings: Settings) -> Traits:
    settings.demand("use_mrope", False, default=False)
    # Of the same `model_type`, but trained in blocks and without the shift.
    settings.demand("block_size", None, default=None)
    body = _qwen2(settings)
    mask = _mask(settings, body, DREAM_MASK)
    return replace(body, family="Dream", visibility="full", noise="mask", block=BLOCK, mask=mask)


def _fast_dllm(settings: Settings) -> Traits:
    body = _qwen2(settings)
    return replace(
        body,
        family="Fast_dLLM_Qwen",
        visibility="block_causal",
        noise="mask",
        block=settings.whole("bd_size", "block_size", default=BLOCK),
        mask=_mask(settings, body, FAST_MASK),
        revises=settings.flag("revises"),
    )


def _nemotron(settings: Settings) -> Traits:
    # `autoregressive` is the same network without training in denoising.
    settings.demand("dlm_paradigm", "bidirectional", "block_diff", default="bidirectional")
    settings.demand("sliding_window", None, default=None)
    body = _with_attention_bias(settings, "nemotron_labs_diffusion")
    return replace(
        body,
        visibility="token_causal",
        noise="mask",
        block=settings.whole("block_size", default=BLOCK),
        mask=_mask(settings, body, NEMOTRON_MASK),
        shift=False,
    )


def _experts(settings: Settings) -> ExpertTraits:
    """Returns the traits of LLaDA 2's experts. Raises ModelError if there are fewer than a token needs."""
    inner, shared = settings.whole("moe_intermediate_size"), settings.values.get("num_shared_experts")
    traits = ExpertTraits(
        count=settings.whole("num_experts"),
        chosen=settings.whole("num_experts_per_tok"),
        inner=inner,
        shared=inner * settings.whole("num_shared_experts") if shared else 0,
        groups=settings.whole("n_group", default=1),
        chosen_groups=settings.whole("topk_group", default=1),
        scale=settings.number("routed_scaling_factor", default=1.0),
        dense=settings.token("first_k_dense_replace") or 0,
    )
    each, rest = divmod(traits.count, traits.groups)
    if rest or (traits.groups > 1 and each < 2) or not traits.chosen <= each * min(traits.chosen_groups, traits.groups):
        raise ModelError(
            f"{settings.path}: expected {traits.chosen} of {traits.count} experts in {traits.chosen_groups} of"
            f" {traits.groups} groups of two or more; there are not so many"
        )
    return traits


def _gemma(settings: Settings) -> Traits:
    settings.demand("tie_word_embeddings", True, default=True)
    text = Settings(settings.table("text_config"), settings.path)
    for key, allowed, default in (
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
    ):
        text.demand(key, *allowed, default=default)
    layers, key_heads = text.whole("num_hidden_layers"), text.whole("num_key_value_heads")
    sliding = _sliding(text, layers)
    width, wide_heads = _full_layers(text, sliding, key_heads)
    rope = text.table("rope_parameters")
    near = Settings(rope.get("sliding_attention") or {}, settings.path)
    far = Settings(rope.get("full_attention") or {}, settings.path)
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


def _sliding(text: Settings, layers: int) -> tuple[bool, ...]:
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


def _full_layers(text: Settings, sliding: tuple[bool, ...], key_heads: int) -> tuple[int, int]:
    """Returns width and number of the key heads of layers without a window, which two forms of config.json tell."""
    told = text.table("per_layer_config")
    if not told:
        return text.whole("global_head_dim", default=512), text.whole("num_global_key_value_heads", default=key_heads)
    full = [told.get(str(layer)) for layer, near in enumerate(sliding) if not near]
    if len(told) != len(full) or not isinstance(full[0], dict) or any(one != full[0] for one in full):
        raise ModelError(
            f"{text.path}: expected `per_layer_config` to say the same of all layers without a window and nothing of"
            f" others, found {json.dumps(told)[:80]}"
        )
    one = Settings(full[0], text.path)
    return one.whole("head_dim"), one.whole("num_key_value_heads", default=key_heads)


def _gemma_config(traits: Traits, local: LocalTraits, architecture: str) -> dict[str, Any]:
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


#: The families by their `model_type`. Qwen3 would otherwise begin its answer with its thoughts.
FAMILIES: Mapping[str, Family] = {
    "sdar": Family("SDAR", "SDARForCausalLM", _sdar),
    "llada": Family("LLaDA", "LLaDAModelLM", _llada, tensor_names.LLADA),
    "llada2_moe": Family("LLaDA 2", "LLaDA2MoeModelLM", _llada2, tensor_names.llada2),
    "Dream": Family("Dream", "DreamModel", _dream),
    "Fast_dLLM_Qwen": Family("Fast-dLLM v2", "Fast_dLLM_QwenForCausalLM", _fast_dllm),
    "nemotron_labs_diffusion": Family(
        "Nemotron-Labs-Diffusion", "NemotronLabsDiffusionModel", _nemotron, tensor_names.nemotron
    ),
    "diffusion_gemma": Family(
        "DiffusionGemma",
        "DiffusionGemmaForBlockDiffusion",
        _gemma,
        tensor_names.diffusion_gemma,
        sought=tensor_names.stored_in_gemma,
    ),
    "qwen2": Family("Qwen2", "Qwen2ForCausalLM", _qwen2),
    "qwen3": Family("Qwen3", "Qwen3ForCausalLM", _qwen3, template={"enable_thinking": False}),
    "llama": Family("Llama", "LlamaForCausalLM", _llama),
}
