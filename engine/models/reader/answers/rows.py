"""Which places begin the items of an array, and which item lies in which."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from cinnabar.engine.models.base import Row
from cinnabar.schemas.form.form import Form, enclosing

#: Least probability of a place that begins an item. Low, because an item that is missed loses all of its
#: values: over fifteen sets the mean F1 was .477 from .3 on, .485 from .12, .476 from .06.
ROW_FROM = 0.2
#: Where none of an array's places is that likely, those from here on, and from this share of the likeliest
#: one, but no more than so many: of 56 such arrays with a place from .05 on 50 had items. Mean F1 of thirteen
#: sets .535 without, .557 so.
DOUBTFUL_FROM, DOUBTFUL_SHARE, DOUBTFUL_MOST = 0.03, 0.3, 8
#: Items of one array do not begin closer to each other than this, in pieces.
ROW_GAP = 2
#: Doubtful ones not closer than the fields of an item take up, so many pieces each, nor than their share of
#: a text with as many as there may be: where an item's values are scattered over a page, each of them may
#: look like its beginning. F1 of documents with such lists: broker_statements .43 to .50, film_articles .54
#: to .58, twelve other sets .43 to .43.
PIECES_A_FIELD = 12

Place = tuple[int, float]


def chosen_places(places: Sequence[Place], fields: int = 1, pieces: int = 0) -> list[Place]:
    """The places (piece, probability) that begin an item, ascending; of neighbours the likelier one.

    fields: how many an item has; pieces: those of the text.
    """
    most = max((chance for _, chance in places), default=0.0)
    doubtful = most < ROW_FROM
    least = max(DOUBTFUL_FROM, DOUBTFUL_SHARE * most) if doubtful else ROW_FROM
    apart = max(ROW_GAP, min(PIECES_A_FIELD * fields, pieces // DOUBTFUL_MOST)) if doubtful else ROW_GAP
    kept: list[Place] = []
    near: set[int] = set()
    for place, chance in sorted(places, key=lambda p: (-p[1], p[0])):
        if doubtful and len(kept) == DOUBTFUL_MOST:
            break
        if chance >= least and place not in near:
            kept.append((place, chance))
            near.update(range(place - apart + 1, place + apart))
    return sorted(kept)


def fields_within(form: Form) -> list[int]:
    """How many fields an item of each of the form's arrays has, those of lists within it included."""
    inside = [0] * len(form.arrays)
    for array in form.arrays:
        inside[array.index] = sum(slot.path.startswith(f"{array.path}/*") for slot in form.slots)
    return inside


def nested(form: Form, anchors: Sequence[Sequence[tuple[int, float]]]) -> list[Row]:
    """The rows of all arrays (anchor in characters, probability), parents before children.

    An item of an inner array lies in the last item of the outer one that begins before it; one that begins
    before all of them is dropped.
    """
    rows: list[Row] = []
    at: dict[int, list[int]] = {}
    for array, outer in enclosing(form).items():
        at[array] = []
        outer_anchors = [rows[r].anchor for r in at[outer]] if outer >= 0 else []
        for anchor, chance in sorted(anchors[array]):
            parent = -1
            if outer >= 0:
                before = bisect_right(outer_anchors, anchor)
                if not before:
                    continue
                parent = at[outer][before - 1]
            at[array].append(len(rows))
            rows.append(Row(array, parent, anchor, chance))
    return rows
