"""The bodies that are measured on a device, with random weights."""

from __future__ import annotations

from dataclasses import dataclass

from cinnabar.engine.models.language.traits import Traits

#: Tokens that are committed in a pass of one row, for the tokens a second.
COMMITTED = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """A body to measure: its traits but for the vocabulary, and the tokens of a prompt."""

    traits: Traits
    prompt: int


def _shape(width: int, layers: int, heads: int, key_heads: int, head_width: int, inner: int, prompt: int) -> Shape:
    traits = Traits(
        family="sdar", vocabulary=0, width=width, layers=layers, heads=heads, key_heads=key_heads,
        head_width=head_width, inner=inner, epsilon=1e-6, window=32_768, visibility="block_causal", block=32, mask=0,
        qk_norm=True, tied=True, rope_theta=1e6,
    )  # fmt: skip
    return Shape(traits, prompt)


SHAPES = {
    "sdar-1.7b": _shape(2048, 28, 16, 8, 128, 6144, 1024),
    "sdar-4b": _shape(2560, 36, 32, 8, 128, 9728, 1024),
    "sdar-8b": _shape(4096, 36, 32, 8, 128, 12288, 1024),
    "tiny": _shape(32, 2, 4, 2, 8, 48, 40),
}
