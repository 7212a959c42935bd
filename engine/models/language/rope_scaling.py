"""Scaling of rotary positions as config.json tells it, and the window that follows from it; needs no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cinnabar.engine.models.language.configuration import ConfigSettings
from cinnabar.schemas.errors import ModelError

#: The kinds of rotary scaling that `rotary.py` computes, by the numbers that each needs. The angles of `dynamic` depend
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
