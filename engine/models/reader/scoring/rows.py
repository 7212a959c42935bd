"""The rows of arrays: the places at which items begin, the nesting of items, and documents that are one item.

A document that tells of one thing, under a schema whose only content is a list of such things, names no place at which
an item begins, so no row is found in it. The fields of the item are then asked for in the whole passage, as those of a
single object: if the document has enough of them, it is one item.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np

from cinnabar.engine.model import Row
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.priors.config import PriorConfig, RowConfig, SingleItemConfig
from cinnabar.engine.models.reader.priors.name_matching import Floats
from cinnabar.schemas.form.form import ArrayNode, Form, ObjectNode, Slot, enclosing_arrays

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\w%])")
#: Numbers in a row, between commas or before an "and".
_RUN = re.compile(rf"{_NUMBER.pattern}(?:(?:[,;][ \t]+|[ \t](?:and|&|or|und|oder|et|ou|y|en)[ \t]){_NUMBER.pattern})+")
#: The piece at which an item begins, and the probability that it does.
Beginning = tuple[int, float]


def probabilities(odds: Floats) -> Floats:
    """Returns the probabilities of these log odds."""
    found: Floats = np.exp(-np.logaddexp(0.0, -odds))
    return found


def sure_beginnings(places: Iterable[Beginning], config: RowConfig) -> list[Beginning]:
    """Returns the places that surely begin an item, ascending; of neighbours the likelier one."""
    sure = [(piece, chance) for piece, chance in places if chance >= config.least]
    return _apart(sure, config.apart, len(sure))


def refused_beginnings(
    places: Sequence[Beginning], begun: Sequence[Beginning], config: RowConfig
) -> list[Beginning]:
    """Returns the likeliest places, ascending, that could begin an item and are not near one of `begun`."""
    near = {piece + step for piece, _ in begun for step in range(1 - config.apart, config.apart)}
    left = [(piece, chance) for piece, chance in places if chance >= config.refused and piece not in near]
    return _apart(left, config.apart, config.most_refused)


def doubtful_beginnings(
    places: Sequence[Beginning], fields: int, pieces: int, config: PriorConfig
) -> list[Beginning]:
    """Returns the likeliest places, ascending, for an array without a sure beginning.

    fields: the number of fields of an item; pieces: the number of pieces of the text.
    """
    own = config.doubtful_rows
    least = max(own.least, own.share * max((chance for _, chance in places), default=0.0))
    apart = max(config.rows.apart, min(own.pieces_a_field * fields, pieces // own.most))
    return _apart([(piece, chance) for piece, chance in places if chance >= least], apart, own.most)


def add_alike(begun: Sequence[Beginning], text: str, pieces: Pieces) -> list[Beginning]:
    """Returns the beginnings of numbers with those in a row with them, as likely: the network knows few such lists."""
    taken = dict(begun)
    for run in _RUN.finditer(text) if begun else ():
        places = [pieces.at(number.start()) for number in _NUMBER.finditer(text, *run.span())]
        if known := [taken[place] for place in places if place in taken]:
            taken = dict.fromkeys(places, max(known)) | taken
    return sorted(taken.items())


def _apart(places: Sequence[Beginning], apart: int, most: int) -> list[Beginning]:
    """Returns the likeliest places, ascending: no two closer than `apart` pieces, and at most `most` of them."""
    kept: list[Beginning] = []
    near: set[int] = set()
    for piece, chance in sorted(places, key=lambda place: (-place[1], place[0])):
        if len(kept) == most:
            break
        if piece not in near:
            kept.append((piece, chance))
            near.update(range(piece - apart + 1, piece + apart))
    return sorted(kept)


def fields_within(form: Form) -> list[int]:
    """Returns the number of fields in an item of each of the form's arrays, including those of inner lists."""
    inside = [0] * len(form.arrays)
    for array in form.arrays:
        inside[array.index] = sum(slot.path.startswith(f"{array.path}/*") for slot in form.slots)
    return inside


def nest_rows(form: Form, anchors: Sequence[Sequence[tuple[int, float]]]) -> list[Row]:
    """Returns the rows of all arrays (anchor in characters, probability), parents before children.

    An item of an inner array lies in the last item of the outer array that begins before it. An item that begins before
    all of them is dropped.
    """
    rows: list[Row] = []
    at: dict[int, list[int]] = {}
    around = enclosing_arrays(form)
    for array, outer in around.items():
        at[array] = []
        outer_anchors = [rows[r].anchor for r in at[outer]] if outer >= 0 else []
        # Rows of tables side by side are told table by table.
        alone = outer < 0 and array not in around.values()
        for anchor, chance in anchors[array] if alone else sorted(anchors[array]):
            parent = -1
            if outer >= 0:
                before = bisect_right(outer_anchors, anchor)
                if not before:
                    continue
                parent = at[outer][before - 1]
            at[array].append(len(rows))
            rows.append(Row(array, parent, anchor, chance))
    return rows


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
