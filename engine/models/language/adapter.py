"""Merges a LoRA folder of `peft` with the checkpoint that it changes (LoRA, arXiv 2106.09685)."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from cinnabar.engine.models.language.configuration import ConfigSettings, read_settings
from cinnabar.engine.models.language.gguf_folder import checkpoint_folder
from cinnabar.engine.models.language.weights_file import stored_tensors, weight_files
from cinnabar.errors import ModelError, UsageError

ADAPTER, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
#: The LoRA folder within a checkpoint's own that teaches it to fill fields; chats go without it.
FIELDS = "fields"
_PREFIX = "base_model.model."
_MATRIX = re.compile(r"(.+)\.lora_([AB])\.weight")


def merge_adapter(adapter: Path, base: str | Path, out: Path) -> int:
    """Writes the checkpoint `base` with the changes of a LoRA folder to `out`; returns the number of changed tensors.

    One file of weights is in memory at a time. Raises UsageError for a folder that is none, and ModelError for changes
    that are no low-rank products, or of another model.
    """
    if not (adapter / ADAPTER).is_file():
        raise UsageError(f"{adapter}: expected a LoRA folder with {ADAPTER}, as `peft` saves it")
    folder = checkpoint_folder(base)
    if out.resolve() in (folder.resolve(), adapter.resolve()):
        raise UsageError(f"--out {out}: expected a folder of its own")
    settings = read_settings(adapter / ADAPTER)
    for key, allowed in (("peft_type", ("LORA",)), ("use_dora", (False, None)), ("fan_in_fan_out", (False, None))):
        settings.demand(key, *allowed, default=allowed[0])
    products, whole = _changes(adapter, settings)
    names = products.keys() | whole.keys()
    missing = sorted(names - stored_tensors(folder).keys())
    if missing:
        raise ModelError(
            f"{adapter}: it changes {missing[0]}, which {folder} does not have; --base names another model than the one"
            " that it was trained for"
        )
    out.mkdir(parents=True, exist_ok=True)
    for path in weight_files(folder):
        state = load_file(path)
        for name in state.keys() & names:
            before = state[name]
            change = whole[name] if name in whole else products[name]()
            if change.shape != before.shape:
                raise ModelError(f"{adapter}: {name}: expected shape {[*before.shape]}, found {[*change.shape]}")
            after = change if name in whole else before.float() + change
            state[name] = after.to(before.dtype).contiguous()
        save_file(state, out / path.name, metadata={"format": "pt"})
    for path in folder.iterdir():
        if path.is_file() and path.suffix != ".safetensors" and path.name != "calibration.json":
            shutil.copy(path, out / path.name)
    return len(names)


class _Product:
    """The change of a matrix: the product of two thin ones, times a scale."""

    def __init__(self) -> None:
        self.thin: dict[str, torch.Tensor] = {}
        self.scale = 1.0

    def __call__(self, rows: slice | None = None) -> torch.Tensor:
        wide = self.thin["B"] if rows is None else self.thin["B"][rows]
        return self.scale * (wide.float() @ self.thin["A"].float())


def products_of(adapter: Path) -> Mapping[str, Callable[[slice | None], torch.Tensor]]:
    """Returns the changes of a LoRA folder by the names of the tensors, each of some rows or of all (None).

    Raises ModelError for changes that are no low-rank products.
    """
    products, whole = _changes(adapter, read_settings(adapter / ADAPTER))
    if whole:
        raise ModelError(f"{adapter}: it changes {min(whole)} as a whole; merge it with `cinnabar model merge` first")
    return products


def _changes(adapter: Path, settings: ConfigSettings) -> tuple[Mapping[str, _Product], Mapping[str, torch.Tensor]]:
    """Returns the products and the whole tensors of a LoRA folder, by the names of the tensors that they change."""
    try:
        stored = load_file(adapter / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{adapter / WEIGHTS}: cannot be read as safetensors: {error}") from error
    products: dict[str, _Product] = {}
    whole: dict[str, torch.Tensor] = {}
    for name, tensor in stored.items():
        plain = name.removeprefix(_PREFIX)
        thin = _MATRIX.fullmatch(plain)
        if thin is not None:
            products.setdefault(f"{thin[1]}.weight", _Product()).thin[thin[2]] = tensor
        elif "lora_" in plain:
            raise ModelError(f"{adapter / WEIGHTS}: {name}: changes of this kind are not merged; merge it with `peft`")
        else:
            whole[plain.replace(".modules_to_save.default.", ".")] = tensor
    for name, product in products.items():
        if product.thin.keys() != {"A", "B"}:
            raise ModelError(f"{adapter / WEIGHTS}: {name}: expected both matrices of a product, found one")
        rank = _of_module(settings, "rank_pattern", name) or settings.whole("r")
        alpha = _of_module(settings, "alpha_pattern", name) or settings.number("lora_alpha", default=8.0)
        product.scale = alpha / (math.sqrt(rank) if settings.flag("use_rslora") else rank)
    return products, whole


def _of_module(settings: ConfigSettings, key: str, name: str) -> Any:
    """Returns what a pattern of modules says of this tensor, None if none is meant."""
    module = name.removesuffix(".weight")
    found = (value for pattern, value in settings.table(key).items() if re.search(rf"(^|\.){pattern}$", module))
    return next(found, None)
