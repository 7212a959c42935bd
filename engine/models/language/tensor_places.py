"""The place of each of the decoder's tensors in a checkpoint: under its name there, as rows of it, or in pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass

from cinnabar.engine.models.language.traits import Traits


@dataclass(frozen=True, slots=True)
class TensorRows:
    """Rows [begin, begin + rows) of the stored tensor of this name; all of its rows if `rows` is None.

    of_each: the tensor is [E, R, C], and its R rows of each expert stand above those of the next part.
    """

    name: str
    begin: int = 0
    rows: int | None = None
    of_each: bool = False


#: Returns the parts whose rows, one below the other, are the tensor that the decoder calls so.
Parts = Callable[[str, Traits], tuple[TensorRows, ...]]


def same(name: str, _: Traits) -> tuple[TensorRows, ...]:
    """Returns the tensor of the same name."""
    return (TensorRows(name),)


#: Where DiffusionGemma has the weights of its decoder, its encoder's, and those that read images and audio.
GEMMA_DECODER, GEMMA_ENCODER = "model.decoder.", "model.encoder.language_model."
_GEMMA_SENSES = tuple(
    f"model.encoder.{part}." for part in ("vision_tower", "embed_vision", "audio_tower", "embed_audio")
)


def diffusion_gemma(name: str, _: Traits) -> tuple[TensorRows, ...]:
    """Returns the tensor in DiffusionGemma, whose encoder has only a scalar of each layer for itself."""
    if name.endswith(".encoder_scalar"):
        return (TensorRows(f"{GEMMA_ENCODER}{name[6:].replace('encoder_scalar', 'layer_scalar')}"),)
    # The stacked matrices of experts have no modules of their own there.
    return (TensorRows(GEMMA_DECODER + (name.removesuffix(".weight") if ".experts." in name else name)[6:]),)


def stored_in_gemma(name: str) -> str | None:
    """Returns the name under which a stored tensor is sought, None for those of images and audio.

    A release may store the weights that encoder and decoder share under the names of either, or twice.
    """
    if name.startswith(GEMMA_ENCODER) and not name.endswith(".layer_scalar"):
        return GEMMA_DECODER + name.removeprefix(GEMMA_ENCODER)
    return None if name.startswith(_GEMMA_SENSES) else name


_LLADA2_NAMES = {
    "embed_tokens": "word_embeddings",
    "self_attn.o_proj": "attention.dense",
    "self_attn.q_norm": "attention.query_layernorm",
    "self_attn.k_norm": "attention.key_layernorm",
}


def llada2(name: str, traits: Traits) -> tuple[TensorRows, ...]:
    """Returns the parts in LLaDA 2: queries, keys and values are one tensor there, and each expert has its own."""
    projection = re.fullmatch(r"(model\.layers\.\d+\.)self_attn\.([qkv])_proj\.(weight|bias)", name)
    if projection is not None:
        layer, which, kind = projection.groups()
        queries, keys = traits.heads * traits.head_width, traits.key_heads * traits.head_width
        begin, rows = {"q": (0, queries), "k": (queries, keys), "v": (queries + keys, keys)}[which]
        return (TensorRows(f"{layer}attention.query_key_value.{kind}", begin, rows),)
    if ".experts." in name:
        return each_expert(name, traits)
    for ours, theirs in _LLADA2_NAMES.items():
        name = name.replace(ours, theirs)
    return (TensorRows(name),)


def each_expert(name: str, traits: Traits) -> tuple[TensorRows, ...]:
    """Returns the parts where each expert has tensors of its own; all other tensors have our names."""
    stem, _, matrix = name.partition(".experts.")
    if not matrix or traits.experts is None:
        return (TensorRows(name),)
    pieces = ("gate_proj.weight", "up_proj.weight") if matrix == "gate_up_proj.weight" else (matrix,)
    numbers = range(traits.experts.count)
    return tuple(TensorRows(f"{stem}.experts.{number}.{piece}") for number in numbers for piece in pieces)


def merged_experts(name: str, stored: Container[str]) -> tuple[TensorRows, ...] | None:
    """Returns the parts of a tensor of experts that a checkpoint stores for all of them at once, None if it does not.

    Some releases have gates and inner values apart (VeOmni), others as one tensor (`transformers` 5).
    """
    stem, _, matrix = name.removesuffix(".weight").partition(".experts.")
    whole = f"{stem}.experts.{matrix}"
    if matrix and whole in stored:
        return (TensorRows(whole),)
    apart = tuple(TensorRows(f"{stem}.experts.{one}", of_each=True) for one in ("gate_proj", "up_proj"))
    return apart if matrix == "gate_up_proj" and all(part.name in stored for part in apart) else None
