"""A checkpoint's folder to a decoder and back: checked by the headers first, then mapped into memory."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from cinnabar.engine.models.int8_matmul import (
    eight_bits,
    fits_int8,
    packs_integers,
    supports_int8,
    take_integers,
)
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.diffusion_gemma import DiffusionGemma
from cinnabar.engine.models.language.families import Family, family_of
from cinnabar.engine.models.language.gguf_folder import dequantise_stored
from cinnabar.engine.models.language.memory import free_memory, give_back_memory
from cinnabar.engine.models.language.rounded import is_projection, pack_layers, rounded_layer
from cinnabar.engine.models.language.tensor_places import TensorRows, merged_experts
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.models.language.weights_file import GGUF_TYPES, SIZES, StoredTensor, stored_tensors
from cinnabar.engine.models.mapped_weights import WithoutDrawing, digest_of, mapped_tensors
from cinnabar.engine.settings import VARIABLE, Precision
from cinnabar.errors import ModelError

#: Ends of names of tensors that are computed, and that old releases stored all the same.
_COMPUTED = ("rotary_emb.inv_freq",)
#: Names of tensors of all experts at once.
_MERGED = re.compile(r"\.experts\.[a-z]")
#: Ends of names of tensors that stay in float32: experts are chosen by small differences.
_EXACT = (".expert_bias",)
#: The dtypes of activations, and of weights that are no whole numbers.
_DTYPES: dict[Precision, torch.dtype] = {
    "float32": torch.float32,
    "int8": torch.float32,
    "bfloat16": torch.bfloat16,
}
#: The folder of the cache with weights of 8 bits, and its most bytes.
KEPT, LIMIT = "language", 16 << 30
#: The code that decides what these files hold.
_CODE = ("checkpoint", "families", "gguf_folder", "rounded", "weights_file")
#: Numbers of a matrix that are rounded at a time.
_ROUNDED = 1 << 22
_EMBEDDING, _HEAD = "model.embed_tokens.weight", "lm_head.weight"
#: Reads rows of a part; see `_open_part`.
_Read = Callable[[TensorRows, slice | None], torch.Tensor]


@dataclass(frozen=True, slots=True)
class CheckpointContents:
    """The tensors of a checkpoint compared with those that its decoder needs.

    stored: the tensors that are there and fit, by the checkpoint's names. places: shape and parts of the decoder's
    tensors, by our names. missing: expected and not there. odd: there, and of another name, shape or dtype than
    expected, with the reason. ignored: there, and for what this version does not do, such as to read images.
    """

    stored: dict[str, StoredTensor]
    places: dict[str, tuple[tuple[int, ...], tuple[TensorRows, ...]]]
    missing: tuple[str, ...]
    odd: tuple[str, ...]
    ignored: tuple[str, ...] = ()

    @property
    def parameters(self) -> int:
        """The number of parameters that are there."""
        return sum(stored.values for stored in self.stored.values())


def read_contents(folder: Path, traits: Traits) -> CheckpointContents:
    """Compares the headers of a checkpoint's files with what a decoder of these traits needs.

    Raises ModelError if there are fewer tensors than layers or experts.
    """
    family = family_of(traits)
    there, ignored = _sought(stored_tensors(folder), family)
    if traits.layers > len(there):
        # The names of so many layers alone could take all memory.
        raise ModelError(
            f"{folder}: config.json tells {traits.layers} layers, and the files of weights have {len(there)} tensors in"
            " all; they are not of the same release"
        )
    merged = any(_MERGED.search(name) for name in there)
    routed = traits.experts is not None and traits.experts.dense < traits.layers and not merged
    if traits.experts is not None and routed and traits.experts.count > len(there):
        raise ModelError(
            f"{folder}: config.json tells {traits.experts.count} experts, and the files of weights have {len(there)}"
            " tensors in all; they are not of the same release"
        )
    shapes = {name: tuple(one.shape) for name, one in _empty_network(traits).state_dict().items()}
    if traits.tied:
        # Some releases store the tied matrix twice.
        for part in family.parts("lm_head.weight", traits):
            there.pop(part.name, None)
        del shapes["lm_head.weight"]
    places = {
        name: (shape, (merged_experts(name, there) if merged else None) or family.parts(name, traits))
        for name, shape in shapes.items()
    }
    by_name: dict[str, StoredTensor] = {}
    missing, odd = [], []
    for named, shape in _expected_shapes(places).items():
        stored = there.pop(named, None)
        if stored is None:
            missing.append(named)
        elif stored.shape != shape:
            odd.append(f"{named} (shape {list(stored.shape)}, expected {list(shape)})")
        elif stored.dtype not in (*SIZES, *GGUF_TYPES):
            odd.append(f"{named} (dtype {stored.dtype}, expected one of {', '.join(SIZES)})")
        else:
            by_name[named] = stored
    odd += [f"{name} (no part of {family.title})" for name in there if not name.endswith(_COMPUTED)]
    return CheckpointContents(by_name, places, tuple(missing), tuple(odd), ignored)


def _sought(stored: Mapping[str, StoredTensor], family: Family) -> tuple[dict[str, StoredTensor], tuple[str, ...]]:
    """Returns the stored tensors by the names under which they are sought, and the names of those that are not."""
    there: dict[str, StoredTensor] = {}
    ignored = []
    for name, tensor in stored.items():
        sought = family.sought(name)
        if sought is None:
            ignored.append(name)
        elif sought == name or sought not in stored:
            there[sought] = tensor
    return there, tuple(ignored)


def _expected_shapes(
    places: Mapping[str, tuple[tuple[int, ...], tuple[TensorRows, ...]]],
) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the stored tensors, by the checkpoint's names."""
    shapes: dict[str, tuple[int, ...]] = {}
    for shape, parts in places.values():
        if len(parts) == 1 and parts[0].rows is None:
            shapes[parts[0].name] = shape
            continue
        if parts[0].of_each:
            experts, rows, width = shape
            shapes |= {part.name: (experts, rows // len(parts), width) for part in parts}
            continue
        rows, *rest = _as_rows(shape)
        for part in parts:
            end = part.begin + (part.rows or rows // len(parts))
            shapes[part.name] = (max(end, shapes.get(part.name, (0,))[0]), *rest)
    return shapes


def _as_rows(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape as a matrix of rows: the matrices of experts stand one below the other."""
    return (shape[0] * shape[1], *shape[2:]) if len(shape) == 3 else shape


def check_contents(folder: Path, contents: CheckpointContents) -> None:
    """Raises ModelError for missing and odd tensors, with their number and the first of them."""
    for what, names in (("missing", contents.missing), ("odd", contents.odd)):
        if names:
            raise ModelError(
                f"{folder}: {what} tensors: {len(names)}, first {names[0]}; config.json and the weights are not of"
                " the same release, or the weights are changed; `cinnabar model check` lists them"
            )


def weight_bytes(contents: CheckpointContents, precision: Precision) -> int:
    """Returns the memory that the weights take in this precision, mapped pages counted."""
    whole = contents.parameters * _DTYPES[precision].itemsize
    if precision == "int8":
        matrices = {name: shape for name, (shape, _) in contents.places.items() if _is_rounded(name, shape)}
        # A scale for each row, and a bias that is zero where none is stored; an embedding has one if it is the head.
        less = sum(3 * math.prod(shape) - 4 * shape[0] for shape in matrices.values())
        biased = {name.replace("bias", "weight") for name in contents.places if name.endswith("bias")}
        biased |= {_EMBEDDING} if _HEAD in contents.places else set()
        return whole - less + 4 * sum(matrices[name][0] for name in matrices.keys() - biased)
    return whole


def check_memory(folder: Path, needed: int, device: torch.device, precision: Precision) -> None:
    """Raises ModelError if the weights need more memory than is free on the device."""
    free = free_memory(device)
    if free is not None and needed > free:
        advice = "take a smaller model or a larger machine"
        if precision == "float32":
            advice = f"{VARIABLE}=bfloat16 needs half; or {advice}"
        raise ModelError(
            f"{folder}: the weights need {needed / 1e9:.2f} GB in {precision}, and {free / 1e9:.2f} GB are free on"
            f" {device}; {advice}"
        )


def load_decoder(folder: Path, traits: Traits, device: torch.device, precision: Precision) -> Decoder:
    """Returns the decoder with a checkpoint's weights, in this precision, on this device, for evaluation.

    On a CPU weights of this precision stay mapped from their files, but for experts and whole numbers; in `int8` from a
    file that is written once. Raises ModelError for missing or odd tensors, and for too little memory.
    """
    contents = read_contents(folder, traits)
    check_contents(folder, contents)
    check_memory(folder, weight_bytes(contents, precision), device, precision)
    decoder = _empty_network(traits)
    integers = precision == "int8" and supports_int8(device)
    packs = integers and device.type == "cpu" and packs_integers()
    # Packed layers are made of rounded ones.
    integers = integers and not packs
    if precision == "int8":
        state = {name: tensor.to(device) for name, tensor in _kept_state(contents, integers).items()}
    else:
        state = dict(_state(contents, precision, device, integers))
    if traits.tied:
        # One matrix in memory, whatever its numbers are; only the head has a bias, of zeros.
        state |= {name.replace("model.embed_tokens", "lm_head"): state[name] for name in state if ".embed_" in name}
        if "lm_head.scale" in state:
            state["lm_head.bias"] = torch.zeros_like(state["lm_head.scale"])
    take_integers(decoder, state, partial(rounded_layer, integers=integers))
    decoder.load_state_dict(state, assign=True)
    if traits.tied and isinstance(decoder.lm_head, torch.nn.Linear):
        decoder.lm_head.weight = decoder.model.embed_tokens.weight
    del state
    if packs:
        pack_layers(decoder)
    give_back_memory()
    return decoder.to(device).eval().requires_grad_(False)


def _state(
    contents: CheckpointContents, precision: Precision, device: torch.device, integers: bool
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields what a decoder's `load_state_dict` takes in this precision, one tensor after the other.

    integers: in `int8`, whether matrices are for products of integers.
    """
    dtype = _DTYPES[precision]
    with _open_part(contents) as read:
        for name, (shape, parts) in contents.places.items():
            if precision == "int8" and _is_rounded(name, shape):
                yield from _in_integers(name, shape, parts, contents, read, integers)
                continue
            yield name, _whole(shape, parts, read, device, torch.float32 if name.endswith(_EXACT) else dtype)
    give_back_memory()


def _kept_state(contents: CheckpointContents, integers: bool) -> dict[str, torch.Tensor]:
    """Returns the state of a decoder in 8 bits, mapped from a file that is written at the first use."""
    files = sorted({stored.path.resolve() for stored in contents.stored.values()})
    identity = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files], contents.places, integers
    own = Path(__file__).parent
    code = digest_of([own.parent / "int8_matmul.py", *(own / f"{name}.py" for name in _CODE)])
    cpu = torch.device("cpu")
    return mapped_tensors(
        identity,
        code,
        lambda: (weight_bytes(contents, "int8"), _state(contents, "int8", cpu, integers)),
        KEPT,
        LIMIT,
    )


def _is_rounded(name: str, shape: tuple[int, ...]) -> bool:
    """Returns whether a matrix is one of 8 bits in the precision `int8`; those of experts are not."""
    matrix = is_projection(name, shape) or name in (_EMBEDDING, _HEAD)
    return len(shape) == 2 and matrix and fits_int8(shape)


def _in_integers(
    name: str,
    shape: tuple[int, ...],
    parts: Sequence[TensorRows],
    contents: CheckpointContents,
    read: _Read,
    integers: bool,
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields a matrix of 8 bits with its scales, and zeros for a bias that is not stored; see `rounded_layer`."""
    stem, count = name.removesuffix("weight"), shape[0] // len(parts)
    weight, scale = torch.empty(shape, dtype=torch.int8), torch.empty(shape[0])
    for number, part in enumerate(parts):
        # Some rows at a time: an embedding in floats takes more memory than all layers in 8 bits.
        step = count if contents.stored[part.name].heads else max(_ROUNDED // shape[1], 1)
        for begin in range(0, count, step):
            end = min(begin + step, count)
            rows = slice(number * count + begin, number * count + end)
            weight[rows], scale[rows] = eight_bits(read(part, slice(part.begin + begin, part.begin + end)))
    across = integers and name not in (_EMBEDDING, _HEAD)
    yield name, weight.t().contiguous() if across else weight
    yield f"{stem}scale", scale
    if name != _EMBEDDING and f"{stem}bias" not in contents.places:
        yield f"{stem}bias", torch.zeros(shape[0])


def _whole(
    shape: tuple[int, ...], parts: Sequence[TensorRows], read: _Read, device: torch.device, kept: torch.dtype
) -> torch.Tensor:
    """Returns a tensor of the decoder."""
    if len(parts) == 1:
        return read(parts[0], None).to(device, kept)
    if parts[0].of_each:
        return torch.cat([read(part, None).to(device, kept) for part in parts], 1)
    made = torch.empty(_as_rows(shape), dtype=kept, device=device)
    for part, rows in zip(parts, made.chunk(len(parts)), strict=True):
        rows.copy_(read(part, None))
    return made.view(shape)


@contextmanager
def _open_part(contents: CheckpointContents) -> Iterator[_Read]:
    """Gives a function that reads these rows of a part's stored tensor, the part's own ones if they are None."""
    with ExitStack() as opened:
        files: dict[Path, Any] = {}
        for path in {stored.path for stored in contents.stored.values() if not stored.in_gguf}:
            with _naming_file(path):
                files[path] = opened.enter_context(safe_open(path, "pt"))

        def read(part: TensorRows, rows: slice | None) -> torch.Tensor:
            if rows is None and part.rows is not None:
                rows = slice(part.begin, part.begin + part.rows)
            stored = contents.stored[part.name]
            with _naming_file(stored.path):
                if stored.path not in files and not stored.heads and rows is not None:
                    return dequantise_stored(stored, rows)
                file = files.get(stored.path)
                found = dequantise_stored(stored) if file is None else file.get_tensor(stored.name)
            whole: torch.Tensor = found
            return whole if rows is None else whole[rows]

        yield read


@contextmanager
def _naming_file(path: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, ValueError, RuntimeError, KeyError) as error:
        raise ModelError(f"{path}: its weights cannot be read: {error}; fetch the file again") from error


def network_of(traits: Traits) -> Decoder:
    """Returns a network of these traits with fresh weights."""
    return DiffusionGemma(traits) if traits.noise == "uniform" else Decoder(traits)


def _empty_network(traits: Traits) -> Decoder:
    # To draw on the device `meta` would import parts of torch for seconds.
    with WithoutDrawing(), torch.device("meta"):
        return network_of(traits)
