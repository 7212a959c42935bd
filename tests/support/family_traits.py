"""Traits of small checkpoints, one or more of each family."""

from __future__ import annotations

from dataclasses import replace

from tests.support.tiny_checkpoint import TRAITS

from cinnabar.engine.models.language.traits import ExpertTraits, LocalTraits, Traits

EXPERTS = ExpertTraits(count=8, chosen=3, inner=24, shared=24, groups=4, chosen_groups=2, scale=2.5, dense=1)
LLADA2 = replace(TRAITS, family="llada2_moe", layers=3, block=8, mask=303, rotary_width=4, experts=EXPERTS)
FAST_DLLM = replace(
    TRAITS, family="Fast_dLLM_Qwen", block=8, mask=303, shift=True, qk_norm=False, qkv_bias=True
)
#: Canvases of 16 tokens, and windows that small texts reach beyond.
DIFFUSION_GEMMA = Traits(
    family="diffusion_gemma",
    vocabulary=352,
    width=32,
    layers=4,
    heads=4,
    key_heads=1,
    head_width=16,
    inner=40,
    epsilon=1e-6,
    window=512,
    visibility="token_causal",
    block=16,
    mask=None,
    noise="uniform",
    qk_norm=True,
    tied=True,
    revises=True,
    rope_theta=1_000_000.0,
    rope={"rope_type": "proportional", "partial_rotary_factor": 0.25},
    experts=ExpertTraits(count=4, chosen=2, inner=24),
    local=LocalTraits(sliding=(True, False, True, False), window=6, key_heads=2, head_width=8),
    softcap=5.0,
)

SOFTMAX = ExpertTraits(count=6, chosen=2, inner=24, softmax=True)
SDAR_MOE = replace(TRAITS, family="sdar_moe", mask=303, experts=SOFTMAX)

FAMILY_TRAITS: dict[str, Traits] = {
    "llada2": LLADA2,
    "fast-dllm": FAST_DLLM,
    "sdar-moe": SDAR_MOE,
    "diffusion-gemma": DIFFUSION_GEMMA,
}
