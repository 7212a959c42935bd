"""Tells the contents and needs of a checkpoint's folder without loading its weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cinnabar.engine.models.backend import device_of
from cinnabar.engine.models.identity import CALIBRATION
from cinnabar.engine.models.language.checkpoint import check_memory, read_contents, weight_bytes
from cinnabar.engine.models.language.configuration import CONFIG, language_precision, read_settings
from cinnabar.engine.models.language.families import family_of, read_family
from cinnabar.engine.models.language.gguf_folder import checkpoint_folder
from cinnabar.engine.models.language.identity import model_fingerprint
from cinnabar.engine.models.language.language_model import load_texts
from cinnabar.engine.models.language.memory import (
    free_memory,
    longest_within,
    position_bytes,
)
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.settings import Precision
from cinnabar.errors import ModelError

_T = TypeVar("_T")
#: The keys by which config.json tells the length of a block.
_BLOCK_KEYS = ("block_size", "block_length", "bd_size", "canvas_length")
_LICENCE = re.compile(r"(licen[cs]e|copying)(\W.*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Inspection:
    """A checkpoint's facts by their names, and its problems, one line each; without any it can be loaded."""

    facts: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def inspect_checkpoint(folder: str | Path, device: str = "auto", precision: Precision | None = None) -> Inspection:
    """Returns what a folder in Hugging Face form holds and needs. Raises UsageError if it is no such folder."""
    path, on = checkpoint_folder(folder), device_of(device)
    asked = precision or language_precision(path)
    inspection = Inspection()
    read = _attempt(inspection, lambda: read_family(path)[1])
    if read is None:
        return inspection
    texts = _attempt(inspection, lambda: load_texts(path))
    traits = read if texts is None else texts[0]
    inspection.facts.update(_stated_facts(path, traits))
    if texts is not None:
        inspection.facts.update({"tokens": texts[1].size, "end of turn": texts[1].end, "mask token": traits.mask})
    contents = _attempt(inspection, lambda: read_contents(path, traits))
    if contents is None:
        return inspection
    weights = weight_bytes(contents, asked)
    inspection.facts.update(
        {
            "parameters": contents.parameters,
            "stored as": sorted({stored.dtype for stored in contents.stored.values()}),
            "device": str(on),
            "precision": asked,
            **_memory(traits, asked, weights, free_memory(on)),
            "missing tensors": list(contents.missing),
            "odd tensors": list(contents.odd),
            "ignored tensors": _ignored_parts(contents.ignored),
        }
    )
    for what, names in (("missing", contents.missing), ("odd", contents.odd)):
        if names:
            inspection.problems.append(f"{path}: {what} tensors: {len(names)}, first {names[0]}")
    _attempt(inspection, lambda: check_memory(path, weights, on, asked))
    inspection.facts["fingerprint"] = _attempt(inspection, lambda: model_fingerprint(path))
    return inspection


def licences(folder: Path) -> list[str]:
    """Returns the names of the licence files of a folder."""
    return sorted(path.name for path in folder.iterdir() if _LICENCE.fullmatch(path.name))


def _ignored_parts(names: Sequence[str]) -> str | None:
    return f"{len(names)} that read images or audio, such as {names[0]}; documents come as text" if names else None


def _stated_facts(path: Path, traits: Traits) -> dict[str, Any]:
    family = family_of(traits)
    config = read_settings(path / CONFIG).values
    source = CONFIG
    if traits.visibility != "causal" and not any(config.get(key) for key in _BLOCK_KEYS):
        # A release that runs in blocks of another length than it was trained with reads badly and says nothing.
        named = traits.family in ("sdar", "sdar_moe")
        source = "the name of the release" if named else f"the family: {CONFIG} has no `block_size`"
    return {
        "family": family.title,
        "licence": licences(path),
        "attention": traits.visibility.replace("_", "-"),
        "noise": traits.noise,
        "block": traits.block,
        "block told by": source,
        "window": traits.window,
        "calibrated": (path / CALIBRATION).is_file(),
    }


def _memory(traits: Traits, precision: Precision, weights: int, free: int | None) -> dict[str, Any]:
    """Returns what the weights and the cache take, and the longest request that fits beside the weights."""
    left = None if free is None else free - weights
    return {
        "weights GB": round(weights / 1e9, 3),
        "cache MB per 1,000 tokens": round(position_bytes(traits, precision) / 1e3, 3),
        "free GB": None if free is None else round(free / 1e9, 3),
        "longest that fits, tokens": None if left is None else longest_within(traits, precision, left),
    }


def _attempt(inspection: Inspection, step: Callable[[], _T]) -> _T | None:
    try:
        return step()
    except ModelError as error:
        inspection.problems.append(str(error))
        return None
