"""The traits of a language model, in which the families differ, and how config.json tells them; needs no torch."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from cinnabar.engine.models.language.configuration import ConfigSettings
from cinnabar.errors import ModelError

#: The mask tokens of releases whose config.json names none.
LLADA2_MASK, FAST_MASK = 156_895, 151_665
#: The length of a block of SDAR's first releases, in whose config.json it is missing; others have it in their name.
SDAR_BLOCK = 4
_SDAR_NAME = re.compile(r"\b(?:SDAR|TraDo)-[\w.-]*(?:Chat|Instruct|Thinking|Base)\b", re.IGNORECASE)
_BLOCK_NAME = re.compile(r"[-_]b(?:lock)?[-_]?(\d+)\b", re.IGNORECASE)
#: Releases that were trained on wrong tokens, and whose config.json does not say so.
_EDITS = re.compile(r"LLaDA2\.[12]", re.IGNORECASE)
#: The length of the blocks that LLaDA 2 and Fast-dLLM v2 were trained with.
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
    settings.demand("decoder_sparse_step", 1, default=1)
    settings.demand("mlp_only_layers", [], None, default=None)
    experts = ExpertTraits(
        count=settings.whole("num_experts"),
        chosen=settings.whole("num_experts_per_tok"),
        inner=settings.whole("moe_intermediate_size"),
        softmax=True,
        normed=settings.flag("norm_topk_prob", True),
    )
    return replace(read_sdar(settings), family="sdar_moe", experts=experts)


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


#: The kinds of rotary scaling of `decoder.py`, by the numbers that each needs. The angles of `dynamic` depend
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


def rope_settings(settings: ConfigSettings) -> ConfigSettings:
    """Returns what config.json says of rotary positions: `rope_scaling`, or the newer `rope_parameters`.

    The latter may be an object for each kind of layer, of which these families have one.
    """
    rotary = settings.table("rope_parameters") or settings.table("rope_scaling")
    if isinstance(rotary.get("full_attention"), dict):
        rotary = rotary["full_attention"]
    return ConfigSettings(rotary, settings.path)


def rope_of(rotary: ConfigSettings, settings: ConfigSettings) -> dict[str, Any]:
    """Returns the scaling of the rotary embedding with `rope_type` and its numbers; an empty one if there is none."""
    values = rotary.values
    kind = values.get("rope_type", values.get("type", "default"))
    if not isinstance(kind, str) or kind not in ROPES:
        raise ModelError(
            f"{settings.path}: rotary scaling {json.dumps(kind)} cannot be run in this version; expected one of"
            f" {', '.join(ROPES)}"
        )
    if kind == "default":
        return {}
    if values.get("llama_4_scaling_beta") is not None:
        raise ModelError(f"{settings.path}: `llama_4_scaling_beta` of rotary positions cannot be run in this version")
    trained = settings.whole("max_position_embeddings")
    numbers = {key: value for key, value in values.items() if key not in _BESIDE_SCALING}
    original = settings.values.get(_ORIGINAL)
    if original is not None or values.get(_ORIGINAL) is not None or kind in ("llama3", "yarn"):
        numbers[_ORIGINAL] = settings.whole(_ORIGINAL, default=rotary.whole(_ORIGINAL, default=trained))
    if kind == "yarn" and values.get("factor") is None and numbers[_ORIGINAL] < trained:
        numbers["factor"] = trained / numbers[_ORIGINAL]
    missing = [key for key in ROPES[kind] if numbers.get(key) is None]
    if missing:
        raise ModelError(f"{settings.path}: expected `{missing[0]}` in `rope_scaling`; the key is missing")
    own = ConfigSettings(numbers, settings.path)
    for key in ROPES[kind]:
        own.number(key, default=1.0)
    return {"rope_type": kind, **numbers}


def window_of(rope: Mapping[str, Any], rotary: ConfigSettings, settings: ConfigSettings) -> int:
    """Returns the most positions: `max_position_embeddings`, or more where the scaling says so.

    Models are scaled in two ways: their makers write the scaled window, and users of Qwen's and SDAR's releases add
    `rope_scaling` with the first window and a factor, as the cards tell them, and leave the rest as it is.
    """
    stated = settings.whole("max_position_embeddings")
    if rope.get("rope_type") in ("linear", "yarn") and rotary.values.get(_ORIGINAL) is not None:
        return max(stated, int(rope[_ORIGINAL] * rope["factor"]))
    return stated


#: What open positions hold: there are none in an autoregressive model, the mask token, or random tokens of the whole
#: vocabulary, so that any visible token may be wrong while its block is open.
Noise = Literal["none", "mask", "uniform"]
#: Which positions a position sees: those up to itself, or those up to the end of its block. With `token_causal` a
#: position of the open block sees all up to the block's end, and any other one those up to itself.
Visibility = Literal["causal", "block_causal", "token_causal"]


@dataclass(frozen=True, slots=True)
class ExpertTraits:
    """The traits of a mixture of experts.

    count: number of experts. chosen: how many compute a token. inner: width of an expert. shared: width of the expert
    that computes every token, 0 for none. groups, chosen_groups: the experts are in so many groups, and a token's
    experts come from the best of these. scale: factor of the experts' sum. dense: so many first layers have a plain
    feed-forward net. softmax: the router's scores are shares of all experts, without the bias of LLaDA 2. normed: the
    weights of a token's experts add up to one.
    """

    count: int
    chosen: int
    inner: int
    shared: int = 0
    groups: int = 1
    chosen_groups: int = 1
    scale: float = 1.0
    dense: int = 0
    softmax: bool = False
    normed: bool = True


@dataclass(frozen=True, slots=True)
class LocalTraits:
    """The traits of layers that see a window of positions, in a model that has others besides.

    sliding: by layer, whether it is such a layer. window: the positions that it sees, its own one included.
    """

    sliding: tuple[bool, ...]
    window: int
    key_heads: int
    head_width: int
    rope_theta: float = 10_000.0


@dataclass(frozen=True, slots=True)
class Traits:
    """The sizes and traits of a language model.

    visibility: which positions a position sees. block: positions of one block, 1 for an autoregressive model. noise:
    what open positions hold. mask: the id of the mask token, None for a model that has none. shift: the logits at a
    position are for the next one. qk_norm: queries and keys are normalised by head. qkv_bias, output_bias: the
    projections of attention have a bias. rope_theta, rope: base of the rotary embedding, and its scaling as
    `rope_scaling` in config.json says it. window: the most positions that the model was trained for. tied: the output
    matrix is that of the embedding. rotary_width: how many numbers of a head turn with the position, None for all.
    revises: the model was trained on wrong visible tokens, so its logits at visible positions mean something. experts:
    the mixture of experts, if any. local: the layers with a window, if any; sizes and rope above are those of the other
    layers. softcap: logits lie between its negative and it. threshold: the least probability at which the authors of
    the release commit a token, None if they say nothing.
    """

    family: str
    vocabulary: int
    width: int
    layers: int
    heads: int
    key_heads: int
    head_width: int
    inner: int
    epsilon: float
    window: int
    visibility: Visibility
    block: int
    mask: int | None
    shift: bool = False
    qk_norm: bool = False
    qkv_bias: bool = False
    output_bias: bool = False
    tied: bool = False
    revises: bool = False
    rope_theta: float = 10_000.0
    rope: Mapping[str, Any] = field(default_factory=dict)
    rotary_width: int | None = None
    experts: ExpertTraits | None = None
    noise: Noise = "mask"
    local: LocalTraits | None = None
    softcap: float | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        if (self.noise == "none") != (self.visibility == "causal"):
            raise ValueError(f"{self.family}: a causal model has no noise, got {self.visibility} and {self.noise}")
