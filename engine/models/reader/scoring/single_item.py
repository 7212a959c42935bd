"""A document that tells of one thing, under a schema whose only content is a list of such things.

Such a document names no place at which an item begins, so no row is found in it. The fields of the item are then asked
for in the whole passage, as those of a single object: if the document has enough of them, it is one item.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from cinnabar.engine.models.reader.priors.config import SingleItemConfig
from cinnabar.schemas.form.form import ArrayNode, Form, ObjectNode, Slot, enclosing_arrays


def only_list(form: Form) -> ArrayNode | None:
    """Returns the list of objects that has all slots of the form in its items; None if there is no such list."""
    outermost = [array for array, around in enclosing_arrays(form).items() if around < 0]
    if len(outermost) != 1:
        return None
    array = form.arrays[outermost[0]]
    alone = all(slot.path.startswith(f"{array.path}/*/") for slot in form.slots)
    return array if alone and is_list_of_objects(array) else None


def is_list_of_objects(array: ArrayNode) -> bool:
    """Returns whether an array has objects as its items: no open properties, and no items before them."""
    return array.key is None and not array.prefix and isinstance(array.item, ObjectNode)


def item_slots(form: Form, array: ArrayNode) -> list[Slot]:
    """Returns the slots of an item of this list, without those of lists within it."""
    begin = len(array.path) + 2
    return [slot for slot in form.slots if "*" not in slot.path[begin:].split("/")]


def single_item_chance(absent: Sequence[float], config: SingleItemConfig) -> float:
    """Returns the mean probability that the document has a field of the item; 0 if it is below the least one.

    absent: the logarithm of the probability that the document has no value, for each field.
    """
    there = [1.0 - math.exp(min(0.0, one)) for one in absent]
    mean = sum(there) / len(there) if there else 0.0
    return mean if mean >= config.least else 0.0
