"""Traits of the families whose layers are alike, read from the keys of config.json; needs no torch."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from cinnabar.engine.models.language.configuration import ConfigSettings
from cinnabar.engine.models.language.rope_scaling import rope_of, rope_settings, window_of
from cinnabar.engine.models.language.traits import ExpertTraits, Traits
from cinnabar.schemas.errors import ModelError

#: The mask tokens of releases whose config.json names none.
LLADA2_MASK, FAST_MASK, NEMOTRON_MASK = 156_895, 151_665, 100
#: The length of a block of SDAR's first releases, in whose config.json it is missing; others have it in their name.
SDAR_BLOCK = 4
_SDAR_NAME = re.compile(r"\b(?:SDAR|TraDo)-[\w.-]*(?:Chat|Instruct|Thinking|Base)\b", re.IGNORECASE)
_BLOCK_NAME = re.compile(r"[-_]b(?:lock)?[-_]?(\d+)\b", re.IGNORECASE)
#: Releases that were trained on wrong tokens, and whose config.json does not say so.
_EDITS = re.compile(r"LLaDA2\.[12]", re.IGNORECASE)
#: The length of the blocks that LLaDA 2, Fast-dLLM v2 and Nemotron-Labs-Diffusion were trained with.
BLOCK = 32


def _body(settings: ConfigSettings, family: str) -> Traits:
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
    rotary = rope_settings(settings)
    theta = rotary.number("rope_theta", default=settings.number("rope_theta", default=10_000.0))
    rope = rope_of(rotary, settings)
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
        window=window_of(rope, rotary, settings),
        visibility="causal",
        block=1,
        mask=None,
        noise="none",
        shift=True,
        tied=settings.flag("tie_word_embeddings"),
        rope_theta=theta,
        rope=rope,
    )


def _demand_whole_heads(settings: ConfigSettings) -> None:
    for one in (settings, rope_settings(settings)):
        one.demand("partial_rotary_factor", None, 1, default=None)


def read_qwen2(settings: ConfigSettings) -> Traits:
    """Returns the traits of Qwen2, whose queries, keys and values always have biases."""
    _demand_whole_heads(settings)
    return replace(_body(settings, "qwen2"), qkv_bias=True)


def _with_attention_bias(settings: ConfigSettings, family: str) -> Traits:
    _demand_whole_heads(settings)
    bias = settings.flag("attention_bias")
    return replace(_body(settings, family), qkv_bias=bias, output_bias=bias)


def read_qwen3(settings: ConfigSettings) -> Traits:
    """Returns the traits of Qwen3."""
    return replace(_with_attention_bias(settings, "qwen3"), qk_norm=True)


def read_llama(settings: ConfigSettings) -> Traits:
    """Returns the traits of Llama."""
    return _with_attention_bias(settings, "llama")


def read_sdar(settings: ConfigSettings) -> Traits:
    """Returns the traits of SDAR."""
    return replace(
        _with_attention_bias(settings, "sdar"),
        qk_norm=True,
        visibility="block_causal",
        noise="mask",
        block=settings.whole("block_size", "block_length", default=_sdar_block(settings)),
        mask=settings.token("mask_token_id"),
        shift=False,
        revises=settings.flag("revises"),
    )


def _sdar_block(settings: ConfigSettings) -> int | None:
    """Returns the block that the name of a release tells, None if it tells none.

    Raises ModelError for a folder without `block_size` and without the name of a release: a model that runs in blocks
    of another length than it was trained with reads badly and says nothing.
    """
    if any(settings.values.get(key) for key in ("block_size", "block_length")):
        return None
    names = settings.release_names
    for name in names:
        if (told := _BLOCK_NAME.search(name)) is not None:
            return int(told[1])
        if _SDAR_NAME.search(name) is not None:
            return SDAR_BLOCK
    raise ModelError(
        f"{settings.path}: expected `block_size`, the length of the blocks that the model was trained with: 4 for"
        " SDAR-…-Chat, 32 for SDAR-…-Chat-b32; write the key, or give the folder the name of the release"
    )


def read_sdar_moe(settings: ConfigSettings) -> Traits:
    """Returns the traits of SDAR with experts."""
    _demand_experts_everywhere(settings)
    return replace(read_sdar(settings), family="sdar_moe", experts=_softmax_experts(settings, normed=True))


def read_qwen3_moe(settings: ConfigSettings) -> Traits:
    """Returns the traits of Qwen3 with experts."""
    _demand_experts_everywhere(settings)
    return replace(read_qwen3(settings), family="qwen3_moe", experts=_softmax_experts(settings, normed=False))


def _demand_experts_everywhere(settings: ConfigSettings) -> None:
    settings.demand("decoder_sparse_step", 1, default=1)
    settings.demand("mlp_only_layers", [], None, default=None)


def _softmax_experts(settings: ConfigSettings, normed: bool) -> ExpertTraits:
    """Returns the traits of Qwen3's experts; `normed` is what a missing key means."""
    return ExpertTraits(
        count=settings.whole("num_experts"),
        chosen=settings.whole("num_experts_per_tok"),
        inner=settings.whole("moe_intermediate_size"),
        softmax=True,
        normed=settings.flag("norm_topk_prob", normed),
    )


def read_llada2(settings: ConfigSettings) -> Traits:
    """Returns the traits of LLaDA 2, a mixture of experts."""
    settings.demand("score_function", "sigmoid", default="sigmoid")
    settings.demand("norm_topk_prob", True, default=True)
    settings.demand("moe_router_enable_expert_bias", True, default=True)
    settings.demand("norm_head", False, default=False)
    body = _body(settings, "llada2_moe")
    share = settings.number("partial_rotary_factor", default=0.5)
    rotary = int(body.head_width * rope_settings(settings).number("partial_rotary_factor", default=share))
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
        revises=settings.flag("revises", any(_EDITS.search(name) for name in settings.release_names)),
        rotary_width=rotary,
        experts=_experts(settings),
    )


def _mask(settings: ConfigSettings, body: Traits, usual: int) -> int | None:
    """Returns the mask token: the one that is named, else the usual one if the vocabulary is so large."""
    named = settings.token("mask_token_id")
    return usual if named is None and usual < body.vocabulary else named


def read_fast_dllm(settings: ConfigSettings) -> Traits:
    """Returns the traits of Fast-dLLM v2."""
    body = read_qwen2(settings)
    return replace(
        body,
        family="Fast_dLLM_Qwen",
        visibility="block_causal",
        noise="mask",
        block=settings.whole("bd_size", "block_size", default=BLOCK),
        mask=_mask(settings, body, FAST_MASK),
        revises=settings.flag("revises"),
    )


def read_nemotron(settings: ConfigSettings) -> Traits:
    """Returns the traits of Nemotron-Labs-Diffusion."""
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
        # Its releases predict a position at that position; a body that was trained on next tokens may keep to them.
        shift=settings.flag("next_position"),
        revises=settings.flag("revises"),
    )


def _experts(settings: ConfigSettings) -> ExpertTraits:
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
