"""Weighs the leaves of a record that was put together from two readings: how sure is each value, and each null.

Two logistic scales, of values and of nulls, judge by the same few signs whichever reading a leaf comes from: the
confidence of its own reading, whether the other one has the same, whether the value stands in another field too,
whether it lies in a list, and how sure the second reading is on the whole. `training/weighing_fit.py` fits them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace

from cinnabar.engine.fill.choices import put_nulls
from cinnabar.engine.models.reader.calibration import Scale
from cinnabar.engine.models.reader.confidence_features import ConfidenceFeatures, log_odds
from cinnabar.engine.request import Filled, Leaf
from cinnabar.schemas.form.form import Form, Slot
from cinnabar.schemas.pointers import lies_in

# A changed one changes values: raise the part `merging` (engine/version.py).
#: The scales of values and of nulls: 78 documents of 26 sets, Qwen2.5-Coder-1.5B beside the reader (training/log.md).
VALUES = Scale(0.0122, {"own": 0.8231, "agreed": 1.3148, "taken": -0.4556, "listed": -0.1568, "record": -0.2043})
NULLS = Scale(-1.8198, {"own": 0.7243, "agreed": 2.418, "value": -0.8959, "listed": 1.1377})
#: A value that is less sure is null where it may be. Of the same sets, each weighed by scales of the others, F1 and the
#: share of absent fields with a value: .725, .33 with .35; .724, .27 with .38; .720, .25 with .40;
#: .715, .21 with .42; .707, .20 with .45: of sets left out .15 at .42, where F1 is .699 as with .38.
LEAST = 0.42
#: The origins of leaves that were read.
READ = ("copied", "chosen", "generated", "absent")
_EDGE = 0.02


@dataclass(frozen=True, slots=True)
class LeafSigns:
    """The signs of a leaf's candidates: of its value (None without one), and of null."""

    value: ConfidenceFeatures | None
    null: ConfidenceFeatures


def weighed(
    form: Form,
    made: Filled,
    one: Filled,
    other: Filled,
    told: Collection[str] = (),
    kept: Collection[str] = (),
    scales: tuple[Scale, Scale] = (VALUES, NULLS),
) -> Filled:
    """Returns a record put together from two readings with the confidences of both, null where a value is unlikely.

    The places that are `told`, and all within those that are `kept`, stay as they are.
    """
    values, nulls = scales
    leaves, unlikely = dict(made.leaves), list[str]()
    for pointer, signs in leaf_signs(form, made, one, other).items():
        if pointer in told or lies_in(pointer, kept):
            continue
        leaf, null = leaves[pointer], nulls.confidence(signs.null)
        sure = null if signs.value is None else values.confidence(signs.value)
        leaves[pointer] = replace(leaf, confidence=sure, absence=null)
        slot = form.slots[leaf.slot]
        absent = [read.leaves[pointer] for read in (one, other) if pointer in read.leaves]
        absent = [own for own in absent if not has_value(own)]
        # A text that is to be worded is right in many wordings.
        least = max(LEAST, null) if not slot.written else null if absent else 0.0
        if signs.value is not None and sure < least and pointer not in made.rows:
            left_out = any(own.text is None for own in absent) and not is_listed(slot)
            if slot.nullable or left_out:
                unlikely.append(pointer)
    return put_nulls(form, replace(made, leaves=leaves), unlikely)


def leaf_signs(form: Form, made: Filled, one: Filled, other: Filled) -> dict[str, LeafSigns]:
    """Returns the signs of the leaves that were read of a record put together from two readings, by pointer."""
    found = [{(leaf.slot, _meaning(leaf)) for leaf in read.leaves.values() if has_value(leaf)} for read in (one, other)]
    slots = [{slot for slot, _ in own} for own in found]
    named = defaultdict[str, set[int]](set)
    for leaf in made.leaves.values():
        if has_value(leaf):
            named[_meaning(leaf)].add(leaf.slot)
    read = [leaf.confidence for leaf in other.leaves.values() if leaf.origin in READ]
    record = log_odds(sum(read) / len(read), _EDGE) if read else 0.0
    signs = dict[str, LeafSigns]()
    for pointer, leaf in made.leaves.items():
        if leaf.origin not in READ or leaf.missing or leaf.slot < 0:
            continue
        slot = form.slots[leaf.slot]
        # The row of a number is another one in each reading.
        listed = is_listed(slot)
        both = [leaf] if listed else [read.leaves[pointer] for read in (one, other) if pointer in read.leaves]
        second = 0 if other.leaves.get(pointer) is leaf else 1
        null = {"own": max((log_odds(own.confidence, _EDGE) for own in both if not has_value(own)), default=0.0)}
        null |= {"agreed": 0.0, "value": 0.0, "listed": float(listed)}
        value: ConfidenceFeatures | None = None
        if has_value(leaf):
            null["value"] = own = log_odds(leaf.confidence, _EDGE)
            taken = not slot.options and len(named[_meaning(leaf)]) > 1
            agreed = (leaf.slot, _meaning(leaf)) in found[second]
            value = {"own": own, "agreed": float(agreed), "taken": float(taken), "listed": float(listed)}
            value["record"] = record
        else:
            null["agreed"] = float(leaf.slot not in slots[second])
        signs[pointer] = LeafSigns(value, null)
    return signs


def has_value(leaf: Leaf) -> bool:
    """Returns whether a leaf has a value: it is neither null nor left out."""
    return leaf.text is not None and leaf.text != "null"


def is_listed(slot: Slot) -> bool:
    """Returns whether a slot lies in a list."""
    return "*" in slot.path


def _meaning(leaf: Leaf) -> str:
    """Returns the text of a value as it is compared with that of another reading: words without marks."""
    text = leaf.text or ""
    return re.sub(r"\W+", "", text.casefold()) if text.startswith('"') else text
