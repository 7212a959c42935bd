"""A checkpoint's folder to a decoder and back: checked by the headers first, then mapped into memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from cinnabar.engine.models.language.configuration import CONFIG
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.families import config_of, family_of, stored_name
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.models.language.weights_file import SIZES, Stored, stored_tensors
from cinnabar.engine.precision import VARIABLE, Precision
from cinnabar.schemas.errors import ModelError

#: Ends of names of tensors that are computed, and that old releases stored all the same.
_COMPUTED = ("rotary_emb.inv_freq",)
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True, slots=True)
class Contents:
    """The tensors of a checkpoint compared with those that its decoder needs, by the checkpoint's names.

    tensors: our name to the stored tensor. missing: expected and not there. odd: there, and of another name, shape or
    dtype than expected, with the reason.
    """

    tensors: dict[str, tuple[str, Stored]]
    missing: tuple[str, ...]
    odd: tuple[str, ...]

    @property
    def parameters(self) -> int:
        """The number of parameters that are there."""
        return sum(stored.values for _, stored in self.tensors.values())


def read_contents(folder: Path, traits: Traits) -> Contents:
    """Compares the headers of a checkpoint's files with what a decoder of these traits needs.

    Raises ModelError if there are fewer tensors than layers.
    """
    there, family = stored_tensors(folder), family_of(traits)
    if traits.layers > len(there):
        # The names of so many layers alone could take all memory.
        raise ModelError(
            f"{folder}: config.json tells {traits.layers} layers, and the files of weights have {len(there)} tensors in"
            " all; they are not of the same release"
        )
    with torch.device("meta"):
        shapes = {name: tuple(one.shape) for name, one in Decoder(traits).state_dict().items()}
    head = stored_name(family, "lm_head.weight")
    if traits.tied:
        # Some releases store the tied matrix twice.
        there.pop(head, None)
        del shapes["lm_head.weight"]
    tensors: dict[str, tuple[str, Stored]] = {}
    missing, odd = [], []
    for name, shape in shapes.items():
        named = stored_name(family, name)
        stored = there.pop(named, None)
        if stored is None:
            missing.append(named)
        elif stored.shape != shape:
            odd.append(f"{named} (shape {list(stored.shape)}, expected {list(shape)})")
        elif stored.dtype not in SIZES:
            odd.append(f"{named} (dtype {stored.dtype}, expected one of {', '.join(SIZES)})")
        else:
            tensors[name] = named, stored
    odd += [f"{name} (no part of {family.title})" for name in there if not name.endswith(_COMPUTED)]
    return Contents(tensors, tuple(missing), tuple(odd))


def check_contents(folder: Path, contents: Contents) -> None:
    """Raises ModelError for missing and odd tensors, with their number and the first of them."""
    for what, names in (("missing", contents.missing), ("odd", contents.odd)):
        if names:
            raise ModelError(
                f"{folder}: {what} tensors: {len(names)}, first {names[0]}; config.json and the weights are not of"
                " the same release, or the weights are changed; `cinnabar model check` lists them"
            )


def weight_bytes(contents: Contents, precision: Precision) -> int:
    """Returns the memory that the weights take in this precision."""
    return contents.parameters * _DTYPES[precision].itemsize


def cache_bytes(traits: Traits, precision: Precision) -> int:
    """Returns the memory that the keys and values of one token take."""
    return 2 * traits.layers * traits.key_heads * traits.head_width * _DTYPES[precision].itemsize


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


def free_memory(device: torch.device) -> int | None:
    """Returns the free memory of a device in bytes, None if the system does not tell it."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    free: list[int] = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        pass
    try:
        # A container's own bound; of what it uses, the file cache can be given back.
        group = Path("/sys/fs/cgroup")
        bound = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        free.append(bound - used + int(stat.get("file", 0)))
    except (OSError, ValueError):
        pass
    return min(free) if free else None


def load_decoder(folder: Path, traits: Traits, device: torch.device, precision: Precision) -> Decoder:
    """Returns the decoder with a checkpoint's weights, in this precision, on this device, for evaluation.

    On a CPU weights of this precision stay mapped from their files. Raises ModelError for missing or odd tensors, and
    for too little memory.
    """
    contents = read_contents(folder, traits)
    check_contents(folder, contents)
    check_memory(folder, weight_bytes(contents, precision), device, precision)
    with torch.device("meta"):
        decoder = Decoder(traits)
    state = dict(_tensors(contents, _DTYPES[precision], device))
    if traits.tied:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    decoder.load_state_dict(state, assign=True)
    if traits.tied:
        decoder.lm_head.weight = decoder.model.embed_tokens.weight
    return decoder.to(device).eval().requires_grad_(False)


def _tensors(contents: Contents, dtype: torch.dtype, device: torch.device) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields the tensors by our names, file by file."""
    for path in sorted({stored.path for _, stored in contents.tensors.values()}):
        try:
            with safe_open(path, "pt") as file:
                for name, (named, stored) in contents.tensors.items():
                    if stored.path == path:
                        yield name, file.get_tensor(named).to(device, dtype)
        except SafetensorError as error:
            raise ModelError(f"{path}: cannot be read as safetensors: {error}; fetch the file again") from error


def save_decoder(folder: Path, decoder: Decoder) -> None:
    """Writes config.json and model.safetensors of a decoder, by the names of its family; each file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    traits = decoder.traits
    family = family_of(traits)
    state = {
        stored_name(family, name): tensor.detach().to("cpu").contiguous()
        for name, tensor in decoder.state_dict().items()
        if not (traits.tied and name == "lm_head.weight")
    }
    part = folder / "model.safetensors.part"
    save_file(state, part, metadata={"format": "pt"})
    part.replace(folder / "model.safetensors")
    part = folder / f"{CONFIG}.part"
    part.write_text(json.dumps(config_of(traits), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(folder / CONFIG)
