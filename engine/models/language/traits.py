"""The traits of a language model: everything in which the families that one decoder serves differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
