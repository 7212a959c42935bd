"""Views of a canvas: for each window of a passage the slots decided there, as the network's board."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from cinnabar.engine.model import Canvas, Row
from cinnabar.engine.models.reader.inputs.questions import kind_of
from cinnabar.engine.models.reader.inputs.tensors import STATES, VALUE_PIECES, Window
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces, WordPieces

#: The most slots that look at a window together. Training has about as many; more would dilute their attention.
SLOTS_IN_VIEW = 40


@dataclass(frozen=True, slots=True)
class SlotView:
    """Slots (indices into the canvas) that look at one window together."""

    window: int
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RowExtent:
    """The extent of a slot's row: pieces of the passage, until the next row of the same array begins."""

    anchor: int
    until: int


def row_places(rows: Sequence[Row], pieces: Pieces) -> list[RowExtent]:
    """Returns the anchor and end of each row, in pieces."""
    anchors = [pieces.at(r.anchor) for r in rows]
    begun: dict[int, list[int]] = {}
    for row, anchor in zip(rows, anchors, strict=True):
        begun.setdefault(row.array, []).append(anchor)
    for own in begun.values():
        own.sort()

    def next_of(array: int, anchor: int) -> int:
        own = begun[array]
        at = bisect_right(own, anchor)
        return own[at] if at < len(own) else len(pieces)

    places = []
    for row, anchor in zip(rows, anchors, strict=True):
        until = next_of(row.array, anchor)
        if row.parent >= 0:
            until = min(until, next_of(rows[row.parent].array, anchors[row.parent]))
        places.append(RowExtent(anchor, max(anchor + 1, until)))
    return places


def home_window(windows: Sequence[Window], anchor: int) -> int:
    """Returns the window in which a row is read: the one whose core holds its anchor."""
    at = bisect_right(windows, anchor, key=lambda w: w.core_first) - 1
    return at if at >= 0 and anchor < windows[at].core_last else len(windows) - 1


def views_of(
    instances: Sequence[int],
    places: Sequence[RowExtent | None],
    windows: Sequence[Window],
    promising: Sequence[int],
    fixed: Mapping[int, int],
) -> list[SlotView]:
    """Returns the views: scalar slots look at every promising window, a row's slots at the window where it begins.

    `fixed` maps each slot that looks at one window alone to that window.
    """
    scalars = [s for s, p in zip(instances, places, strict=True) if p is None]
    views = []
    for w in sorted({*promising, *fixed.values()}):
        here = [s for s in scalars if (fixed[s] == w if s in fixed else w in promising)]
        views += [SlotView(w, tuple(here[i : i + SLOTS_IN_VIEW])) for i in range(0, len(here), SLOTS_IN_VIEW)]
    at_home: dict[int, list[tuple[int, int]]] = {}
    for s, p in zip(instances, places, strict=True):
        if p is not None:
            at_home.setdefault(home_window(windows, p.anchor), []).append((p.anchor, s))
    for w, placed in at_home.items():
        group: list[int] = []
        for k, (anchor, s) in enumerate(placed):
            # A row's slots stay together.
            if len(group) >= SLOTS_IN_VIEW - 8 and k and placed[k - 1][0] != anchor:
                views.append(SlotView(w, tuple(group)))
                group = []
            group.append(s)
        views.append(SlotView(w, tuple(group)))
    return views


def write_board(
    board: Mapping[str, npt.NDArray[Any]],
    at: int,
    views: Sequence[SlotView],
    canvas: Canvas,
    question_of: Sequence[int],
    places: Mapping[int, RowExtent],
    windows: Sequence[Window],
    pieces: Pieces,
    wordpieces: WordPieces,
    width: int,
) -> None:
    """Writes the slots of some views of one passage to the windows from `at` on of a board, as arrays.

    `question_of` maps each slot of the form to its question, `places` each slot in a row to its row's place. `width` is
    the number of pieces that the windows are padded to.
    """
    for i, view in enumerate(views, at):
        window = windows[view.window]
        for j, k in enumerate(view.slots):
            slot = canvas.instances[k].slot
            board["mask"][i, j] = True
            board["question"][i, j] = question_of[slot.index]
            board["kind"][i, j] = kind_of(slot)
            if k in places:
                board["anchor"][i, j] = window.place(places[k].anchor)
                board["until"][i, j] = min(window.place(places[k].until), width)
            _show_value(board, (i, j), canvas, k, window, pieces, wordpieces)


def _show_value(
    board: Mapping[str, npt.NDArray[Any]],
    at: tuple[int, int],
    canvas: Canvas,
    k: int,
    window: Window,
    pieces: Pieces,
    wordpieces: WordPieces,
) -> None:
    value = canvas.values[k]
    if canvas.left_out[k] or value == b"null":
        board["state"][at] = STATES.index("absent")
        return
    if value is None:
        return
    spans = canvas.spans[k] if k < len(canvas.spans) else ()
    options = canvas.instances[k].slot.options
    board["state"][at] = STATES.index("chosen" if options else "copied" if spans else "written")
    read = json.loads(value)
    words = wordpieces.ids(read.lower() if isinstance(read, str) and options else str(read))[:VALUE_PIECES]
    board["words"][at][: len(words)] = words
    # The words that tell an option are a passage, and no value.
    for start, end in () if options else spans:
        first, last = pieces.at(start), pieces.at(max(start, end - 1))
        if window.first <= first and last < window.last:
            board["span"][at] = window.place(first), window.place(last) + 1
            return
