"""The changes of a LoRA folder of `peft`, which are added to the weights as they are read (LoRA, arXiv 2106.09685)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from cinnabar.engine.models.language.configuration import ConfigSettings, read_settings
from cinnabar.errors import ModelError

ADAPTER, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
#: The LoRA folder within a checkpoint's own that teaches it to fill fields; chats go without it.
FIELDS = "fields"
_PREFIX = "base_model.model."
_MATRIX = re.compile(r"(.+)\.lora_([AB])\.weight")


class LowRankChange:
    """The change of a matrix: the product of two thin ones, times a scale."""

    def __init__(self) -> None:
        self.thin: dict[str, torch.Tensor] = {}
        self.scale = 1.0

    def __call__(self, rows: slice | None = None) -> torch.Tensor:
        wide = self.thin["B"] if rows is None else self.thin["B"][rows]
        return self.scale * (wide.float() @ self.thin["A"].float())


def products_of(adapter: Path, shapes: Mapping[str, tuple[int, ...]]) -> Mapping[str, LowRankChange]:
    """Returns the changes of a LoRA folder by the names of the tensors, each of some rows or of all (None).

    shapes: those of the checkpoint's tensors. Raises ModelError for changes that are no low-rank products, or of
    another model.
    """
    settings = read_settings(adapter / ADAPTER)
    for key, allowed in (("peft_type", ("LORA",)), ("use_dora", (False, None)), ("fan_in_fan_out", (False, None))):
        settings.demand(key, *allowed, default=allowed[0])
    try:
        stored = load_file(adapter / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{adapter / WEIGHTS}: cannot be read as safetensors: {error}") from error
    products: dict[str, LowRankChange] = {}
    for name, tensor in stored.items():
        thin = _MATRIX.fullmatch(name.removeprefix(_PREFIX))
        if thin is None or tensor.ndim != 2:
            raise ModelError(f"{adapter / WEIGHTS}: {name}: expected low-rank products alone; merge it with `peft`")
        products.setdefault(f"{thin[1]}.weight", LowRankChange()).thin[thin[2]] = tensor
    for name, product in products.items():
        if product.thin.keys() != {"A", "B"}:
            raise ModelError(f"{adapter / WEIGHTS}: {name}: expected both matrices of a product, found one")
        if product.thin["B"].shape[1] != len(product.thin["A"]):
            raise ModelError(f"{adapter / WEIGHTS}: {name}: its two matrices have different ranks")
        shape = (len(product.thin["B"]), product.thin["A"].shape[1])
        if shapes.get(name) != shape:
            has = f"has {[*shapes[name]]}" if name in shapes else "does not have"
            raise ModelError(f"{adapter}: it changes {name}, {[*shape]}, which its model {has}; it is of another model")
        rank = _of_module(settings, "rank_pattern", name) or settings.whole("r")
        alpha = _of_module(settings, "alpha_pattern", name) or settings.number("lora_alpha", default=8.0)
        product.scale = alpha / (math.sqrt(rank) if settings.flag("use_rslora") else rank)
    return products


def _of_module(settings: ConfigSettings, key: str, name: str) -> float | None:
    """Returns what a pattern of modules says of this tensor, None if none is meant."""
    module = name.removesuffix(".weight")
    for pattern, value in settings.table(key).items():
        try:
            meant = re.search(rf"(^|\.){pattern}$", module)
        except re.error as error:
            raise ModelError(f"{settings.path}: `{key}`: {pattern!r:.80} is no pattern: {error}") from error
        if meant:
            return ConfigSettings({pattern: value}, settings.path).number(pattern, default=0.0)
    return None
