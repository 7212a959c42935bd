"""Tells which documents a stronger model is asked about where both models are calibrated, and what that costs.

A document is asked for as a whole: if too few of its values are likely right, if a sum, a count or a check of its
schema contradicts the record, or if a demanded value or a text to be worded is not there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

from cinnabar.schemas.pointers import above

#: The seconds of waiting that a value set right is worth: a person takes about as long to correct it.
VALUE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Setting:
    """A value of `--below`, with the share of documents that are asked and the values that are right of each one."""

    below: float
    share: float
    right: float


#: The settings of `auto`: 78 documents of 26 kinds that no training used, with 13.7 values each, 1.5B (docs/models.md).
SETTINGS = (
    Setting(0.0, 0.0, 6.7),
    Setting(0.5, 0.44, 9.18),
    Setting(0.6, 0.62, 9.49),
    Setting(0.8, 0.94, 9.67),
    Setting(1.0, 1.0, 9.71),
)


def likely_right(values: Mapping[str, float], lists: Mapping[str, float]) -> float:
    """Returns the share of a record that is likely right, from the confidences of its values and lists by pointer.

    Each value outside of lists counts once, and so does each list, with what lies in it: the mean of its values times
    its own confidence. That of an empty record is 1.
    """
    outer = {at for at in lists if not any(one in lists for one in [*above(at)][:-1])}
    held = defaultdict[str, list[float]](list)
    counted = list[float]()
    for at, sure in values.items():
        place = next((one for one in above(at) if one in outer), None)
        (counted if place is None else held[place]).append(sure)
    counted += [lists[at] * (mean(held[at]) if at in held else 1.0) for at in outer]
    return mean(counted) if counted else 1.0


def share_asked(below: float) -> float:
    """Returns the share of the documents of kinds that the reader does not know that this setting asks for."""
    lower, upper = next((a, b) for a, b in pairwise(SETTINGS) if below <= b.below)
    return lower.share + (upper.share - lower.share) * (below - lower.below) / (upper.below - lower.below)


def best_setting(seconds: float, settings: Iterable[Setting] = SETTINGS) -> float:
    """Returns the setting that serves people best if the stronger model takes so many seconds for a document here."""
    return max(settings, key=lambda one: one.right * VALUE_SECONDS - one.share * seconds).below
